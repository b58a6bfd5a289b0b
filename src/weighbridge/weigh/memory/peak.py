"""The one question of this package: how many bytes does one device need, by phase, part and counter.

Knows no file and no card catalogue: constants and defaults are passed in (``facts.memory_constants`` loads
them). Unknown fields are filled with a documented default of the framework, or the answer is ``Missing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weighbridge.schema.memory_constants import FrameworkDefault, MemoryConstants, Spread
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe, Sharding
from weighbridge.schema.run import Layout
from weighbridge.weigh.memory.counters import counters, interval, not_below
from weighbridge.weigh.memory.defaults import fill
from weighbridge.weigh.memory.degrees import Degrees, degrees_of
from weighbridge.weigh.memory.logits import loss_key
from weighbridge.weigh.memory.parameters import count
from weighbridge.weigh.memory.phases import phases
from weighbridge.weigh.memory.records import MemoryEstimate, Missing
from weighbridge.weigh.memory.states import weigh_states

NEEDED = (
    "training",
    "master",
    "compute",
    "optimizer",
    "checkpointing",
    "sharding",
    "micro_batch",
    "sequence",
)


def memory(
    shape: ModelShape,
    recipe: Recipe,
    layout: Layout,
    constants: MemoryConstants,
    defaults: Sequence[FrameworkDefault] = (),
    *,
    card_bytes: float | None = None,
) -> MemoryEstimate | Missing:
    """Weigh one device. ``card_bytes``, the usable size of the card, bounds what the allocator can cache."""
    recipe, assumed = fill(recipe, defaults)
    degrees = degrees_of(layout, recipe)
    missing = tuple(name for name in NEEDED if getattr(recipe, name) is None)
    if isinstance(degrees, tuple):
        return Missing((*missing, *degrees))
    if recipe.training == "qlora" and recipe.base_quant is None:
        missing = (*missing, "base_quant")
    if missing:
        return Missing(missing)
    recipe = _effective(recipe, degrees)
    states = weigh_states(shape, count(shape), recipe, degrees, constants)
    found = phases(shape, recipe, degrees, states, constants)
    peak = max(found, key=lambda phase: phase.total)
    bytes_ = counters(found, loss_key(shape, recipe), recipe, degrees, constants, card_bytes)

    def spread(counter: str) -> Spread:
        return _spread(counter, recipe, assumed, constants)

    allocated = interval(bytes_.allocated, spread("allocated"))
    reserved = not_below(interval(bytes_.reserved, spread("reserved")), allocated)
    device = not_below(interval(bytes_.device, spread("device")), reserved, bytes_.context)
    return MemoryEstimate(
        phases=found,
        peak_phase=peak.name,
        allocated=allocated,
        reserved=reserved,
        device=device,
        needed=bytes_.allocated + bytes_.context,
        assumed=assumed,
    )


# What sharding comes to on one rank; DeepSpeed's engine stays, with nothing to gather.
_ALONE: dict[str, Sharding] = {"fsdp": "none", "hsdp": "none", "ddp": "none", "zero3": "zero2"}


def _effective(recipe: Recipe, degrees: Degrees) -> Recipe:
    """What the recipe comes to: one rank shards nothing, and accelerate raises the flat
    parameters of FSDP1 to fp32 when mixed precision is on (accelerator.py).

    Only what is trained: adapters keep the base in 16 bits, since one flat parameter has one dtype.
    """
    if degrees.data * degrees.context == 1 and recipe.sharding in _ALONE:
        return replace(recipe, sharding=_ALONE[recipe.sharding])
    flat = recipe.sharding in ("fsdp", "hsdp") and recipe.fsdp_version == 1
    if flat and recipe.framework == "hf_trainer" and recipe.autocast and recipe.training == "full":
        return replace(recipe, master="fp32")
    return recipe


# A default of these moves the answer by more than the spread of the formulae.
_WEIGHTY = frozenset({"checkpointing", "master", "compute", "optimizer", "sharding"})
_WIDER = 1.5


def _spread(counter: str, recipe: Recipe, assumed: tuple[str, ...], constants: MemoryConstants) -> Spread:
    """The framework's own where rows of it were measured; wider after a weighty default."""
    found = constants.spread.get(f"{counter}.{recipe.framework}") or constants.spread[f"{counter}.stated"]
    if _WEIGHTY & set(assumed):
        return Spread(low=min(1.0, found.low * _WIDER), high=found.high * _WIDER)
    return found
