"""The two identities that stand on every report, and what they leave unexplained.

    occupied = start-up + sum(steps) + evaluation + checkpoints + gaps
    step     = data wait + host-to-device + compute + exposed communication + optimizer + unattributed

A part that was not recorded is None and stays None: its time is inside "gaps" or "unattributed", which are
what is left over, and which may come out slightly negative by rounding (then 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STEP_PARTS = ("data_wait", "host_to_device", "compute", "communication", "optimizer")
# Sums of printed figures differ from their printed total by this much without anything being left over.
ROUNDING = 1e-6
# Logged parts (medians, whole seconds) may exceed the clock by this much and still be of one run.
ADDITIVE_ROUNDING = 0.1
OCCUPIED_PARTS = ("start_up", "steps", "evaluation", "checkpoints")


@dataclass(frozen=True, slots=True)
class Identity:
    """``total`` seconds, the recorded ``parts`` (None: not recorded) and the ``rest``.

    ``overlap_seconds`` is by how much the parts exceed the total: 0 within rounding, else they are not
    additive and the caller must say so.
    """

    total: float
    parts: dict[str, float | None]
    rest: float
    overlap_seconds: float

    @property
    def additive(self) -> bool:
        """Whether the parts fit into the total, rounding of printed figures aside."""
        return self.overlap_seconds <= ADDITIVE_ROUNDING * self.total

    def share(self, part: str) -> float | None:
        seconds = self.parts.get(part)
        return None if seconds is None or self.total <= 0 else seconds / self.total


def identity(total: float, parts: Mapping[str, float | None]) -> Identity:
    """Put parts against their total; the remainder is stated, never spread. Raises ValueError below 0."""
    if total < 0 or any(value is not None and value < 0 for value in parts.values()):
        raise ValueError("times cannot be negative")
    rest = total - sum(value for value in parts.values() if value is not None)
    if abs(rest) < ROUNDING * total:
        rest = 0.0
    return Identity(total, dict(parts), max(rest, 0.0), max(-rest, 0.0))
