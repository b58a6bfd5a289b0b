"""JSON logs of MMCV 0.x/1.x (``*.log.json``) and MMEngine 1.x (``vis_data/*.json``): one record per line.

MMCV writes what the run is (environment, configuration) into the first line and "mode" into every record;
MMEngine writes neither. ``iter`` runs on through the run in MMEngine and in MMCV's iteration-based runner; in
MMCV's epoch-based runner it begins again in every epoch. Records do not say which: it is per epoch once an
epoch went up and ``iter`` did not. An epoch is then taken to be as long as the largest ``iter`` seen, which
may be up to one logging interval short, and ``step`` counts from the first epoch in the file. Figures mean
what they mean in the text log (``mmengine_text``). There is no clock. An evaluation is one record, and where
it holds times they become one row, the mean of the whole pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from weighbridge.readers.base import Piece, RunStart
from weighbridge.readers.json_lines import FLUSH_EVERY, count, number, records, surest
from weighbridge.readers.openmmlab_story import Story
from weighbridge.readers.openmmlab_windows import Group
from weighbridge.readers.tally import Troubles
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.units import MIB

Record = dict[str, Any]


class MmengineJson:
    """See the module."""

    name = "mmengine_json"
    title = "MMEngine / MMCV JSON log"
    looks_for = "readers.mmengine_json.looks_for"
    counts = "readers.mmengine_json.counts"
    answers: tuple[Answerable, ...] = ("step_time", "data_wait", "compute", "allocated_memory")
    example = (
        '{"mode": "train", "epoch": 1, "iter": 50, "lr": 0.01, "memory": 7012, "data_time": 0.031, '
        '"loss": 1.2345, "time": 0.44}'
    )

    def sniff(self, head: Head) -> float:
        if head.binary or not head.data.lstrip().startswith(b"{"):
            return 0.0
        return surest(head, _sureness)

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        for taken, (number_, record) in enumerate(records(lines, log.troubles), 1):
            yield from log.take(number_, record)
            if taken % FLUSH_EVERY == 0:
                yield from log.story.flush()
        yield from log.story.finish_run()
        yield from lines.problems
        yield from log.troubles.problems()


def _sureness(record: Record) -> float:
    if _is_banner(record):
        return 0.9
    if record.get("mode") in ("train", "val") and "iter" in record:
        return 0.95
    timed = _has(record, "time") and _has(record, "data_time")
    if timed and "iter" in record and "step" in record:
        return 0.95
    return 0.55 if timed and "iteration" not in record else 0.0


def _is_banner(record: Record) -> bool:
    return "iter" not in record and ("env_info" in record or ("config" in record and "seed" in record))


def _has(record: Record, key: str) -> bool:
    return any(prefix + key in record for prefix in ("", "train/", "val/", "test/"))


def _get(record: Record, key: str) -> Any:
    """The value of a key; with ``log_with_hierarchy`` MMEngine puts the phase before it."""
    if key in record:
        return record[key]
    return next((record[p + key] for p in ("train/", "val/", "test/") if p + key in record), None)


class _Log:
    """One file being read."""

    def __init__(self) -> None:
        self.story = Story()
        self.troubles = Troubles()
        self._epoch: int | None = None
        self._first_epoch: int | None = None
        self._iteration: int | None = None
        # None until an epoch has ended; the length is the largest iteration seen in one.
        self._per_epoch: bool | None = None
        self._epoch_length = 0

    def take(self, line: int, record: Record) -> Iterator[Piece]:
        if _is_banner(record):
            self._banner(line, record)
            return
        mode = record.get("mode")
        seconds = number(_get(record, "time"))
        counted = mode == "train" or "iter" in record or any(key.endswith("lr") for key in record)
        if mode == "train" or (mode is None and counted):
            if seconds is not None or any("loss" in key for key in record):
                yield from self._train(line, record, seconds)
            else:
                self._evaluated(line, record)
        elif mode in ("val", "test") or (mode is None and seconds is not None):
            if seconds is not None:
                self.story.windows.add_evaluation_mean(line, seconds, number(_get(record, "data_time")))
            self._evaluated(line, record)

    def _evaluated(self, line: int, record: Record) -> None:
        epoch = count(record.get("epoch"))
        self.story.evaluated(line, None, self._epoch if epoch is None else epoch)

    def _train(self, line: int, record: Record, seconds: float | None) -> Iterator[Piece]:
        iteration = count(record.get("iter", record.get("step")))
        if not iteration:
            return
        epoch = count(record.get("epoch"))
        if "mode" in record and epoch is not None:
            self._find_numbering(epoch, iteration)
        memory = number(record.get("memory"))
        group = Group(
            iterations=[iteration],
            at_seconds=[None],
            step_seconds=[seconds],
            data_wait_seconds=[number(_get(record, "data_time"))],
            allocated_bytes=[None if memory is None else memory * MIB],
            lines=[line],
            epoch=epoch,
        )
        if self._per_epoch and epoch is not None:
            before = epoch - (epoch if self._first_epoch is None else self._first_epoch)
            group.scope, group.before = epoch, max(before, 0) * self._epoch_length
        if self._first_epoch is None:
            self._first_epoch = epoch
        for piece in self.story.train(group):
            if isinstance(piece, RunStart):
                self._first_epoch = epoch
            yield piece
        framework = "mmcv" if "mode" in record else "mmengine"
        self.story.header.values.setdefault("environment.framework", framework)
        self._epoch, self._iteration = epoch, iteration

    def _find_numbering(self, epoch: int, iteration: int) -> None:
        """See the module: whether iterations are counted within the epoch."""
        if self._per_epoch:
            self._epoch_length = max(self._epoch_length, iteration)
        elif self._per_epoch is None and self._epoch is not None and epoch > self._epoch:
            self._per_epoch = iteration <= (self._iteration or 0)
            if self._per_epoch:
                self._epoch_length = self._iteration or 0

    def _banner(self, line: int, record: Record) -> None:
        self.story.banner(line)
        header = self.story.before(None)
        for key in ("env_info", "config"):
            if isinstance(record.get(key), str):
                header.text(record[key])
        if isinstance(record.get("exp_name"), str):
            header.values["name"] = record["exp_name"]
        for key, value in record.items():
            if key.startswith("mm") and key.endswith("_version") and isinstance(value, str):
                header.values["details.codebase"] = f"{key.removesuffix('_version')} {value}"
