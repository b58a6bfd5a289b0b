"""The answer of ``diagnose``: what a Run waits for and what each remedy would give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from weighbridge.schema.answerable import Answerable
from weighbridge.schema.finding import Evidence, Finding, Parameter
from weighbridge.units import Quantity

Verdict = Literal[
    "data", "compute", "communication", "checkpoint_or_evaluation", "nothing_wrong", "cannot_say"
]
Tier = Literal["bound", "analytic", "replayed", "calibrated", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of an identity (a phase of a step, or of the occupied time) and its share of the whole."""

    name: str
    seconds: Quantity
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """An identity: ``total`` is the sum of ``parts``; "unattributed" is always among them."""

    total: Quantity
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """What one change would give: ``speed_up`` is old time over new time, with its interval.

    ``scaling`` is strong (same global batch) or weak (same batch per GPU); ``brings`` says what added GPUs
    bring with them: in_this_box (same cores, memory, disk, store) or in_a_second_box (their own).
    ``condition`` is the sentence code of what must hold, filled with ``params``; ``scope`` says what gets
    faster by that factor (timed_part: the part of the step that the source timed). ``costs_money`` is None
    where both a free and a bought change can do it.
    """

    code: str
    speed_up: Quantity
    tier: Tier
    scope: Literal["step", "timed_part", "occupied"]
    scaling: Literal["strong", "weak"] | None = None
    brings: Literal["in_this_box", "in_a_second_box"] | None = None
    condition: str | None = None
    params: dict[str, Parameter] = field(default_factory=dict)
    costs_money: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Peak of one counter against the card's memory; share is None when the card is unknown."""

    counter: Literal["allocated", "reserved", "device"]
    peak: Quantity
    card: Quantity
    share: float | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataWait:
    """Data wait of the slowest rank, with and without the cold first windows.

    ``printed_share`` is what the log's own figures add up to where they had to be corrected (running
    means); None where the log's figures are used as they stand.
    """

    share: float
    share_with_cold_windows: float
    printed_share: float | None
    cold_windows: int
    windows: int
    windows_waiting: int
    rank: int | None
    seconds: Quantity
    steady: bool
    bimodal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Verdict, proof and remedies for one Run.

    ``more_gpus`` answers the buyer's question (would twice the GPUs help?) in one sentence; ``missing`` says
    which file would answer what is open.
    """

    SCHEMA: ClassVar[str] = "weighbridge.diagnosis/1"

    run: str
    verdict: Verdict
    headline: Finding
    findings: tuple[Finding, ...]
    step: Breakdown | None
    occupied: Breakdown | None
    data_wait: DataWait | None
    step_seconds_median: Quantity | None
    memory: tuple[MemoryUse, ...]
    counterfactuals: tuple[Counterfactual, ...]
    answerable: tuple[Answerable, ...]
    missing: tuple[Finding, ...]
    more_gpus: Finding | None = None
