"""Read Ultralytics' results.csv (YOLOv5, v8, v9, 11, 12, RT-DETR) and the older headerless results.txt.

One record is an epoch. The CSV's ``time`` column (ultralytics 8.2 and later) counts seconds since the start
of the training process, validation included: an epoch's wall time is the difference, and a resumed run
counts from zero again. Older files have no time column and say nothing about time. results.txt (YOLOv3, v4,
v5 before 2021, v7, YOLOR) prints ``torch.cuda.memory_reserved() / 1E9`` with a G: 10**9 bytes, reserved by
the caching allocator on the first GPU at the end of the epoch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from weighbridge.readers.assemble import Assembler
from weighbridge.readers.base import Piece
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import TRAIN
from weighbridge.schema.event import Event
from weighbridge.units import GB

_TEXT_ROW = re.compile(
    rb"^\s*(\d{1,9})/(\d{1,9})\s+(\d{1,15}(?:\.\d{1,15})?(?:e[-+]?\d\d?)?)G\s([-+.\d\s aefin]{20,})$"
)
# Six losses and sizes and seven metrics; a console line has fewer and ends in a progress bar.
_TEXT_NUMBERS: Final = 9
# Columns that only Ultralytics' trainers write, beside "epoch" as the first one.
_OWN_COLUMNS: Final = (
    b"lr/pg0",
    b"x/lr0",
    b"metrics/precision",
    b"metrics/mAP",
    b"metrics/accuracy_top1",
    b"train/box_loss",
)
_COLUMNS: Final = ("phase", "epoch", "elapsed_seconds", "reserved_bytes", "line")


class UltralyticsCsv:
    """The reader of results.csv and results.txt."""

    name = "ultralytics_csv"
    title = "Ultralytics results.csv"
    looks_for = "readers.ultralytics_csv.looks_for"
    counts = "readers.ultralytics_csv.counts"
    answers: tuple[Answerable, ...] = ("run_time", "epoch_time", "reserved_memory")
    example = (
        "epoch,time,train/box_loss,train/cls_loss,...,lr/pg0 / 1,38.7726,1.92084,2.57206,...,0.000662037"
    )

    def sniff(self, head: Head) -> float:
        for line in head.data.splitlines(keepends=True)[:50]:
            if not line.strip():
                continue
            if _text_row(line):
                return 0.92
            cells = _cells(line)
            if cells[0] != b"epoch" or b"step" in cells:
                return 0.0
            if any(cell.startswith(_OWN_COLUMNS) for cell in cells):
                return 0.95
            return 0.6 if any(cell.startswith((b"train/", b"metrics/", b"val/")) for cell in cells) else 0.0
        return 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        table = _Table()
        for number, line in lines:
            if match := _text_row(line):
                yield from table.text_row(number, match)
            elif line.strip():
                yield from table.csv_line(number, line)
            if table.out.full:
                yield from table.out.drain()
        yield from table.finish()
        yield from lines.problems


class _Table:
    """What is known while the rows go by."""

    def __init__(self) -> None:
        self.out = Assembler(_COLUMNS, always={"environment.framework": "ultralytics"})
        self.header: list[bytes] | None = None
        self.first_epoch: int | None = None
        self.last_epoch: int | None = None
        self.last_time: float | None = None
        self.closed_seconds = 0.0
        self.has_nan = False

    def csv_line(self, number: int, line: bytes) -> Iterator[Piece]:
        cells = _cells(line)
        if cells[0] == b"epoch":
            self.header = cells
            self.out.banner["details.columns"] = len(cells)
            self.out.banner["details.header_padded"] = line.startswith(b" ")
            return
        epoch = _whole(cells[0])
        if self.header is None or epoch is None or len(cells) > len(self.header) or len(cells) < 2:
            self.out.troubles.add("readers.ultralytics_csv.unreadable_row", number)
            return
        if len(cells) < len(self.header):
            self.out.troubles.add("readers.ultralytics_csv.cut_row", number)
            cells = cells if line.endswith(b"\n") else cells[:-1]
        time = _at(cells, self.header, b"time")
        yield from self._row(number, epoch, time, None)
        if any(cell in (b"nan", b"-nan", b"NaN") for cell in cells):
            self.has_nan = True

    def text_row(self, number: int, match: re.Match[bytes]) -> Iterator[Piece]:
        yield from self._row(number, int(match[1]), None, float(match[3]) * GB)
        self.out.facts["planned.epochs"] = int(match[2]) + 1
        if b"nan" in match[4]:
            self.has_nan = True

    def _row(self, number: int, epoch: int, time: float | None, reserved: float | None) -> Iterator[Piece]:
        back = self.last_epoch is not None and epoch <= self.last_epoch
        if back and self.first_epoch is not None and epoch <= self.first_epoch:
            yield from self._new_run(number)
            back = False
        self.out.commit()
        time_back = time is not None and self.last_time is not None and time < self.last_time
        if back or time_back:
            self._restart(number, epoch)
        if time is not None:
            self._epoch_event(number, epoch, time, restarted=back or time_back)
            self.last_time = time
        self.first_epoch = epoch if self.first_epoch is None else self.first_epoch
        self.last_epoch = epoch
        self.out.rows.append(
            (TRAIN, epoch, time, None if reserved is None else float(round(reserved)), number)
        )

    def _epoch_event(self, number: int, epoch: int, time: float, *, restarted: bool) -> None:
        if self.last_time is not None:
            seconds: float | None = time - self.last_time
        else:
            # Since the process began: one epoch, unless the file lost its beginning.
            seconds = time if epoch <= 1 or restarted else None
        self.out.events.append(
            Event(kind="epoch", epoch=epoch, seconds=seconds, elapsed_seconds=time, line=number)
        )

    def _restart(self, number: int, epoch: int) -> None:
        """The trainer was started again: its clock counts from zero."""
        self.closed_seconds += self.last_time or 0.0
        self.last_time = None
        self.out.events.append(Event(kind="restart", epoch=epoch, line=number))

    def _close_run(self) -> None:
        if self.last_time is not None:
            self.out.facts["stated_seconds"] = self.closed_seconds + self.last_time
        self.out.facts["details.has_nan"] = self.has_nan

    def _new_run(self, number: int) -> Iterator[Piece]:
        self._close_run()
        shape = {key: value for key, value in self.out.facts.items() if key.startswith("details.")}
        yield from self.out.start_run(number)
        self.out.facts |= shape
        self.first_epoch = self.last_epoch = self.last_time = None
        self.closed_seconds, self.has_nan = 0.0, False

    def finish(self) -> Iterator[Piece]:
        self._close_run()
        yield from self.out.finish()


def _text_row(line: bytes) -> re.Match[bytes] | None:
    match = _TEXT_ROW.match(line)
    return match if match and len(match[4].split()) >= _TEXT_NUMBERS else None


def _cells(line: bytes) -> list[bytes]:
    return [cell.strip() for cell in line.split(b",")]


def _whole(cell: bytes) -> int | None:
    return int(cell) if cell.isdigit() and len(cell) < 10 else None


def _at(cells: list[bytes], header: list[bytes], name: bytes) -> float | None:
    """The number in a column, or None where there is no such column, cell or number."""
    index = header.index(name) if name in header else len(cells)
    if index >= len(cells):
        return None
    try:
        number = float(cells[index])
    except ValueError:
        return None
    return number if math.isfinite(number) else None
