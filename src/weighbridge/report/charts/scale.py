"""Axes: ticks at 1, 2 or 5 times a power of ten, labels in the unit a person would use.

Numbers only. Knows no drawing and no language: units are symbols (s, GiB, %), which both languages share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from weighbridge.units import GIB, KIB, MIB, TIB

# Above this many axis units the next larger unit is used.
_DURATION_UNITS: Final = (
    ("\u00b5s", 1e-6, 1e-3),
    ("ms", 1e-3, 1.0),
    ("s", 1.0, 180.0),
    ("min", 60.0, 10_800.0),
    ("h", 3600.0, 259_200.0),
    ("d", 86_400.0, math.inf),
)
_BYTE_UNITS: Final = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1))


@dataclass(frozen=True, slots=True)
class Tick:
    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values, its ticks, and the symbol of the unit in which the labels are."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    unit: str

    def position(self, value: float, start: float, end: float) -> float:
        """Where ``value`` lies between the pixels ``start`` and ``end``; held inside them."""
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.0
        return start + (end - start) * min(max(share, 0.0), 1.0)


def nice_step(span: float, count: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that parts ``span`` into at most ``count`` pieces."""
    if span <= 0 or not math.isfinite(span):
        return 1.0
    rough = span / max(count, 1)
    magnitude = 10.0 ** math.floor(math.log10(rough))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if factor * magnitude >= rough * (1 - 1e-9):
            return factor * magnitude
    return 10.0 * magnitude


def _label(value: float, step: float) -> str:
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:,.{decimals}f}"


def _from_zero(high: float, scale: float, unit: str, count: int) -> Axis:
    """An axis from 0 whose last tick covers ``high``."""
    step = nice_step(high / scale, count)
    last = max(1, math.ceil(high / scale / step - 1e-9))
    ticks = tuple(Tick(index * step * scale, _label(index * step, step)) for index in range(last + 1))
    return Axis(0.0, last * step * scale, ticks, unit)


def duration_axis(high_seconds: float, count: int = 5) -> Axis:
    """0 to at least ``high_seconds``."""
    high = high_seconds if high_seconds > 0 else 1.0
    unit, scale, _ = next(entry for entry in _DURATION_UNITS if high < entry[2])
    return _from_zero(high, scale, unit, count)


def bytes_axis(high_bytes: float, count: int = 5) -> Axis:
    """0 to at least ``high_bytes``, in binary units."""
    high = high_bytes if high_bytes > 0 else 1.0
    unit, scale = next((entry for entry in _BYTE_UNITS if high >= entry[1]), _BYTE_UNITS[-1])
    return _from_zero(high, float(scale), unit, count)


def share_axis(high: float = 1.0, count: int = 4) -> Axis:
    """0 to at least ``high`` (0..1), labelled in per cent; a whole has quarters, not fifths."""
    if high == 1.0 and count == 4:
        return Axis(0.0, 1.0, tuple(Tick(part / 4, str(part * 25)) for part in range(5)), "%")
    return _from_zero(high, 0.01, "%", count)


def count_axis(low: float, high: float, count: int = 6) -> Axis:
    """Exactly ``low`` to ``high`` (steps, records); whole-numbered ticks that lie inside."""
    if high <= low:
        high = low + 1
    step = max(1.0, nice_step(high - low, count))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    ticks = tuple(Tick(index * step, f"{index * step:,.0f}") for index in range(first, last + 1))
    return Axis(low, high, ticks, "")


def elapsed_axis(low_seconds: float, high_seconds: float, count: int = 6) -> Axis:
    """Exactly ``low_seconds`` to ``high_seconds``; ticks inside, in the unit that suits the span."""
    high = high_seconds if high_seconds > low_seconds else low_seconds + 1
    unit, scale, _ = next(entry for entry in _DURATION_UNITS if high - low_seconds < entry[2])
    step = nice_step((high - low_seconds) / scale, count)
    first = math.ceil(low_seconds / scale / step - 1e-9)
    last = math.floor(high / scale / step + 1e-9)
    ticks = tuple(Tick(index * step * scale, _label(index * step, step)) for index in range(first, last + 1))
    return Axis(low_seconds, high, ticks, unit)
