"""The step over GPU counts: a curve, not a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weighbridge.schema.memory_constants import FrameworkDefault
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.schema.step_constants import StepConstants
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.step.records import Missing, StepEstimate
from weighbridge.weigh.step.step import step_time


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """``efficiency`` is tokens per second and device over those at the smallest count asked for."""

    devices: int
    estimate: StepEstimate
    efficiency: float


def scaling_curve(
    shape: ModelShape,
    recipe: Recipe,
    layout: Layout,
    machine: StepMachine,
    constants: StepConstants,
    data_parallel: Sequence[int],
    defaults: Sequence[FrameworkDefault] = (),
    *,
    strong: bool = False,
) -> tuple[ScalingPoint, ...] | Missing:
    """More copies of the model. Weak: each keeps its batch. Strong: accumulation shrinks with the copies,
    never below one micro-batch."""
    points: list[ScalingPoint] = []
    base = None
    for copies in sorted(data_parallel):
        steps = recipe.accumulation
        if strong and steps is not None:
            steps = max(1, round(steps * (layout.data_parallel or 1) / copies))
        answer = step_time(
            shape,
            replace(recipe, accumulation=steps),
            replace(layout, data_parallel=copies),
            machine,
            constants,
            defaults,
        )
        if isinstance(answer, Missing):
            return answer
        base = base or answer.tokens_per_second_per_device
        points.append(ScalingPoint(answer.devices, answer, answer.tokens_per_second_per_device / base))
    return tuple(points)
