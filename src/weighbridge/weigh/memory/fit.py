"""A MemoryEstimate held against a card, as the record that reports and plans read (``schema.fit.MemoryFit``).

Names of parts are brought to that record's; nothing is computed again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from weighbridge.schema.fit import MemoryFit, MemoryPart, MemoryPhase, PartBytes, PhaseMemory
from weighbridge.units import Quantity
from weighbridge.weigh.memory.records import Interval, MemoryEstimate, Phase

_PARTS: Final[dict[str, MemoryPart]] = {
    "weights": "weights",
    "adapters": "weights",
    "cast_weights": "weights",
    "gradients": "gradients",
    "optimizer_states": "states",
    "step_temporaries": "temporaries",
    "dequantised": "temporaries",
    "activations": "activations",
    "recomputed": "activations",
    "logits": "logits",
    "gathered_parameters": "communication_buffers",
    "gradient_buckets": "communication_buffers",
}
_PHASES: Final[dict[str, MemoryPhase]] = {
    "loss": "forward",
    "backward_start": "backward",
    "backward_end": "backward",
    "optimizer": "optimizer",
}


def memory_fit(estimate: MemoryEstimate, card: Quantity) -> MemoryFit:
    """``card`` is the usable size in bytes. Fits when even the upper end of the device counter does.

    It cannot fit when the lower end of the tensors and the context alone is larger; in between, and with a
    card of unknown size, ``fits`` is None.
    """
    fullest: dict[MemoryPhase, Phase] = {}
    for phase in estimate.phases:
        name = _PHASES[phase.name]
        if name not in fullest or phase.total > fullest[name].total:
            fullest[name] = phase
    return MemoryFit(
        phases=tuple(_phase(name, phase) for name, phase in fullest.items()),
        peak_phase=_PHASES[estimate.peak_phase],
        allocated_bytes=_interval(estimate.allocated),
        reserved_bytes=_interval(estimate.reserved),
        device_bytes=_interval(estimate.device),
        card_bytes=card,
        fits=fits_in(estimate, card.value),
    )


def fits_in(estimate: MemoryEstimate, card_bytes: float | None) -> bool | None:
    if card_bytes is None:
        return None
    if estimate.device.high <= card_bytes:
        return True
    context = estimate.needed - estimate.allocated.value
    return False if estimate.allocated.low + context > card_bytes else None


def _phase(name: MemoryPhase, phase: Phase) -> PhaseMemory:
    sizes: dict[MemoryPart, float] = defaultdict(float)
    for part, size in phase.parts.items():
        sizes[_PARTS[part]] += size
    parts = tuple(PartBytes(part=part, alive_bytes=_exact(size)) for part, size in sizes.items() if size)
    return PhaseMemory(phase=name, alive_bytes=_exact(phase.total), parts=parts)


def _exact(size: float) -> Quantity:
    return Quantity(value=size, unit="bytes", origin="estimated")


def _interval(interval: Interval) -> Quantity:
    return Quantity(
        value=interval.value, low=interval.low, high=interval.high, unit="bytes", origin="estimated"
    )
