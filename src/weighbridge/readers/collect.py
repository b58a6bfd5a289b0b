"""Turn the pieces of one source into open runs: rows to a writer, facts to fields, restarts counted.

Knows the store's writer but no format. Nothing is visible in the workspace until ``PendingRun.close``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from weighbridge.readers.base import Events, Facts, Piece, RunStart, Samples, Steps
from weighbridge.schema.columns import TRAIN, Cell, Columns
from weighbridge.schema.event import Event
from weighbridge.schema.run import (
    Environment,
    Hardware,
    Layout,
    Planned,
    Problem,
    Run,
    Scalar,
    Source,
)
from weighbridge.store import RunWriter, Workspace

# A source with more kinds of trouble than this is not worth listing line by line.
MAXIMUM_PROBLEMS = 200


@dataclass(slots=True)
class PendingRun:
    """A run that is being written: its writer is open and nobody else sees it yet."""

    writer: RunWriter
    sources: list[Source]
    facts: dict[str, Scalar] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    rows: int = 0
    paths: list[Path] = field(default_factory=list)
    restarts: int = 0
    segment_of: dict[Cell, int] = field(default_factory=dict)
    last_step: dict[Cell, int] = field(default_factory=dict)
    first_at: float | None = None
    last_at: float | None = None

    @property
    def clock(self) -> str:
        return str(self.facts.get("clock") or "none")

    def add_steps(self, piece: Steps, source: int) -> None:
        segments, restarts = self._segments(piece)
        columns = dict(piece.columns)
        columns["segment"] = segments
        columns["source"] = [source] * piece.rows
        self.writer.steps(columns, piece.rows)
        if restarts:
            self.writer.events(restarts)
        self._see(columns)
        self.rows += piece.rows

    def add_samples(self, piece: Samples, source: int, offset_seconds: float = 0.0) -> None:
        columns = dict(piece.columns)
        columns["source"] = [source] * piece.rows
        if offset_seconds and "at_seconds" in columns:
            columns["at_seconds"] = [_shift(at, offset_seconds) for at in columns["at_seconds"]]
        self.writer.samples(columns, piece.rows)
        self.rows += piece.rows

    def add_events(self, events: Sequence[Event], source: int) -> None:
        self.writer.events([dataclasses.replace(event, source=source) for event in events])
        self.rows += len(events)

    def note(self, problem: Problem) -> None:
        if len(self.problems) < MAXIMUM_PROBLEMS:
            self.problems.append(problem)

    def _segments(self, piece: Steps) -> tuple[list[Cell], list[Event]]:
        """Count a restart whenever the step number of a rank's training rows goes back."""
        columns = piece.columns
        steps = columns.get("step") or [None] * piece.rows
        ranks = columns.get("rank") or [None] * piece.rows
        phases = columns.get("phase") or [TRAIN] * piece.rows
        lines = columns.get("line") or [None] * piece.rows
        clocks = columns.get("at_seconds") or [None] * piece.rows
        segments: list[Cell] = []
        restarts: list[Event] = []
        for step, rank, phase, line, clock in zip(steps, ranks, phases, lines, clocks, strict=True):
            if isinstance(step, int) and phase == TRAIN:
                last = self.last_step.get(rank)
                if last is not None and step < last:
                    self.segment_of[rank] = self.segment_of.get(rank, 0) + 1
                    # Every rank goes back at a restart; it is one event.
                    if self.segment_of[rank] > self.restarts:
                        self.restarts = self.segment_of[rank]
                        restarts.append(_restart(step, rank, line, clock))
                self.last_step[rank] = step
            segments.append(self.segment_of.get(rank, self.restarts if phase != TRAIN else 0))
        return segments, restarts

    def _see(self, columns: Columns) -> None:
        """Widen the span; the first row's window began before its time stamp."""
        known = [at for at in columns.get("at_seconds") or () if isinstance(at, int | float)]
        if not known:
            return
        if self.first_at is None:
            seconds, steps = (columns.get(name, [None])[0] for name in ("step_seconds", "steps"))
            length = float(seconds or 0.0) * float(steps or 1)
            self.first_at = known[0] - length
        self.first_at = min(self.first_at, *known)
        self.last_at = max(known) if self.last_at is None else max(self.last_at, *known)

    def run(self, run_id: str) -> Run:
        """The record as far as the source's facts go; the writer fills in what it counted."""
        return build_run(run_id, self.facts, self.sources, self.problems)


def _restart(step: int, rank: Cell, line: Cell, clock: Cell) -> Event:
    return Event(
        kind="restart",
        step=step,
        rank=rank if isinstance(rank, int) else None,
        line=line if isinstance(line, int) else None,
        at_seconds=float(clock) if isinstance(clock, int | float) else None,
    )


def _shift(at: Cell, offset_seconds: float) -> Cell:
    return at + offset_seconds if isinstance(at, int | float) else at


def collect(pieces: Iterable[Piece], workspace: Workspace, source: Source) -> list[PendingRun]:
    """Read a source to its end. Returns the runs it holds, open and unseen, the first one first."""
    runs: list[PendingRun] = []
    try:
        _collect(pieces, workspace, source, runs)
    except BaseException:
        for run in runs:
            run.writer.abandon()
        raise
    kept = [run for run in runs if run.rows]
    for run in runs:
        if not run.rows:
            run.writer.abandon()
    return kept


def _collect(pieces: Iterable[Piece], workspace: Workspace, source: Source, runs: list[PendingRun]) -> None:
    def current() -> PendingRun:
        if not runs:
            runs.append(PendingRun(workspace.writer(), [source]))
        return runs[-1]

    for piece in pieces:
        match piece:
            case RunStart():
                if not runs or runs[-1].rows:
                    runs.append(PendingRun(workspace.writer(), [source]))
            case Steps():
                current().add_steps(piece, 0)
            case Samples():
                current().add_samples(piece, 0)
            case Events():
                current().add_events(piece.events, 0)
            case Facts():
                current().facts |= {key: value for key, value in piece.values.items() if value is not None}
            case Problem():
                current().note(piece)


_PARTS: dict[str, type] = {
    "environment": Environment,
    "hardware": Hardware,
    "layout": Layout,
    "planned": Planned,
}
_TOP = ("name", "clock", "step_statistic", "started_at_seconds", "ended_at_seconds", "stated_seconds")


def build_run(
    run_id: str, facts: dict[str, Scalar], sources: Sequence[Source], problems: Sequence[Problem]
) -> Run:
    """Put dotted facts into a Run. Raises KeyError for a path that Run does not have: a reader's mistake."""
    parts: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
    details: dict[str, Scalar] = {}
    top: dict[str, Any] = {}
    for key, value in facts.items():
        head, _, tail = key.partition(".")
        if head == "details":
            details[tail] = value
        elif head in parts:
            parts[head][tail] = _fitting(_PARTS[head], tail, value)
        elif key in _TOP:
            top[key] = value
        else:
            raise KeyError(key)
    built = {name: _PARTS[name](**values) for name, values in parts.items()}
    return Run(id=run_id, sources=tuple(sources), problems=tuple(problems), details=details, **top, **built)


def _fitting(record: type, field_name: str, value: Scalar) -> Scalar:
    """Integers where the record wants integers: JSON and regex captures give floats such as 8.0."""
    hints = get_type_hints(record)
    if field_name not in hints:
        raise KeyError(f"{record.__name__}.{field_name}")
    if (
        isinstance(value, float)
        and value.is_integer()
        and float not in getattr(hints[field_name], "__args__", ())
    ):
        return int(value)
    return value
