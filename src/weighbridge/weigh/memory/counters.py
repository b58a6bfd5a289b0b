"""From tensors to the two outer counters: what the caching allocator reserves, and what nvidia-smi prints.

    reserved = max over phases of (alive + cached blocks that this phase cannot reuse)
    device   = reserved + CUDA context + communicator buffers

Blocks that nothing else fits stay cached: a share of what grows and shrinks within a step, a larger one of
the logit-sized blocks, and in the optimizer step most of what forward and backward used, because the states
were cut out of those segments in the first step. The card bounds it all: the allocator returns cached blocks
before it gives up, so near the limit the answer lies anywhere between the tensors and the card.
"""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.memory_constants import MemoryConstants, Spread
from weighbridge.schema.recipe import Recipe
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.records import Interval, Phase

_RESIDENT = ("weights", "adapters", "optimizer_states", "gradients", "step_temporaries")
_SEGMENT = float(2 << 20)


@dataclass(frozen=True, slots=True)
class Counters:
    allocated: float
    reserved: float
    device: float
    context: float


def counters(
    phases: tuple[Phase, ...],
    loss_kind: str,
    recipe: Recipe,
    degrees: Degrees,
    constants: MemoryConstants,
    card_bytes: float | None,
) -> Counters:
    allocated = max(phase.total for phase in phases)
    allocator = allocator_kind(recipe)
    working = max(_working(phase) for phase in phases)
    reserved = _segments(
        max(phase.total + _cached(phase, working, loss_kind, allocator, constants) for phase in phases)
    )
    context = constants.context_bytes["default"]
    if degrees.data * degrees.tensor * degrees.pipeline * degrees.context > 1:
        context += constants.nccl_bytes
    if card_bytes is not None and reserved + context > card_bytes:
        bound = max(allocated, card_bytes - context)
        reserved = (allocated + bound) / 2
    return Counters(allocated, reserved, reserved + context, context)


def allocator_kind(recipe: Recipe) -> str:
    if recipe.framework == "torchtitan":
        return "expandable"
    if recipe.sequence_kind == "variable":
        return "variable_emptied" if recipe.empties_cache else "variable"
    return "sharded" if recipe.sharding in ("fsdp", "hsdp", "zero3") else "fixed"


def _cached(
    phase: Phase, working: float, loss_kind: str, allocator: str, constants: MemoryConstants
) -> float:
    if phase.name == "optimizer":
        return working * constants.unreused_share[allocator]
    logits = phase.parts.get("logits", 0.0)
    fused = "fused" in loss_kind and not loss_kind.startswith("own")
    share = constants.loss_cached_share["fused" if fused and allocator in ("fixed", "sharded") else allocator]
    return (_working(phase) - logits) * constants.fragmentation_share[allocator] + logits * share


def _working(phase: Phase) -> float:
    return sum(size for name, size in phase.parts.items() if name not in _RESIDENT)


def _segments(size: float) -> float:
    # CUDACachingAllocator: blocks of 1 MiB and less come from 2 MiB segments, those up to 10 MiB from 20 MiB,
    # larger ones are rounded to 2 MiB. Over a whole step only the rounding to segments shows.
    return -(-size // _SEGMENT) * _SEGMENT


def not_below(outer: Interval, inner: Interval, more: float = 0.0) -> Interval:
    """A counter that contains another lies nowhere below it: reserved holds allocated, device holds reserved.

    The spreads of the counters were measured one by one and do not know of each other.
    """
    return Interval(
        max(outer.value, inner.value + more),
        max(outer.low, inner.low + more),
        max(outer.high, inner.high + more),
    )


def interval(value: float, spread: Spread) -> Interval:
    return Interval(value, value * (1 - spread.low), value * (1 + spread.high))
