"""What every entry of a fact table carries besides its figures, and those figures as Quantities in SI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from weighbridge.facts.records import Confidence
from weighbridge.schema.field_units import unit_of
from weighbridge.units import GB, GIB, Quantity

# Longest ending first. What a fact file writes, as the SI unit and the factor to it.
_UNITS: Final[tuple[tuple[str, str, float], ...]] = (
    ("gigabytes_per_second", "bytes_per_second", GB),
    ("gigabits_per_second", "bytes_per_second", GB / 8),
    ("reads_per_second", "per_second", 1),
    ("operations_per_second", "per_second", 1),
    ("gigabytes", "bytes", GB),
    ("gibibytes", "bytes", GIB),
    ("bytes", "bytes", 1),
    ("teraflops", "flops_per_second", 1e12),
    ("gigaflops", "flops_per_second", 1e9),
    ("microseconds", "seconds", 1e-6),
    ("seconds", "seconds", 1),
    ("watts", "watts", 1),
    ("share", "share", 1),
    ("gpus", "count", 1),
    ("nodes", "count", 1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A figure that its source gives as a range; both ends are equal where it is one number."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low {self.low} lies above high {self.high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourced:
    """``unsure`` maps a field (``*`` for all) to the reason why it must not become an acceptance limit."""

    id: str
    sources: tuple[str, ...]
    confidence: Confidence
    read_on: str
    unsure: dict[str, str] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeFact(Sourced):
    """A rule of thumb about figures of one kind, to be shown beside them."""

    text: str


def is_unsure(entry: Sourced, name: str) -> bool:
    """Whether the figure in field ``name`` may never be an acceptance limit."""
    return entry.confidence == "C" or not {name, name.partition(".")[0], "*"}.isdisjoint(entry.unsure)


def figure(entry: Sourced, name: str) -> Quantity | None:
    """The figure in field ``name`` of a table entry in SI units; None where it is unknown.

    A Span of two ends has no value, only low and high. Raises ValueError for a field without a unit.
    """
    value: float | Span | None = getattr(entry, name)
    for ending, unit, scale in _UNITS:
        if name == ending or name.endswith(f"_{ending}"):
            return quantity(entry, value, name, unit=unit, scale=scale)
    raise ValueError(f"{name!r} has no unit in its name")


def part(
    entry: Sourced, name: str, value: float | Span | None, place: str, scale: float = 1
) -> Quantity | None:
    """``value`` of the fact's field ``place`` in the unit that the record's field ``name`` promises."""
    return quantity(entry, value, place, unit=unit_of(name), scale=scale)


def quantity(
    entry: Sourced, value: float | Span | None, place: str, *, unit: str, scale: float
) -> Quantity | None:
    if value is None:
        return None
    ends = value if isinstance(value, Span) else Span(low=value, high=value)
    exact = ends.low == ends.high
    return Quantity(
        value=ends.low * scale if exact else None,
        low=None if exact else ends.low * scale,
        high=None if exact else ends.high * scale,
        operator="=" if exact else "range",
        unit=unit,
        origin="catalogue",
        source=f"{entry.id}: {', '.join(entry.sources)}",
        date=entry.read_on,
        confidence="C" if is_unsure(entry, place) else entry.confidence,
    )
