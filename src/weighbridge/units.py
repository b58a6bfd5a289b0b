"""Quantities with unit and origin, curves, and how numbers are printed.

Does not convert silently: GiB is 2**30 bytes and GB is 10**9 bytes, and a text says which it means.
Inside the product every figure is in SI base units (bytes, seconds, watts, hertz, bytes per second).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from weighbridge.errors import InputError

Origin = Literal["measured", "imported", "estimated", "catalogue", "quoted", "agreed"]
Operator = Literal["=", ">=", "<=", "range"]
Missing = Literal["not_read", "not_applicable", "not_printed"]

KB: Final = 10**3
MB: Final = 10**6
GB: Final = 10**9
TB: Final = 10**12
KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30
TIB: Final = 2**40

BYTE_UNITS: Final[dict[str, int]] = {
    "B": 1, "KB": KB, "kB": KB, "MB": MB, "GB": GB, "TB": TB,
    "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB,
}  # fmt: skip

_BYTES = re.compile(r"^\s*([0-9][0-9,_]*(?:\.[0-9]+)?)\s*([kKMGT]i?B|B)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number that never travels without its unit and where it came from.

    ``value`` is None when it is unknown, and ``missing`` then says why. ``low`` and ``high`` are the
    interval of an estimate (None for an exact figure). ``unit`` is a whole word: "bytes", "seconds",
    "watts", "bytes_per_second", "share", "count", "times".
    """

    value: float | None
    unit: str
    origin: Origin
    low: float | None = None
    high: float | None = None
    operator: Operator = "="
    source: str | None = None
    date: str | None = None
    confidence: str | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                object.__setattr__(self, name, None)
        if self.value is None and self.missing is None and self.low is None and self.high is None:
            object.__setattr__(self, "missing", "not_read")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One measured point: ``at`` (message bytes, concurrency, ...) and the value there."""

    at: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points of one figure over one variable, with the context in which they hold."""

    unit: str
    at_unit: str
    points: tuple[CurvePoint, ...]
    origin: Origin
    source: str | None = None
    date: str | None = None
    context: dict[str, str] | None = None


def parse_bytes(text: str) -> int:
    """Read "80 GB", "81559 MiB", "1.21GiB"; the unit is required. Raises InputError without one."""
    match = _BYTES.match(text)
    if match is None:
        raise InputError("units.bytes_without_unit", text=text)
    number = float(match[1].replace(",", "").replace("_", ""))
    return round(number * BYTE_UNITS[match[2]])


def finite(number: float | None) -> float | None:
    """The number, or None when it is absent, NaN or infinite."""
    return number if number is not None and math.isfinite(number) else None


def format_significant(value: float, digits: int = 3) -> str:
    """Round to ``digits`` significant digits without an exponent: 1234.5 -> 1230, 0.04567 -> 0.0457."""
    if value == 0:
        return "0"
    # The magnitude after rounding: 0.9996 has three digits as 1.00, not as 1.000.
    magnitude = int(f"{value:.{digits - 1}e}".partition("e")[2])
    decimals = digits - 1 - magnitude
    rounded = round(value, decimals)
    return f"{rounded:,.{max(decimals, 0)}f}"


def format_seconds(value: float) -> str:
    """Print a duration in the unit a person would use: 12.3 ms, 1.41 s, 3 min 05 s, 5 h 39 min, 9 d 21 h."""
    if value < 0:
        return "-" + format_seconds(-value)
    if value == 0:
        return "0 s"
    if value < 0.9995e-3:
        return f"{format_significant(value * 1e6)} \u00b5s"
    if value < 0.9995:
        return f"{format_significant(value * 1e3)} ms"
    if value < 99.95:
        return f"{format_significant(value)} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(value / 60)
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(value / 3600)
    return f"{hours // 24} d {hours % 24:02d} h"


def format_bytes(value: float) -> str:
    """Print bytes in binary units, the ones that frameworks and nvidia-smi use."""
    size = abs(value)
    for unit, scale in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if size >= scale * 0.9995:
            return f"{format_significant(value / scale)} {unit}"
    return f"{value:.0f} B"


def format_decimal_bytes(value: float) -> str:
    """Print bytes in decimal units, the ones that disks, networks and vendors use."""
    size = abs(value)
    for unit, scale in (("TB", TB), ("GB", GB), ("MB", MB), ("KB", KB)):
        if size >= scale * 0.9995:
            return f"{format_significant(value / scale)} {unit}"
    return f"{value:.0f} B"


def format_share(value: float) -> str:
    """Print 0..1 as per cent; one decimal below ten per cent, where it matters."""
    percent = value * 100
    return f"{percent:.1f} %" if abs(percent) < 9.95 else f"{percent:.0f} %"


def format_times(value: float) -> str:
    """Print a speed-up factor: x1.33 with a real multiplication sign; two decimals below ten."""
    return f"\u00d7{value:.2f}" if value < 9.995 else f"\u00d7{value:.1f}"


def format_scaled(value: float, suffix: str) -> str:
    """Print with the decimal prefix that leaves one to three digits: 9.89e14, "FLOP/s" -> 989 TFLOP/s."""
    for prefix, scale in (("E", 10**18), ("P", 10**15), ("T", TB), ("G", GB), ("M", MB), ("k", KB)):
        if abs(value) >= scale * 0.9995:
            return f"{format_significant(value / scale)} {prefix}{suffix}"
    return f"{format_significant(value)} {suffix}"


FORMATTERS: Final[dict[str, Callable[[float], str]]] = {
    "seconds": format_seconds,
    "bytes": format_bytes,
    "decimal_bytes": format_decimal_bytes,
    "share": format_share,
    "times": format_times,
    "count": lambda value: f"{value:,.0f}",
    "number": format_significant,
    "watts": lambda value: f"{format_significant(value)} W",
    "celsius": lambda value: f"{value:.0f} \u00b0C",
    "bytes_per_second": lambda value: f"{format_decimal_bytes(value)}/s",
    "per_second": lambda value: f"{format_significant(value)} /s",
    "flops": lambda value: format_scaled(value, "FLOP"),
    "flops_per_second": lambda value: format_scaled(value, "FLOP/s"),
    "operations_per_second": lambda value: format_scaled(value, "OP/s"),
    "transfers_per_second": lambda value: f"{value / MB:,.0f} MT/s",
    "hertz": lambda value: format_scaled(value, "Hz"),
    "metres": lambda value: f"{value:g} m",
    "kilograms": lambda value: f"{value:g} kg",
    "decibels": lambda value: f"{value:g} dB",
    "amperes": lambda value: f"{value:g} A",
    "volts": lambda value: f"{value:g} V",
    "ohms": lambda value: f"{value:g} \u03a9",
    "rack_units": lambda value: f"{value:g} U",
}


def format_value(value: float, unit: str) -> str:
    """Print a bare number that is in ``unit``. Raises KeyError for a unit nobody registered."""
    return FORMATTERS[unit](value)
