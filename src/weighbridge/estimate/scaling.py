"""The step over GPU counts: a curve, not a point. More copies of the task, each with the batch it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from weighbridge.estimate.weigh import answers, samples_per_second
from weighbridge.facts.records import GpuFact
from weighbridge.schema.description import Description
from weighbridge.schema.estimate import ScalePoint
from weighbridge.schema.vision import VisionTime
from weighbridge.units import Quantity
from weighbridge.weigh.step import StepEstimate

TIMES: Final = (1, 2, 4, 8)


def scaling(task: Description, fact: GpuFact) -> tuple[ScalePoint, ...]:
    """The job as asked and with 2, 4 and 8 times its copies; empty where the step time is unknown.

    The intervals are those of each step; the efficiency has none, because most of the error of two steps
    of one task is shared. With sharding it may pass 100 %: each GPU then updates fewer states.
    """
    points: list[ScalePoint] = []
    base = None
    for times in TIMES:
        wider = copies(task, times)
        found = answers(wider, fact)
        rate = samples_per_second(wider, found)
        if rate is None:
            return ()
        rate *= (task.recipe.sequence or 1) if task.kind == "language" else 1
        base = base or rate / wider.gpus
        if isinstance(found.step, StepEstimate):
            seconds, low, high = found.step.seconds, found.step.low, found.step.high
        else:
            assert isinstance(found.step, VisionTime)
            said = found.step.seconds
            seconds, low, high = said.value, said.low, said.high
        points.append(
            ScalePoint(
                gpus=wider.gpus,
                step_seconds=_estimated(seconds, "seconds", low, high),
                rate_per_second=_estimated(rate, "per_second", rate * seconds / high, rate * seconds / low),
                efficiency_share=_estimated(rate / wider.gpus / base, "share"),
            )
        )
    return tuple(points)


def copies(task: Description, times: int) -> Description:
    """The job with so many times its data-parallel ranks; one GPU becomes plain data parallelism."""
    if times == 1:
        return task
    data = (task.layout.data_parallel or 1) * times
    layout = replace(task.layout, data_parallel=data)
    if task.vision is not None:
        vision = replace(task.vision, data_parallel=data)
        return replace(task, gpus=task.gpus * times, layout=layout, vision=vision)
    recipe = task.recipe
    if recipe.sharding == "none":
        recipe = replace(recipe, sharding="ddp")
    return replace(task, gpus=task.gpus * times, layout=layout, recipe=recipe)


def _estimated(value: float, unit: str, low: float | None = None, high: float | None = None) -> Quantity:
    return Quantity(value=value, low=low, high=high, unit=unit, origin="estimated")
