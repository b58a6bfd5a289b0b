"""Import files into a workspace: sniff, read, join sample files by clock, close, report.

One file that fails does not stop the others. A run becomes visible only when it is complete; a file that was
imported before is recognised by its content and not stored twice.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from weighbridge.errors import NothingToRead, WeighbridgeError
from weighbridge.readers.base import Reader, Samples
from weighbridge.readers.collect import PendingRun, collect
from weighbridge.readers.join import Span, find_offset, sample_span
from weighbridge.readers.sniff import choose_reader
from weighbridge.readers.text import read_head
from weighbridge.schema.import_report import ImportedFile, ImportReport
from weighbridge.schema.run import Run, Scalar, Source
from weighbridge.store import Workspace

# A folder walk stops here: a data set is no folder of logs.
MAXIMUM_FILES = 10_000
SLUG_CHARACTERS = 40

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Input:
    """A file to import; ``name`` is what reports call it; ``walked`` files may be no logs at all."""

    path: Path
    name: str
    walked: bool = False


@dataclass(slots=True)
class _Opened:
    """A file that a reader was found for."""

    input: Input
    reader: Reader
    source: Source
    pending: list[PendingRun] = field(default_factory=list)


class _HashingStream(io.RawIOBase):
    """Hash and count what the reader takes, so that a file is read once."""

    def __init__(self, stream: BinaryIO, name: str, total: int, progress: Progress | None) -> None:
        self._stream = stream
        self._name = name
        self._total = total
        self._progress = progress
        self._hash = hashlib.sha256()
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._hash.update(data)
        self.bytes += len(data)
        if self._progress is not None:
            self._progress(self._name, self.bytes, self._total)
        return data

    def digest(self) -> str:
        """The hash of the whole file, whether the reader took all of it or not."""
        while self.read(1 << 20):
            pass
        return self._hash.hexdigest()


def expand(paths: Sequence[Path]) -> tuple[list[Input], int]:
    """Files of the paths given; folders are walked (no links, no hidden names). Also how many were left out.

    Raises NothingToRead for a path that is not there or is neither file nor folder.
    """
    found: list[Input] = []
    left_out = 0
    for path in paths:
        if path.is_dir():
            for file in _walk(path):
                if len(found) >= MAXIMUM_FILES:
                    left_out += 1
                else:
                    found.append(Input(file, str(file.relative_to(path.parent)), walked=True))
        elif path.is_file():
            found.append(Input(path, path.name))
        elif path.exists():
            raise NothingToRead("readers.not_a_file", name=str(path))
        else:
            raise NothingToRead("readers.no_such_file", name=str(path))
    return found, left_out


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(root, name)
            if not name.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def import_files(
    inputs: Sequence[Input],
    workspace: Workspace,
    readers: Sequence[Reader],
    *,
    keep_sources: bool = True,
    asked_format: str | None = None,
    skipped_files: int = 0,
    progress: Progress | None = None,
) -> ImportReport:
    """Import every file; runs stand in the order of the files. Raises only for a broken workspace."""
    session = _Session(workspace, readers, keep_sources, asked_format, progress)
    session.read(inputs)
    session.join()
    session.close()
    return ImportReport(
        files=tuple(session.reports[item.name] for item in inputs if item.name in session.reports),
        runs=tuple(session.runs),
        workspace=str(workspace.root),
        skipped_files=skipped_files + session.unrecognised,
    )


class _Session:
    """One import: files read, samples waiting for a run, and what is said of each file."""

    def __init__(
        self,
        workspace: Workspace,
        readers: Sequence[Reader],
        keep_sources: bool,
        asked_format: str | None,
        progress: Progress | None,
    ) -> None:
        self.workspace = workspace
        self.readers = readers
        self.keep_sources = keep_sources
        self.asked_format = asked_format
        self.progress = progress
        self.training: list[_Opened] = []
        self.sampled: list[_Opened] = []
        self.reports: dict[str, ImportedFile] = {}
        self.runs: list[Run] = []
        self.unrecognised = 0

    def read(self, inputs: Sequence[Input]) -> None:
        try:
            for item in inputs:
                self._read_one(item)
        except BaseException:
            for opened in self.training + self.sampled:
                for pending in opened.pending:
                    pending.writer.abandon()
            raise

    def _read_one(self, item: Input) -> None:
        try:
            opened = self._open(item)
        except WeighbridgeError as error:
            if item.walked:
                self.unrecognised += 1
            else:
                self._fail(item, "unknown", error.code, **_scalars(error.params))
            return
        except OSError as error:
            self._fail(item, "failed", "readers.cannot_read", name=item.name, reason=str(error.strerror or error))
            return
        if not opened.pending:
            self._fail(
                item, "failed", "readers.no_records", reader=opened.reader, name=item.name, title=opened.reader.title
            )
            return
        (self.sampled if _only_samples(opened.reader) else self.training).append(opened)

    def _open(self, item: Input) -> _Opened:
        with item.path.open("rb") as stream:
            reader = choose_reader(read_head(stream, item.name), self.readers, self.asked_format)
            stream.seek(0)
            size = item.path.stat().st_size
            hashing = _HashingStream(stream, item.name, size, self.progress)
            pending = self._collect(item, reader, hashing)
            digest = hashing.digest()
        source = Source(name=item.name, reader=reader.name, bytes=hashing.bytes, sha256=digest)
        for run in pending:
            run.sources[0] = source
        return _Opened(item, reader, source, pending)

    def _collect(self, item: Input, reader: Reader, stream: BinaryIO | _HashingStream) -> list[PendingRun]:
        source = Source(name=item.name, reader=reader.name)
        # The stream has the one method that readers use; RawIOBase is not BinaryIO for the type checker.
        return collect(reader.read(stream, item.name), self.workspace, source)  # type: ignore[arg-type]

    def _fail(
        self, item: Input, state: str, code: str, reader: Reader | None = None, **params: Scalar
    ) -> None:
        self.reports[item.name] = ImportedFile(
            name=item.name,
            state="unknown" if state == "unknown" else "failed",
            reader=reader.name if reader else None,
            reason=code,
            params=params,
        )

    def join(self) -> None:
        """Give each sample file to the training run it overlaps; what fits none stays a run of its own."""
        targets = [run for opened in self.training for run in opened.pending]
        for opened in self.sampled:
            note = self._join_one(opened, targets) if targets else None
            if note is None:
                self.training.append(opened)
            elif note != "joined":
                self.training.append(opened)
                opened.pending[0].facts["details.not_joined"] = note

    def _join_one(self, opened: _Opened, targets: Sequence[PendingRun]) -> str | None:
        with opened.input.path.open("rb") as stream:
            span = sample_span(opened.reader.read(stream, opened.input.name))
        fitting = []
        for target in targets:
            if target.first_at is None or target.last_at is None or span is None:
                continue
            run = Span(target.first_at, target.last_at, target.first_at, target.clock)
            offset = find_offset(run, span)
            if offset is not None:
                fitting.append((run.overlap(span, offset), offset, target))
        if not fitting:
            known = span is not None and any(target.first_at is not None for target in targets)
            return "readers.clocks_do_not_meet" if known else "readers.no_common_clock"
        _, offset, target = max(fitting, key=lambda item: item[0])
        self._append(opened, target, offset)
        return "joined"

    def _append(self, opened: _Opened, target: PendingRun, offset: float) -> None:
        index = len(target.sources)
        target.sources.append(
            Source(
                name=opened.source.name,
                reader=opened.source.reader,
                bytes=opened.source.bytes,
                sha256=opened.source.sha256,
                clock_offset_seconds=offset,
            )
        )
        with opened.input.path.open("rb") as stream:
            for piece in opened.reader.read(stream, opened.input.name):
                if isinstance(piece, Samples):
                    target.add_samples(piece, index, offset)
        for pending in opened.pending:
            for key, value in pending.facts.items():
                if key.startswith("hardware."):
                    target.facts.setdefault(key, value)
            pending.writer.abandon()
        self.reports[opened.input.name] = ImportedFile(
            name=opened.input.name,
            state="joined",
            reader=opened.reader.name,
            reason="readers.joined_by_clock",
            params={"offset": offset, "name": target.sources[0].name},
        )

    def close(self) -> None:
        for opened in self.training:
            self._close_one(opened)
        for run in self.runs:
            for source in run.sources[1:]:
                report = self.reports.get(source.name)
                if report is not None and report.state == "joined":
                    self.reports[source.name] = _with_run(report, run.id)

    def _close_one(self, opened: _Opened) -> None:
        stored: list[Run] = []
        fresh = False
        for number, pending in enumerate(opened.pending):
            if self.keep_sources:
                pending.sources = [self._keep(source, opened) for source in pending.sources]
            run = pending.run(_run_id(pending.sources, number))
            closed, new = pending.writer.close(run)
            stored.append(closed)
            fresh = fresh or new
        self.runs.extend(stored)
        note = opened.pending[0].facts.get("details.not_joined")
        self.reports[opened.input.name] = ImportedFile(
            name=opened.input.name,
            state="imported" if fresh else "already_there",
            reader=opened.reader.name,
            runs=tuple(run.id for run in stored),
            reason=str(note) if note else None,
            problems=tuple(problem for pending in opened.pending for problem in pending.problems),
        )

    def _keep(self, source: Source, opened: _Opened) -> Source:
        path = opened.input.path
        for other in self.sampled:
            if other.source.name == source.name:
                path = other.input.path
        self.workspace.keep_source(path)
        return Source(
            name=source.name,
            reader=source.reader,
            bytes=source.bytes,
            sha256=source.sha256,
            kept=True,
            clock_offset_seconds=source.clock_offset_seconds,
        )


def _only_samples(reader: Reader) -> bool:
    return "gpu_busy" in reader.answers and "step_time" not in reader.answers


def _with_run(report: ImportedFile, run_id: str) -> ImportedFile:
    return ImportedFile(
        name=report.name,
        state=report.state,
        reader=report.reader,
        runs=(*report.runs, run_id),
        reason=report.reason,
        params=report.params,
    )


def _scalars(params: dict[str, object]) -> dict[str, Scalar]:
    return {
        key: value if isinstance(value, str | int | float | bool) or value is None else str(value)
        for key, value in params.items()
    }


def _run_id(sources: Sequence[Source], number: int) -> str:
    """Name and content: the same files give the same id, so importing twice stores once."""
    digest = hashlib.sha256("".join(source.sha256 or "" for source in sources).encode()).hexdigest()
    stem = Path(sources[0].name).stem
    slug = re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:SLUG_CHARACTERS] or "run"
    return f"{slug}-{digest[:8]}" + (f"-{number + 1}" if number else "")
