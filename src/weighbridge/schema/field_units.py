"""The unit of a Quantity field stands in the field's name; records check that what they hold agrees."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Final

from weighbridge.units import Quantity

# Longest ending first: "memory_bandwidth_bytes_per_second" is not in seconds.
_BY_ENDING: Final[tuple[tuple[str, str], ...]] = (
    ("bytes_per_second", "bytes_per_second"),
    ("flops_per_second", "flops_per_second"),
    ("operations_per_second", "operations_per_second"),
    ("transfers_per_second", "transfers_per_second"),
    ("per_second", "per_second"),
    ("bytes", "bytes"),
    ("seconds_per_open", "seconds"),
    ("seconds", "seconds"),
    ("watts", "watts"),
    ("hertz", "hertz"),
    ("metres", "metres"),
    ("kilograms", "kilograms"),
    ("decibels", "decibels"),
    ("celsius", "celsius"),
    ("amperes", "amperes"),
    ("volts", "volts"),
    ("ohms", "ohms"),
    ("rack_units", "rack_units"),
    ("share", "share"),
    ("ratio", "times"),
    ("factor", "times"),
)


@cache
def unit_of(name: str) -> str:
    """The unit that a field's name promises; a name without one counts things."""
    for ending, unit in _BY_ENDING:
        if name == ending or name.endswith(f"_{ending}"):
            return unit
    return "count"


def check_units(record: Any) -> None:
    """Raises ValueError when a Quantity of ``record`` is in another unit than its field's name says."""
    for item in fields(record):
        value = getattr(record, item.name)
        if isinstance(value, Quantity) and value.unit != unit_of(item.name):
            place = f"{type(record).__name__}.{item.name}"
            raise ValueError(f"{place} is in {value.unit}, not in {unit_of(item.name)}")
