"""Gather rows, events, facts and problems of one source and hand them out as pieces, run by run.

For readers of line logs: rows are tuples in the order of ``columns`` and leave in batches, problems are
counted per kind, facts of a banner wait until the record after it says to which run they belong. Knows no
format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from weighbridge.readers.base import Events, Facts, Piece, RunStart, Steps
from weighbridge.readers.tally import Troubles
from weighbridge.schema.columns import Cell
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar

BATCH_ROWS: Final = 8192


@dataclass(slots=True)
class Assembler:
    """``always`` holds facts that every run of the source shares; they are repeated for each."""

    columns: tuple[str, ...]
    always: dict[str, Scalar] = field(default_factory=dict)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    facts: dict[str, Scalar] = field(default_factory=dict)
    banner: dict[str, Scalar] = field(default_factory=dict)
    troubles: Troubles = field(default_factory=Troubles)

    def commit(self) -> None:
        """The banner read since the last record belongs to the current run."""
        if self.banner:
            self.facts |= self.banner
            self.banner = {}

    @property
    def full(self) -> bool:
        return len(self.rows) >= BATCH_ROWS or len(self.events) >= BATCH_ROWS

    def drain(self) -> Iterator[Piece]:
        """What is due once ``full``."""
        if len(self.rows) >= BATCH_ROWS:
            yield self._steps()
        if len(self.events) >= BATCH_ROWS:
            yield self._events()

    def start_run(self, line: int | None) -> Iterator[Piece]:
        """Close the current run and begin another at ``line``; the waiting banner goes to the new one."""
        yield from self._close()
        yield RunStart(line=line)

    def finish(self) -> Iterator[Piece]:
        self.commit()
        yield from self._close()

    def _close(self) -> Iterator[Piece]:
        if self.rows:
            yield self._steps()
        if self.events:
            yield self._events()
        facts = self.always | self.facts
        if facts:
            yield Facts(facts)
        yield from self.troubles.problems()
        self.facts = {}
        self.troubles = Troubles()

    def _steps(self) -> Steps:
        columns = {
            name: list(values)
            for name, values in zip(self.columns, zip(*self.rows, strict=True), strict=True)
            if any(value is not None for value in values)
        }
        rows = len(self.rows)
        self.rows = []
        return Steps(columns, rows)

    def _events(self) -> Events:
        events = tuple(self.events)
        self.events = []
        return Events(events)
