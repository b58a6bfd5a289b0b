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
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from weighbridge.errors import InputError, NothingToRead, UnknownFormat, WeighbridgeError, WorkspaceError
from weighbridge.readers.base import Facts, Reader, Samples
from weighbridge.readers.collect import PendingRun, collect
from weighbridge.readers.join import Span, find_offset, same_gpu, sample_span, within
from weighbridge.readers.sniff import choose_reader
from weighbridge.readers.text import read_head
from weighbridge.schema.import_report import FileState, ImportedFile, ImportReport
from weighbridge.schema.run import Problem, Run, Scalar, Source
from weighbridge.store import Workspace

# A folder walk stops here: a data set is no folder of logs.
MAXIMUM_FILES = 10_000
SLUG_CHARACTERS = 40
DIGEST_BLOCK_BYTES = 1 << 20
# Samples this long before the first and after the last training row still belong to the run.
JOIN_MARGIN_SECONDS = 60.0

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Input:
    """A file to import; ``name`` is what reports call it; ``walked`` files may be no logs at all."""

    path: Path
    name: str
    walked: bool = False


@dataclass(slots=True)
class _SampleFile:
    """A file of samples: when it was taken, and which runs it went into."""

    input: Input
    reader: Reader
    span: Span | None
    offset: float | None = None
    other_gpu: bool = False
    targets: list[PendingRun] = field(default_factory=list)
    joined_to: list[str] = field(default_factory=list)


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
        while self.read(DIGEST_BLOCK_BYTES):
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
    session.run(inputs)
    return ImportReport(
        files=tuple(session.reports[item.path] for item in inputs if item.path in session.reports),
        runs=tuple(session.runs),
        workspace=str(workspace.root),
        skipped_files=skipped_files + session.unrecognised,
    )


class _Session:
    """One import: sample files are only measured first, then each log is read, joined and closed in turn."""

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
        self.reports: dict[Path, ImportedFile] = {}
        self.runs: list[Run] = []
        self.unrecognised = 0
        # A file of a thousand runs is kept once.
        self.kept: dict[Path, str] = {}

    def run(self, inputs: Sequence[Input]) -> None:
        chosen = [(item, reader) for item in inputs if (reader := self._guarded(item, self._choose))]
        samples = [
            sample
            for item, reader in chosen
            if _only_samples(reader)
            and (sample := self._guarded(item, partial(self._measure, reader=reader)))
        ]
        logs = [(item, reader) for item, reader in chosen if not _only_samples(reader)]
        for item, reader in logs:
            self._guarded(item, partial(self._import_log, reader=reader, samples=samples))
        for sample in samples:
            if not sample.joined_to:
                self._guarded(
                    sample.input, partial(self._import_alone, sample=sample, beside_logs=bool(logs))
                )

    def _guarded(self, item: Input, action: Callable[[Input], Result]) -> Result | None:
        """Do one thing for one file; what goes wrong with the file is said and the next file goes on."""
        try:
            return action(item)
        except WorkspaceError:
            raise
        except WeighbridgeError as error:
            if item.walked and isinstance(error, UnknownFormat | NothingToRead):
                self.unrecognised += 1
            else:
                self._fail(
                    item, error.code, unknown=isinstance(error, UnknownFormat), **_scalars(error.params)
                )
        except OSError as error:
            self._fail(item, "readers.cannot_read", name=item.name, reason=str(error.strerror or error))
        return None

    def _fail(self, item: Input, code: str, *, unknown: bool = False, **params: Scalar) -> None:
        state: FileState = "unknown" if unknown else "failed"
        self.reports[item.path] = ImportedFile(name=item.name, state=state, reason=code, params=params)

    def _choose(self, item: Input) -> Reader:
        with item.path.open("rb") as stream:
            return choose_reader(read_head(stream, item.name), self.readers, self.asked_format)

    def _measure(self, item: Input, *, reader: Reader) -> _SampleFile:
        with item.path.open("rb") as stream:
            span = sample_span(reader.read(stream, item.name))
        return _SampleFile(item, reader, span)

    def _import_log(self, item: Input, *, reader: Reader, samples: Sequence[_SampleFile]) -> None:
        pending = self._collect(item, reader)
        try:
            # sum, not any: a sample file may cover several runs of one log.
            joined = [sample for sample in samples if sum(self._join(run, sample) for run in pending)]
            self._close(item, reader, pending, None, joined)
        except BaseException:
            for run in pending:
                run.writer.abandon()
            raise

    def _import_alone(self, item: Input, *, sample: _SampleFile, beside_logs: bool) -> None:
        note = None
        if beside_logs:
            note = "readers.clocks_do_not_meet" if sample.span else "readers.no_common_clock"
            note = "readers.other_gpu" if sample.other_gpu else note
        self._close(item, sample.reader, self._collect(item, sample.reader), note, [])

    def _collect(self, item: Input, reader: Reader) -> list[PendingRun]:
        source = Source(name=item.name, reader=reader.name)
        with item.path.open("rb") as stream:
            hashing = _HashingStream(stream, item.name, item.path.stat().st_size, self.progress)
            try:
                # The stream has the one method that readers use; RawIOBase is not BinaryIO to the checker.
                pending = collect(reader.read(hashing, item.name), self.workspace, source)  # type: ignore[arg-type]
            except (WeighbridgeError, OSError):
                raise
            except Exception as error:
                # A reader is a plug-in: its mistake must cost one file, not the import.
                raise InputError(
                    "readers.reader_failed", name=item.name, reader=reader.name, reason=repr(error)
                ) from error
            source = replace(source, sha256=hashing.digest(), bytes=hashing.bytes)
        if not pending:
            raise NothingToRead("readers.no_records", name=item.name, title=reader.title)
        for run in pending:
            run.sources[0] = source
        return pending

    def _join(self, run: PendingRun, sample: _SampleFile) -> bool:
        """Add to the run the rows of a sample file that overlaps it."""
        if sample.span is None or run.first_at is None or run.last_at is None:
            return False
        year_known = not run.facts.get("details.clock_without_year")
        span = Span(run.first_at, run.last_at, run.first_at, run.clock, year_known)
        offset = find_offset(span, sample.span)
        if offset is None:
            return False
        gpu_name = run.facts.get("hardware.gpu_name")
        if not same_gpu(str(gpu_name) if gpu_name else None, sample.span.gpu_name):
            sample.other_gpu = True
            return False
        self._append(run, sample, offset)
        return True

    def _append(self, run: PendingRun, sample: _SampleFile, offset: float) -> None:
        index = len(run.sources)
        begin = (run.first_at or 0.0) - JOIN_MARGIN_SECONDS
        end = (run.last_at or 0.0) + JOIN_MARGIN_SECONDS
        with sample.input.path.open("rb") as stream:
            hashing = _HashingStream(stream, sample.input.name, 0, None)
            for piece in sample.reader.read(hashing, sample.input.name):  # type: ignore[arg-type]
                if isinstance(piece, Samples):
                    taken = _on_host(within(piece, begin - offset, end - offset), sample.input)
                    run.add_samples(taken, index, offset)
                elif isinstance(piece, Facts):
                    for key, value in piece.values.items():
                        if key.startswith("hardware.") and value is not None:
                            run.facts.setdefault(key, value)
            digest = hashing.digest()
        run.sources.append(
            Source(
                name=sample.input.name,
                reader=sample.reader.name,
                bytes=hashing.bytes,
                sha256=digest,
                clock_offset_seconds=offset,
            )
        )
        run.paths.append(sample.input.path)
        sample.targets.append(run)
        sample.offset = offset

    def _close(
        self,
        item: Input,
        reader: Reader,
        pending: Sequence[PendingRun],
        note: str | None,
        joined: Sequence[_SampleFile],
    ) -> None:
        stored: list[Run] = []
        fresh = False
        for number, run in enumerate(pending):
            if self.keep_sources:
                self._keep(run, item)
            closed, new = run.writer.close(run.run(_run_id(run.sources, number)))
            stored.append(closed)
            fresh = fresh or new
        self.runs.extend(stored)
        self.reports[item.path] = ImportedFile(
            name=item.name,
            state="imported" if fresh else "already_there",
            reader=reader.name,
            runs=tuple(run.id for run in stored),
            reason=note,
            params={"name": item.name},
            problems=tuple(problem for run in pending for problem in run.problems),
        )
        for sample in joined:
            sample.joined_to += [
                run.id
                for run, target in zip(stored, pending, strict=True)
                if any(target is one for one in sample.targets)
            ]
            self._report_join(sample)

    def _report_join(self, sample: _SampleFile) -> None:
        self.reports[sample.input.path] = ImportedFile(
            name=sample.input.name,
            state="joined",
            reader=sample.reader.name,
            runs=tuple(sample.joined_to),
            reason="readers.joined_by_clock" if sample.offset else "readers.joined",
            params={"name": sample.input.name, "offset": sample.offset, "runs": len(sample.joined_to)},
        )

    def _keep(self, run: PendingRun, item: Input) -> None:
        """Keep the files the run was read from; one that changed since is not what was read, and is told."""
        for index, (source, path) in enumerate(zip(run.sources, [item.path, *run.paths], strict=True)):
            if path not in self.kept:
                self.kept[path], _ = self.workspace.keep_source(path)
            digest = self.kept[path]
            run.sources[index] = replace(source, kept=digest == source.sha256)
            if digest != source.sha256:
                run.note(Problem(code="readers.changed_meanwhile", source=index))


def _on_host(piece: Samples, item: Input) -> Samples:
    """Name the file as the host where the samples name none: two files of GPU 0 are two GPUs."""
    hosts = piece.columns.get("host")
    if hosts is not None and any(host is not None for host in hosts):
        return piece
    return Samples({**piece.columns, "host": [item.name] * piece.rows}, piece.rows)


def _only_samples(reader: Reader) -> bool:
    return "gpu_busy" in reader.answers and "step_time" not in reader.answers


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
