"""Published measurements near to a task, with our error on each, so that a prediction is not taken on trust.

Near is: the same kind of training, a network of like size, the same sharding, framework and GPU, and like
tokens per pass; each counts as a distance in powers of two. Vision networks have no shipped measurements yet.
"""

from __future__ import annotations

from math import log2
from typing import Final

from weighbridge.estimate.weigh import defaults_for
from weighbridge.facts.measured_runs import MeasuredRun, load_measured_runs
from weighbridge.facts.memory_constants import load_memory_tables
from weighbridge.facts.models import find_model
from weighbridge.facts.records import GpuFact
from weighbridge.schema.description import Description
from weighbridge.schema.estimate import Neighbour
from weighbridge.schema.model import ModelShape
from weighbridge.units import Quantity
from weighbridge.weigh.memory import MemoryEstimate, count, memory

_MOST: Final = 3
# Further than this a measurement says nothing of the task: eight times the size, or another kind of training.
_FARTHEST: Final = 6.0


def neighbours(task: Description, fact: GpuFact) -> tuple[Neighbour, ...]:
    if task.shape is None:
        return ()
    parameters = count(task.shape).total
    near: list[tuple[float, MeasuredRun, ModelShape]] = []
    for run in load_measured_runs():
        named = find_model(run.model)
        if named is not None:
            away = _distance(task, fact, parameters, run, count(named.shape).total)
            near.append((away, run, named.shape))
    near.sort(key=lambda found: (found[0], found[1].id))
    return tuple(_neighbour(run, shape) for away, run, shape in near[:_MOST] if away <= _FARTHEST)


def _distance(
    task: Description, fact: GpuFact, parameters: float, run: MeasuredRun, measured: float
) -> float:
    mine, theirs = task.recipe, run.recipe
    away = 2 * abs(log2(parameters / measured))
    tokens = (mine.micro_batch or 1) * (mine.sequence or 1)
    away += abs(log2(tokens / ((theirs.micro_batch or 1) * (theirs.sequence or 1)))) / 2
    away += 0 if (mine.training or "full") == theirs.training else 5
    away += 0 if (mine.checkpointing or "none") == theirs.checkpointing else 1
    away += 0 if _family(mine.sharding) == _family(theirs.sharding) else 1
    away += 0 if mine.framework is None or mine.framework == theirs.framework else 0.5
    away += 0 if run.gpu.split("-")[0] == fact.id.split("-")[0] else 0.5
    return away


def _family(sharding: str | None) -> str:
    if sharding in (None, "none", "ddp"):
        return "whole"
    return "fully" if sharding in ("fsdp", "hsdp", "zero3") else str(sharding)


def _neighbour(run: MeasuredRun, shape: ModelShape) -> Neighbour:
    copies = (run.layout.data_parallel or 1) > 1
    answer = memory(
        shape,
        run.recipe,
        run.layout,
        load_memory_tables().constants,
        defaults_for(copies),
        card_bytes=run.card_bytes,
    )
    error = None
    if isinstance(answer, MemoryEstimate):
        predicted: float = getattr(answer, run.counter).value
        error = predicted / run.measured_bytes - 1
    recipe = run.recipe
    what = f"{run.model}, {recipe.training}, {recipe.micro_batch} x {recipe.sequence} tokens"
    if recipe.framework is not None:
        what += f", {recipe.framework}"
    return Neighbour(
        what=what,
        gpu=run.gpu,
        counter=run.counter,
        measured=Quantity(value=run.measured_bytes, unit="bytes", origin="measured", source=run.source),
        error_share=error,
        source=run.source,
    )
