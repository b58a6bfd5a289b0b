"""What the memory part of the kernel answers: bytes by phase and part, three counters, or what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A prediction in bytes with its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Phase:
    """What is alive on the fullest device at the fullest moment of one phase, in bytes by part."""

    name: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes of the fullest device. ``peak_phase`` is the fullest phase; the peak is its total.

    ``allocated`` are the framework's tensors, ``reserved`` what its caching allocator holds, ``device`` what
    nvidia-smi prints. ``needed`` is the least a card must have: tensors and context, no cached block.
    ``assumed`` names every field that was filled with a documented default.
    """

    phases: tuple[Phase, ...]
    peak_phase: str
    allocated: Interval
    reserved: Interval
    device: Interval
    needed: float
    assumed: tuple[str, ...] = ()

    @property
    def parts(self) -> Mapping[str, float]:
        return next(phase for phase in self.phases if phase.name == self.peak_phase).parts


@dataclass(frozen=True, slots=True)
class Missing:
    """No answer: these fields are unknown and no default of the framework is documented."""

    fields: tuple[str, ...]
