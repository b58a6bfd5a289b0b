"""A Finding: a code, numbers with units and the evidence's place. Words come from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from weighbridge.units import Quantity

Severity = Literal["critical", "warning", "note"]
Parameter = Quantity | str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where the numbers of a finding stand: file, rows, time."""

    source: str
    line_first: int | None = None
    line_last: int | None = None
    rows: int | None = None
    at_first_seconds: float | None = None
    at_last_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``code`` names the sentence in the catalogue; ``params`` fill it; ``remedies`` are sentence codes."""

    code: str
    severity: Severity
    params: dict[str, Parameter] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[str, ...] = ()
