"""Something that happened at a point of a Run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EventKind = Literal[
    "start", "end", "restart", "epoch", "evaluation", "checkpoint", "out_of_memory", "training_begins"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``at_seconds`` is the clock at the *end* of the event, ``seconds`` how long it took where known.

    ``training_begins`` closes start-up: the moment before the first step. ``epoch`` closes an epoch;
    its ``seconds`` is the epoch's wall time as the source states it.
    """

    kind: EventKind
    at_seconds: float | None = None
    elapsed_seconds: float | None = None
    seconds: float | None = None
    epoch: float | None = None
    step: int | None = None
    rank: int | None = None
    source: int = 0
    line: int | None = None
