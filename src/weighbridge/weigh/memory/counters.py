"""From tensors to the two outer counters: what the caching allocator reserves, and what nvidia-smi prints.

reserved = allocated + the part of the changing memory that fragments + logit-sized blocks nothing can reuse
device = reserved + CUDA context + communicator buffers

Blocks of one size are reused from step to step, so states and gradients fragment little; what grows and
shrinks within a step does, the more with lengths that vary. A card bounds both: the allocator returns cached
blocks before it gives up.
"""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.memory_constants import MemoryConstants, Spread
from weighbridge.schema.recipe import Recipe
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.records import Interval, Phase

_RESIDENT = ("weights", "adapters", "optimizer_states")
_SEGMENT = float(2 << 20)


@dataclass(frozen=True, slots=True)
class Counters:
    allocated: float
    reserved: float
    device: float


def counters(
    peak: Phase,
    phases: tuple[Phase, ...],
    cached: float,
    recipe: Recipe,
    degrees: Degrees,
    constants: MemoryConstants,
    card_bytes: float | None,
) -> Counters:
    allocated = peak.total
    changing = max(_changing(phase) for phase in phases)
    fragments = changing * constants.fragmentation_share[fragmentation_key(recipe)]
    reserved = _segments(allocated + fragments + cached)
    context = constants.context_bytes["default"]
    if degrees.data * degrees.tensor * degrees.pipeline * degrees.context > 1:
        context += constants.nccl_bytes
    device = reserved + context
    if card_bytes is not None and device > card_bytes > allocated + context:
        device, reserved = card_bytes, card_bytes - context
    return Counters(allocated, reserved, device)


def fragmentation_key(recipe: Recipe) -> str:
    if recipe.sequence_kind == "variable":
        return "variable"
    if recipe.framework in ("torchtitan",):
        return "expandable"
    return "sharded" if recipe.sharding in ("fsdp", "hsdp", "zero3") else "fixed"


def _changing(phase: Phase) -> float:
    return sum(size for name, size in phase.parts.items() if name not in _RESIDENT)


def _segments(size: float) -> float:
    # CUDACachingAllocator: blocks of 1 MiB and less come from 2 MiB segments, those up to 10 MiB from 20 MiB,
    # larger ones are rounded to 2 MiB. Over a whole step only the rounding to segments shows.
    return -(-size // _SEGMENT) * _SEGMENT


def interval(value: float, spread: Spread, widen: float = 1.0) -> Interval:
    return Interval(value, value * max(0.0, 1 - spread.low * widen), value * (1 + spread.high * widen))
