"""The answers of ``estimate`` and ``fit``: a Fit with advice, and a Description held against every card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from weighbridge.schema.description import Description
from weighbridge.schema.field_units import check_units
from weighbridge.schema.finding import Finding
from weighbridge.schema.fit import Fit
from weighbridge.units import Quantity

CardVerdict = Literal["fits", "may_not_fit", "fits_with_change", "cannot", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Steps that make it fit, cheapest kind first, with the batch per GPU that they leave."""

    steps: tuple[Finding, ...]
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """``largest_batch`` fits with the upper end of the interval, ``perhaps_batch`` with its lower end.

    ``longest`` is the longest sequence (tokens) or the largest image side (pixels) at the batch asked for,
    0 for none. ``change`` is the cheapest change that makes it fit, None when it fits or none was found.
    ``smallest_card`` is the smallest of the catalogue that fits without a change.
    """

    largest_batch: int
    perhaps_batch: int
    longest: int
    change: Change | None = None
    smallest_card: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A published measurement near to what was asked, and our error on it (predicted / measured - 1)."""

    what: str
    gpu: str
    counter: str
    measured: Quantity
    error_share: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePoint:
    """More copies of the task, each with the batch it has: weak scaling. The whole job's tokens or images.

    ``efficiency_share`` is the rate per GPU over that of the job as asked.
    """

    gpus: int
    step_seconds: Quantity
    rate_per_second: Quantity
    efficiency_share: Quantity

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One Description on GPUs of one model. ``per_second`` counts tokens, or images, of the whole job."""

    SCHEMA: ClassVar[str] = "weighbridge.estimate/1"

    description: Description
    gpu: str
    gpus: int
    counted_parameters: int
    fit: Fit
    advice: Advice
    per_second: Quantity | None = None
    neighbours: tuple[Neighbour, ...] = ()
    scaling: tuple[ScalePoint, ...] = ()

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFit:
    """One card's row. ``relative_rate``: samples a second over the reference's, at the batch that fits."""

    gpu: str
    memory_bytes: Quantity
    verdict: CardVerdict
    device_bytes: Quantity | None
    advice: Advice | None
    step_seconds: Quantity | None
    relative_rate: float | None
    confidence: str
    why: Finding

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTable:
    """``reference`` is the smallest card that fits as asked. ``traps`` say what a small card would cost."""

    SCHEMA: ClassVar[str] = "weighbridge.fit_table/1"

    description: Description
    reference: str | None
    cards: tuple[CardFit, ...]
    traps: tuple[Finding, ...]
    guesses: tuple[Finding, ...] = ()
