"""RunWriter: spool rows while a source is read, turn them into a closed run at the end.

Nothing is visible before ``run.json`` is put; a process that dies leaves a folder under ``incoming/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final

from weighbridge.errors import InputError, WorkspaceError
from weighbridge.schema.columns import SAMPLE_COLUMNS, STEP_COLUMNS, Columns
from weighbridge.schema.event import Event
from weighbridge.schema.run import Problem, Run
from weighbridge.store.closing import EventFacts, complete
from weighbridge.store.engine import connect
from weighbridge.store.files import flush, put_if_absent, write_error, writing
from weighbridge.store.incoming import Incoming
from weighbridge.store.layout import (
    EVENTS_FILE,
    RUN_FILE,
    SAMPLES,
    STEPS,
    decode_run,
    encode_run,
    is_run_id,
    run_folder,
)
from weighbridge.store.spool import Spool

# Another process that lost the race may remove the empty run folder between our two calls.
_MOVE_ATTEMPTS: Final = 100


class RunWriter:
    """Collects the rows and events of one run. Leaving the ``with`` block without ``close`` abandons it."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self._root = root
        self._durable = durable
        self._incoming: Incoming | None = Incoming(root)
        folder = self._incoming.folder
        self._part = folder / "part"
        with writing(self._part):
            self._part.mkdir()
        self._steps = Spool(STEPS, STEP_COLUMNS, folder, self._part)
        self._samples = Spool(SAMPLES, SAMPLE_COLUMNS, folder, self._part)
        self._events = EventFacts()

    def steps(self, columns: Columns, rows: int) -> None:
        """Add rows of the steps table; an absent column is unknown, an absent phase is training."""
        self._steps.add(columns, rows)

    def samples(self, columns: Columns, rows: int) -> None:
        self._samples.add(columns, rows)

    def events(self, events: Sequence[Event]) -> None:
        import msgspec

        path = self._part / EVENTS_FILE
        with writing(path), path.open("ab") as file:
            for event in events:
                file.write(msgspec.json.encode(event) + b"\n")
        self._events.see(events)

    def close(self, run: Run) -> tuple[Run, bool]:
        """Store the run. Returns (final run, True), or (the stored run, False) when its id is taken.

        Fills in what the rows say: counts, segments, repeated steps, begin and end, and what can be answered.
        """
        if self._incoming is None:
            raise ValueError("this writer is closed")
        try:
            return self._close(run, self._incoming)
        except OSError as error:
            raise write_error(error, Path(error.filename or self._root)) from error
        finally:
            self.abandon()

    def _close(self, run: Run, incoming: Incoming) -> tuple[Run, bool]:
        if not is_run_id(run.id):
            raise InputError("store.bad_run_id", text=run.id)
        folder = run_folder(self._root, run.id)
        if (folder / RUN_FILE).exists():
            return stored_run(folder), False
        with connect(incoming.folder / "duckdb", threads=1) as connection:
            self._steps.finish(connection)
            self._samples.finish(connection)
            final = complete(self._with_problems(run), self._events, connection, self._part)
        draft = incoming.folder / RUN_FILE
        draft.write_bytes(encode_run(final, [incoming.name]))
        incoming.closes_into(run.id)
        self._move_part(folder, incoming.name)
        if self._durable:
            flush(draft)
        if not put_if_absent(draft, folder / RUN_FILE):
            return stored_run(folder), False
        if self._durable:
            flush(folder)
        return final, True

    def _with_problems(self, run: Run) -> Run:
        unusable = self._steps.unusable + self._samples.unusable
        if not unusable:
            return run
        return replace(run, problems=(*run.problems, Problem(code="store.unusable_values", count=unusable)))

    def _move_part(self, folder: Path, name: str) -> None:
        if self._durable:
            for path in (*self._part.iterdir(), self._part):
                flush(path)
        for attempt in range(_MOVE_ATTEMPTS):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self._part.rename(folder / f"part={name}")
            except FileNotFoundError:
                if attempt + 1 == _MOVE_ATTEMPTS:
                    raise
            else:
                return

    def abandon(self) -> None:
        """Remove everything that is not part of a closed run. Does nothing after ``close``."""
        if self._incoming is not None:
            self._incoming.discard()
            self._incoming = None

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abandon()


def stored_run(folder: Path) -> Run:
    """The Run of a closed folder. Raises WorkspaceError when it is damaged or of a newer version."""
    path = folder / RUN_FILE
    try:
        return decode_run(path.read_bytes(), folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkspaceError("store.damaged_run", path=str(path), reason=reason) from error
    except InputError as error:
        raise WorkspaceError("store.damaged_run", path=str(path), reason=str(error)) from error
