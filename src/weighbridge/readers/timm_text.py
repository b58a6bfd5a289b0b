"""Read what timm's train.py and validate.py print (all versions, and the many copies of that loop).

    Train: 0 [  50/10009 (  0%)]  Loss: ...  Time: 0.316s, 405.65/s  (0.344s, 371.84/s)  Data: 0.006 (0.033)

The first figure of a pair is the last batch alone, the one in brackets the mean since the epoch began: it is
differenced, so that a row is the mean of the steps since the row before. The rate has more digits than the
time and sharpens it where the batch is known (rate x time). Later versions count optimizer updates and
multiply the data wait by the accumulation, so both figures are per optimizer step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from weighbridge.readers.assemble import Assembler
from weighbridge.readers.base import Piece
from weighbridge.readers.line_prefix import Repeats, Stamps, rank_of
from weighbridge.readers.running_mean import RunningMean, half_unit
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import EVALUATION, TRAIN
from weighbridge.schema.event import Event

_NUMBER = rb"(\d{1,15}(?:\.\d{1,25})?)"
_TRAIN_HEAD = re.compile(rb"Train: (\d{1,9}) \[\s*(\d{1,9})/(\d{1,9})\s[^\]\n]*\]")
_TRAIN = re.compile(
    _TRAIN_HEAD.pattern
    + rb".*?Time:\s*N(?:s|),\s*N/s\s+\(N(?:s|),\s*N/s\)".replace(b"N", _NUMBER)
    + rb"(?:.*?Data:\s*N\s+\(N\))?".replace(b"N", _NUMBER)
)
_TEST = re.compile(
    rb"(Test[^:\[\]\n]{0,40}): \[\s*(\d{1,9})/(\d{1,9})\]\s+Time:\s*N(?:s|)\s+\(N[s,)]".replace(b"N", _NUMBER)
)
_BANNER = re.compile(
    rb"Process \d+, total (?P<gpus>\d{1,9})\b|(?P<single>single process on 1 (?:GPU|device \(cuda))"
    rb"|Model (?P<model>\S+) created, param count:\s*(?P<parameters>\d{1,12})\b"
    rb"|Scheduled epochs: (?P<epochs>\d{1,9})\b|effective global batch size \((?P<batch>\d{1,9})\)"
    rb"|(?P<saved>Current checkpoints:)"
)
# Lines without any of these words are not searched.
_WORDS: Final = (b"rain", b"otal", b"process", b"created", b"epochs", b"batch size", b"checkpoints")
_STARTS: Final = ("gpus", "single", "model", "epochs")

# A derived mean must be surer than this part of the step, or a longer stretch is taken.
TOLERANCE: Final = 0.02
_COLUMNS: Final = (
    "phase", "rank", "epoch", "step", "steps", "at_seconds", "step_seconds", "data_wait_seconds",
    "printed_step_seconds", "printed_data_wait_seconds", "samples_per_second", "line",
)  # fmt: skip


@dataclass(slots=True)
class _Stream:
    """One rank's place in the running means of an epoch or of an evaluation."""

    key: object = None
    index: int = -1
    means: RunningMean = field(default_factory=RunningMean)

    def move(self, key: object, index: int) -> int:
        """Go to ``index``; returns the steps in between. Going back or a new key starts the means afresh."""
        if key != self.key or index <= self.index:
            self.means = RunningMean()
            self.index = -1
            self.key = key
        steps = index - self.index
        self.index = index
        return steps


@dataclass(slots=True)
class _Batch:
    """The global batch, from rate x time of as many lines as it takes to leave one whole number."""

    low: float = 0.0
    high: float = math.inf
    size: int | None = None

    def learn(self, seconds: bytes, rate: bytes) -> None:
        if not float(rate):
            return
        second, per_second = float(seconds), float(rate)
        half, rate_half = half_unit(seconds), half_unit(rate)
        self.low = max(self.low, (second - half) * (per_second - rate_half))
        self.high = min(self.high, (second + half) * (per_second + rate_half))
        if self.low > self.high:
            # The last batch of an epoch is smaller: begin again.
            self.low, self.high = 0.0, math.inf
        elif math.ceil(self.low) == math.floor(self.high):
            self.size = math.floor(self.high)

    def sharpen(self, seconds: bytes, rate: bytes) -> tuple[float, float]:
        """A mean and half its unit, through the rate where that is surer than the printed seconds."""
        value, half = float(seconds), half_unit(seconds)
        per_second = float(rate)
        if self.size is None or not per_second:
            return value, half
        through = self.size / per_second
        through_half = through * half_unit(rate) / per_second
        fits = abs(through - value) <= half + through_half
        return (through, through_half) if fits and through_half < half else (value, half)


class TimmText:
    """The reader of timm logs."""

    name = "timm_text"
    title = "timm train.py log"
    looks_for = "readers.timm_text.looks_for"
    counts = "readers.timm_text.counts"
    answers: tuple[Answerable, ...] = (
        "epoch_time", "step_time", "data_wait", "compute", "evaluation_time",
    )  # fmt: skip
    example = (
        "Train: 0 [  50/1251 (  4%)]  Loss: 6.97 (6.98)  Time: 0.316s,  405.65/s  (0.344s,  371.84/s)  "
        "LR: 5.000e-07  Data: 0.006 (0.033)"
    )

    def sniff(self, head: Head) -> float:
        if _TRAIN.search(head.data):
            return 0.94
        return 0.72 if _TEST.search(head.data) else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        for number, line in lines:
            if match := _TRAIN.search(line):
                yield from log.train(number, line, match)
            elif b"Test" in line and (match := _TEST.search(line)):
                log.test(number, line, match)
            else:
                log.other(number, line)
            if log.out.full:
                yield from log.out.drain()
        yield from log.finish()
        yield from lines.problems


class _Log:
    """What is known while the lines go by."""

    def __init__(self) -> None:
        self.out = Assembler(_COLUMNS, always={"environment.framework": "timm"})
        self.stamps = Stamps()
        self.batch = _Batch()
        self.streams: dict[object, _Stream] = {}
        self.first: tuple[int, int] | None = None
        self.last: tuple[int | None, int, int] | None = None
        self.lead: int | None = None
        self.repeats = {TRAIN: Repeats(), EVALUATION: Repeats()}
        self.started = False
        self.epoch: int | None = None
        self.test_mean: tuple[bytes, int, int, float, float | None] | None = None
        self.test_line: int | None = None

    def train(self, number: int, line: bytes, match: re.Match[bytes]) -> Iterator[Piece]:
        epoch, index, total = int(match[1]), int(match[2]), int(match[3])
        last_step, last_rate, mean, rate, last_data, mean_data = match.groups()[3:]
        at = self.stamps.at(line)
        rank = rank_of(line[: match.start()])
        self._end_test()
        if self._starts_again(rank, epoch, index):
            yield from self._new_run(number)
        self.out.commit()
        self._remember(rank, epoch, index)
        repeat = self.repeats[TRAIN].see((rank, epoch, index))
        if self.batch.size is None:
            self.batch.learn(last_step, last_rate)
            self.batch.learn(mean, rate)
        step_mean, half = self.batch.sharpen(mean, rate)
        data_mean = float(mean_data) if mean_data else None
        if mean_data:
            half = max(half, half_unit(mean_data))
        elif not line.endswith(b"\n"):
            self.out.troubles.add("readers.timm_text.cut_line", number)
        stream = self._stream(TRAIN, rank, repeat)
        steps = stream.move(epoch, index)
        stretch = stream.means.add(index + 1, step_mean, data_mean, half, TOLERANCE * step_mean)
        self.out.rows.append(
            (
                TRAIN, rank, epoch, epoch * total + index + 1, steps, at,
                stretch.step_seconds if stretch else step_mean,
                stretch.data_wait_seconds if stretch else data_mean,
                float(mean), data_mean, float(last_rate), number,
            )
        )  # fmt: skip
        self._note(total, last_step, last_data)
        if index == total - 1 and rank == self.lead and not repeat:
            self.out.events.append(
                Event(kind="epoch", epoch=epoch, seconds=step_mean * total, at_seconds=at, line=number)
            )

    def _starts_again(self, rank: int | None, epoch: int, index: int) -> bool:
        """From scratch: the first epoch's first line, after progress or after the banner of a start."""
        if self.first != (epoch, index) or epoch != 0 or self.last is None:
            return False
        return self.started or (self.last[0] == rank and self.last[1:] != (epoch, index))

    def _new_run(self, number: int) -> Iterator[Piece]:
        self.out.always |= self.stamps.facts()
        yield from self.out.start_run(number)
        self.batch = _Batch()
        self.streams = {}
        self.first = self.last = None

    def _remember(self, rank: int | None, epoch: int, index: int) -> None:
        if self.first is None:
            self.first = (epoch, index)
            self.lead = rank
        self.last = (rank, epoch, index)
        self.started = False
        self.epoch = epoch

    def _stream(self, phase: str, rank: int | None, repeat: int) -> _Stream:
        key = (phase, rank, repeat)
        stream = self.streams.get(key)
        if stream is None:
            stream = self.streams[key] = _Stream()
        return stream

    def _note(self, total: int, last_step: bytes, last_data: bytes | None) -> None:
        facts = self.out.facts
        facts["planned.steps_per_epoch"] = total
        facts["details.last_batch_step_seconds"] = float(last_step)
        if last_data:
            facts["details.last_batch_data_wait_seconds"] = float(last_data)
        if self.batch.size is not None:
            facts.setdefault("planned.global_batch", self.batch.size)

    def test(self, number: int, line: bytes, match: re.Match[bytes]) -> None:
        kind, index, total = match[1], int(match[2]), int(match[3])
        mean, half = float(match[5]), half_unit(match[5])
        at = self.stamps.at(line)
        rank = rank_of(line[: match.start()])
        self.out.commit()
        repeat = self.repeats[EVALUATION].see((rank, kind, index))
        if rank == self.lead and self.test_mean and (kind != self.test_mean[0] or index < self.test_mean[1]):
            self._end_test()
        stream = self._stream(EVALUATION, rank, repeat)
        steps = stream.move((kind, self.epoch), index)
        stretch = stream.means.add(index + 1, mean, None, half, TOLERANCE * mean)
        self.out.rows.append(
            (
                EVALUATION, rank, self.epoch, None, steps, at,
                stretch.step_seconds if stretch else mean, None, mean, None, None, number,
            )
        )  # fmt: skip
        if rank == self.lead:
            self.test_mean = (kind, index, total, mean, at)
            self.test_line = number

    def _end_test(self) -> None:
        """An evaluation is over when something else follows; its length is known when it reached its end."""
        if self.test_mean is None:
            return
        _, index, total, mean, at = self.test_mean
        seconds = mean * (index + 1) if index >= total - 1 else None
        self.out.events.append(
            Event(kind="evaluation", epoch=self.epoch, seconds=seconds, at_seconds=at, line=self.test_line)
        )
        self.test_mean = None

    def other(self, number: int, line: bytes) -> None:
        for word in _WORDS:
            if word in line:
                break
        else:
            return
        if _TRAIN_HEAD.search(line):
            code = "unreadable_line" if line.endswith(b"\n") else "cut_line"
            self.out.troubles.add(f"readers.timm_text.{code}", number)
            return
        match = _BANNER.search(line)
        if match is None:
            return
        kind = match.lastgroup
        if kind == "saved":
            self.out.events.append(
                Event(kind="checkpoint", epoch=self.epoch, at_seconds=self.stamps.at(line), line=number)
            )
            return
        self.started = self.started or kind in _STARTS or kind == "parameters"
        banner = self.out.banner
        match kind:
            case "gpus":
                banner["hardware.gpus"] = int(match["gpus"])
            case "single":
                banner["hardware.gpus"] = 1
            case "parameters":
                banner["planned.model"] = match["model"].decode("utf-8", "replace")
                banner["planned.parameters"] = int(match["parameters"])
            case "epochs":
                banner["planned.epochs"] = int(match["epochs"])
            case "batch":
                banner["planned.global_batch"] = int(match["batch"])

    def finish(self) -> Iterator[Piece]:
        self._end_test()
        self.out.always |= self.stamps.facts()
        yield from self.out.finish()
