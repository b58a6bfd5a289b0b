"""Text logs of MMEngine 1.x and MMCV 0.x/1.x: MMDetection, MMSegmentation, MMPretrain, MMPose and kin.

A row is one line "Epoch(train) [1][50/3505] ... time: ... data_time: ..." (older: "Epoch [1][50/3505]",
"Iter [50/80000]"). ``time`` is the mean of one iteration over the logging window and includes ``data_time``;
MMEngine averages over its smoothing window (``details.mean_over_iterations`` where the log states it), which
may be shorter than the interval between two lines. ``memory`` is torch's max_memory_allocated in MiB, reset
at every line by MMEngine but not by MMCV. An iteration is a micro-batch where gradients are accumulated.

Lines are read in whole blocks by one pattern; what that pattern does not take in for certain goes line by
line through a slower one that gives the same rows. Does not read the JSON twin (``mmengine_json``).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from weighbridge.readers.base import Piece
from weighbridge.readers.openmmlab_clock import STAMP, RunClock
from weighbridge.readers.openmmlab_story import Story
from weighbridge.readers.openmmlab_table import EVALUATION_BY_KIND, Others, Table, read_table
from weighbridge.readers.openmmlab_windows import Group
from weighbridge.readers.tally import Troubles
from weighbridge.readers.text import Block, Head, blocks, lines_of
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.run import Problem
from weighbridge.units import MIB

# Before the iteration: "Epoch(train) [1][", "Epoch [1][", "Epoch(test) [", "Iter [", "Iter(val) [".
_SCOPE: Final = (
    rb"(?:Epoch(?:\(([a-z]+)\))? *\[ *(\d{1,9})\]\[ *|(?:Epoch\(([a-z]+)\)|Iter(?:\(([a-z]+)\))?) *\[ *)"
)
_PROGRESS: Final = re.compile(rb"%s(\d{1,9})(?:/(\d{1,9}))?\](?!\[)" % _SCOPE)
_NUMBER: Final = rb"(\d{1,9}(?:\.\d*)?(?:[eE]-\d\d?)?)(?=[,\s])"
_TIME: Final = re.compile(rb"[ \t,]time: %s" % _NUMBER)
_DATA_TIME: Final = re.compile(rb"[ \t,]data_time: %s" % _NUMBER)
_MEMORY: Final = re.compile(rb"[ \t,]memory: (\d{1,9})(?=[,\s])")
_LOSS: Final = re.compile(rb"[ \t,]loss\w*: ")
# A figure that only an evaluation prints.
_METRIC: Final = re.compile(rb"[ \t](?!(?:\w*lr|eta|memory): )[^\s:]+: \S")

# "10/21 11:32:07 - mmengine - INFO - text"
_DASHES_OF_A_LINE: Final = 3

_BANNER: Final = re.compile(rb"System environment:|Environment info:|Start running, host|workflow: \[")
_RESUMED: Final = re.compile(rb"resumed (?:from )?epoch:? \d+, iter:? \d+")
_OUT_OF_MEMORY: Final = re.compile(rb"CUDA out of memory|OutOfMemoryError|CUDA error: out of memory")
# A quick look for whatever matters outside the banner, for the many lines that hold none of it.
_BANNER_WORDS: Final = (b"nvironment", b"Start running", b"workflow", b"resumed")
_WORDS: Final = (*_BANNER_WORDS, b"Epoch", b"Iter", b"Saving checkpoint at ", b"emory")
_EXPERIMENT: Final = b"Exp name: "
_ALL_WORDS: Final = (*_WORDS, _EXPERIMENT)
_MADE_BY: Final = re.compile(rb" - mmengine - INFO - |MMCV: \d|MMEngine: \d|workflow: \[\('train'")


class MmengineText:
    """Reads the text log, be it the file in the work folder or what the terminal showed."""

    name = "mmengine_text"
    title = "MMEngine / MMCV log"
    looks_for = "readers.mmengine_text.looks_for"
    counts = "readers.mmengine_text.counts"
    answers: tuple[Answerable, ...] = (
        "run_time",
        "step_time",
        "data_wait",
        "compute",
        "evaluation_time",
        "allocated_memory",
    )
    example = (
        "03/05 09:15:42 - mmengine - INFO - Epoch(train)  [1][ 50/900]  lr: 1.0000e-02  eta: 2:10:07  "
        "time: 0.4400  data_time: 0.0310  memory: 7012  loss: 1.2345"
    )

    def sniff(self, head: Head) -> float:
        if head.binary:
            return 0.0
        text = head.data
        sure = 0.6 if _MADE_BY.search(text) else 0.0
        for found in _PROGRESS.finditer(text):
            end = text.find(b"\n", found.end())
            rest = text[found.end() : end if end >= 0 else len(text)] + b"\n"
            timed = _TIME.search(rest)
            if timed and (b"data_time: " in rest or b"eta: " in rest):
                return 0.95
            if timed or found[1] or found[3] or found[4]:
                sure = 0.7
        return sure

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        yield from _Log(name).pieces(stream)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What stands before the iteration: train or evaluation, and the epoch where there is one."""

    evaluation: bool
    epoch: int | None

    @staticmethod
    def of(groups: Sequence[bytes | None]) -> _Scope:
        mode = groups[0] or groups[2] or groups[3]
        return _Scope(mode not in (None, b"train"), int(groups[1]) if groups[1] else None)


def _stamps(line: bytes) -> list[re.Match[bytes]]:
    """The stamps of a line: as a rule one, at its beginning, and to look for more is slow."""
    first = STAMP.match(line)
    if first and line.count(b" - ") <= _DASHES_OF_A_LINE:
        return [first]
    return list(STAMP.finditer(line))


def _first_number(pattern: re.Pattern[bytes], text: bytes) -> float | None:
    found = pattern.search(text)
    return float(found[1]) if found else None


class _Log:
    """One file being read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._clock = RunClock()
        self._story = Story()
        self._troubles = Troubles()
        self._problems: list[Problem] = []

    def pieces(self, stream: BinaryIO) -> Iterator[Piece]:
        first = True
        for block in blocks(stream, self._problems):
            if first:
                self._clock.look_for_year(self._name, block.data)
                first = False
            yield from self._block(block)
            if self._clock.seen:
                self._story.extra["clock"] = "local"
                self._story.extra["details.clock_without_year"] = self._clock.year_assumed or None
            yield from self._story.flush()
        yield from self._story.finish_run()
        yield from self._problems
        yield from self._troubles.problems()

    def _block(self, block: Block) -> Iterator[Piece]:
        table = read_table(block)
        if table is not None:
            yield from self._fast(table)
            return
        for number, line in lines_of(block):
            if self._story.before_training or any(word in line for word in _ALL_WORDS):
                yield from self._line(number, line)

    def _fast(self, table: Table) -> Iterator[Piece]:
        """Rows go on together until a line that matters stands between them."""
        clock = self._clock.column(table.stamps)
        begin = 0
        for number, line in self._that_matter(table.others):
            end = bisect_left(table.lines, number, begin)
            yield from self._rows(table, clock, begin, end)
            yield from self._line(number, line)
            begin = end
        yield from self._rows(table, clock, begin, len(table.lines))

    def _that_matter(self, others: Others) -> Iterable[tuple[int, bytes]]:
        if self._story.before_training or others.hold(_BANNER_WORDS):
            return others
        # The experiment's name is repeated every thousand iterations: rows need not stop for it.
        for number, line in others.holding((_EXPERIMENT,)):
            if not ((b"Epoch" in line or b"Iter" in line) and _PROGRESS.search(line)):
                self._name_run(number, line)
        return others.holding(_WORDS)

    def _name_run(self, number: int, line: bytes) -> None:
        name = line.partition(_EXPERIMENT)[2].strip()
        if name:
            self._story.named(number, name.decode("utf-8", "replace"))

    def _rows(self, table: Table, clock: list[float | None], begin: int, end: int) -> Iterator[Piece]:
        if begin == end:
            return
        for first, after in table.parts(begin, end):
            group = Group(
                iterations=table.iterations[first:after],
                at_seconds=clock[first:after],
                step_seconds=table.step_seconds[first:after],
                data_wait_seconds=table.data_wait_seconds[first:after],
                allocated_bytes=table.allocated_bytes[first:after],
                lines=table.lines[first:after],
            )
            epoch = table.epochs[first] if table.epochs else None
            scope = _Scope(EVALUATION_BY_KIND[table.kinds[first]], epoch)
            yield from self._group(scope, table.totals[first], group)

    def _group(self, scope: _Scope, total: int, group: Group) -> Iterator[Piece]:
        group.epoch = scope.epoch
        if scope.epoch is not None and not scope.evaluation:
            group.scope, group.before = scope.epoch, (scope.epoch - 1) * total
        for part in group.parts():
            if scope.evaluation:
                self._story.validate(part)
                continue
            yield from self._story.train(part)
            if scope.epoch is not None:
                self._story.unlogged(total - part.iterations[-1])
            counted = "planned.steps" if scope.epoch is None else "planned.steps_per_epoch"
            self._story.header.values[counted] = total

    def _line(self, number: int, line: bytes) -> Iterator[Piece]:
        """Any line: rows that the fast pattern did not take, evaluations, events, the banner."""
        if b"Epoch" in line or b"Iter" in line:
            found = list(_PROGRESS.finditer(line))
            if found:
                yield from self._records(number, line, found)
                return
        stamp = STAMP.match(line) or STAMP.search(line)
        at = self._clock.at(stamp[1]) if stamp else None
        if _BANNER.search(line):
            self._story.banner(number)
        if self._story.before_training:
            self._story.before(at).line(line.decode("utf-8", "replace"))
        if b"Saving checkpoint at " in line:
            self._story.checkpoint(number, at)
        elif _EXPERIMENT in line:
            self._name_run(number, line)
        elif _RESUMED.search(line):
            self._story.resumed()
        elif _OUT_OF_MEMORY.search(line):
            self._story.out_of_memory(number, at)

    def _records(self, number: int, line: bytes, found: Sequence[re.Match[bytes]]) -> Iterator[Piece]:
        """Records of a line: one as a rule, more where the lines of two writers ran into each other."""
        stamps = _stamps(line)
        begins = 0
        for index, progress in enumerate(found):
            own = [s for s in stamps if begins <= s.start() and s.end() <= progress.start()]
            after = found[index + 1].start() if index + 1 < len(found) else len(line)
            # The next record begins with its stamp, not with its progress.
            begins = min((s.start() for s in stamps if progress.end() <= s.start() < after), default=after)
            at = self._clock.at(own[-1][1]) if own else None
            yield from self._record(number, at, progress, line[progress.end() : begins])

    def _record(
        self, number: int, at: float | None, progress: re.Match[bytes], text: bytes
    ) -> Iterator[Piece]:
        scope = _Scope.of(progress.groups())
        iteration, total = progress[5], progress[6]
        ends_evaluation = scope.evaluation and b"eta: " not in text and total in (None, iteration)
        time = None if ends_evaluation else _first_number(_TIME, text)
        if not ends_evaluation and (time is not None or _LOSS.search(text)):
            memory = _MEMORY.search(text)
            group = Group(
                iterations=[int(iteration)],
                at_seconds=[at],
                step_seconds=[time],
                data_wait_seconds=[_first_number(_DATA_TIME, text)],
                allocated_bytes=[float(int(memory[1]) * MIB) if memory else None],
                lines=[number],
            )
            yield from self._group(scope, int(total or iteration), group)
        elif not text.endswith(b"\n") or b"eta: " in text or not _METRIC.search(text):
            self._troubles.add("readers.openmmlab.half_record", number)
        elif ends_evaluation or not scope.evaluation:
            # Old versions print the metrics as a training line, without any time.
            self._story.evaluated(number, at, scope.epoch)
