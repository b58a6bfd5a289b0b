"""RunWriter: spool rows while a source is read, turn them into a closed run at the end."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from weighbridge.schema.columns import Columns
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run


class RunWriter:
    """Collects the rows and events of one run. Leaving the ``with`` block without ``close`` abandons it."""

    def steps(self, columns: Columns, rows: int) -> None:
        raise NotImplementedError

    def samples(self, columns: Columns, rows: int) -> None:
        raise NotImplementedError

    def events(self, events: Sequence[Event]) -> None:
        raise NotImplementedError

    def close(self, run: Run) -> tuple[Run, bool]:
        """Store the run. Returns (final run, True), or (the stored run, False) when its id is taken."""
        raise NotImplementedError

    def abandon(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abandon()
