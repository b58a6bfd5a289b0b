"""Read MetricLogger lines: torchvision's references, DETR, DeiT, MAE, DINO, BEiT, BLIP and their many copies.

    Epoch: [0]  [ 20/5005]  eta: 0:42:11  lr: 0.1  loss: 6.9 (6.9)  time: 0.5046  data: 0.0103  max mem: 2547

``time`` and ``data`` are means over the last up to 20 iterations of this epoch (SmoothedValue, window 20). As
long as no more than 20 have passed they are means since the epoch began and can be undone, so that a cold
first batch stays in its own row; after that a row is the mean of the last 20. Forks that print a pair
("time: 0.5046 (0.6100)") print a median and the mean since the epoch began: the mean is differenced. An
iteration is a micro-batch where the log says that gradients are accumulated. ``max mem`` is
torch.cuda.max_memory_allocated() / 2**20.
"""

from __future__ import annotations

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
from weighbridge.schema.run import Scalar
from weighbridge.units import GIB, MIB

# SmoothedValue's default; every known copy keeps it for time and data.
WINDOW: Final = 20
# A derived mean must be surer than this part of the step, or what was printed stays.
TOLERANCE: Final = 0.02

_NUMBER = rb"(\d{1,15}(?:\.\d{1,25})?(?:e[-+]?\d\d?)?)"
_PLACE = re.compile(rb"^(.{0,200}?)\[\s*(\d{1,9})/(\d{1,9})\][\s,]+eta: ")
_PAIR = re.compile(rb"N(?: \(N\))?(?=[\s,])".replace(b"N", _NUMBER))
_MEMORY = re.compile(rb"N ?(G|M)?i?B?(?=[\s,])".replace(b"N", _NUMBER))
_BRACKET = re.compile(rb"\[[\d:., /-]{8,32}\]\s*")
_LABEL = re.compile(rb"([A-Za-z][^\[\]:]*:?)\s*$")
_EPOCH = re.compile(rb"[Ee]poch:?\s*\[?(\d{1,9})(?:/(\d{1,9}))?\]?")
_TOTAL = re.compile(
    rb"^(.{0,200}?)[Tt]otal time: (?:(\d{1,9}) days?, )?(\d{1,9}):(\d\d):(\d\d) \((\d+\.\d+) s / it\)"
)
_TRAINED = re.compile(rb"Training time:? (?:(\d{1,9}) days?, )?(\d{1,9}):(\d\d):(\d\d)\b")
_BANNER = re.compile(
    rb"distributed init \(rank (?P<rank>\d{1,9})\)|(?P<single>Not using distributed mode)"
    rb"|(?P<started>Start training|Creating model|Loading data)"
    rb"|number of params: (?P<parameters>\d{1,12})\s|[Nn]umber of parameters: (?P<parameters2>\d{1,12})\s"
    rb"|accumulate grad iterations: (?P<accumulation>\d{1,9})\s"
    rb"|Update frequent = (?P<accumulation2>\d{1,9})\s"
    rb"|effective batch size: (?P<batch>\d{1,9})\s|^Batch size = (?P<batch2>\d{1,9})\s"
)
# Lines without any of these words are not searched.
_WORDS: Final = (
    b"istributed", b"Start training", b"Creating model", b"Loading data", b"number of params",
    b"umber of parameters", b"accumulate grad", b"Update frequent", b"effective batch", b"Batch size",
)  # fmt: skip
_ARGUMENT = re.compile(
    rb"\b(batch_size|epochs|world_size|num_workers|workers|accum_iter|update_freq|model|arch|dataset"
    rb"|dataset_file|data_set|device)=(?:'([^'\n]*)'|(\d{1,9})(?=[,)\s]))"
)
_BETWEEN: Final = b" \t,;(|"
_COUNTS: Final = {
    "batch_size": "planned.batch_per_device",
    "epochs": "planned.epochs",
    "world_size": "hardware.gpus",
    "num_workers": "planned.workers",
    "workers": "planned.workers",
    "accum_iter": "layout.accumulation",
    "update_freq": "layout.accumulation",
}
_TEXTS: Final = {
    "model": "planned.model",
    "arch": "planned.model",
    "dataset": "planned.dataset",
    "dataset_file": "planned.dataset",
    "data_set": "planned.dataset",
    "device": "details.device",
}
_COLUMNS: Final = (
    "phase", "rank", "epoch", "step", "steps", "micro_steps", "at_seconds", "step_seconds",
    "data_wait_seconds", "printed_step_seconds", "printed_data_wait_seconds", "samples_per_second",
    "allocated_bytes", "line",
)  # fmt: skip


# Step and data wait; None is unknown.
_Seconds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class _Header:
    """What stands before "[20/5005]": whose loop it is. ``label`` is without the logger's own words."""

    phase: str | None
    label: bytes
    epoch: int | None
    epochs: int | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class _Here:
    """Where a line stands: in the file, in its loop and in time."""

    number: int
    header: _Header
    phase: str
    index: int
    total: int
    at: float | None


@dataclass(slots=True)
class _Loop:
    """One pass over a loader by one rank: its place and its means."""

    key: object = None
    index: int = -1
    total: int = 0
    micro: int = 1
    means: RunningMean = field(default_factory=RunningMean)

    def move(self, key: object, here: _Here, micro: int) -> int | None:
        """Go to the line; returns the iterations since the last row. Going back or a new key starts afresh.

        None where they are fewer than the ``micro`` iterations of a step: the next row counts them.
        """
        if key != self.key or here.index <= self.index:
            self.means = RunningMean()
            self.index = -1
            self.key = key
        self.total, self.micro = here.total, micro
        passed = here.index - self.index
        if passed < micro:
            return None
        self.index = here.index
        return passed


class MetricLoggerText:
    """The reader of MetricLogger logs."""

    name = "metriclogger_text"
    title = "torchvision MetricLogger log"
    looks_for = "readers.metriclogger_text.looks_for"
    counts = "readers.metriclogger_text.counts"
    answers: tuple[Answerable, ...] = (
        "run_time", "epoch_time", "step_time", "data_wait", "compute", "evaluation_time", "allocated_memory",
    )  # fmt: skip
    example = (
        "Epoch: [0]  [  20/5005]  eta: 0:42:11  lr: 0.100000  loss: 6.9078 (6.9312)  time: 0.5046  "
        "data: 0.0103  max mem: 2547"
    )

    def sniff(self, head: Head) -> float:
        for line in head.data.splitlines(keepends=True):
            if b"eta: " in line and _PLACE.match(line) and _figure(line, b"time: ", _PAIR):
                return 0.94 if _figure(line, b"data: ", _PAIR) else 0.6
        return 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        for number, line in lines:
            if b"eta: " in line and (match := _PLACE.match(line)):
                yield from log.record(number, line, match)
            else:
                log.other(number, line)
            if log.out.full:
                yield from log.out.drain()
        yield from log.finish()
        yield from lines.problems


class _Log:
    """What is known while the lines go by."""

    def __init__(self) -> None:
        self.out = Assembler(_COLUMNS)
        self.stamps = Stamps()
        self.headers: dict[bytes, _Header] = {}
        self.loops: dict[object, _Loop] = {}
        self.repeats = Repeats()
        self.first: tuple[int | None, int] | None = None
        self.last: tuple[int | None, int] | None = None
        self.lead: int | None = None
        self.started = False
        self.in_arguments = False
        self.ranks: set[int] = set()
        self.epoch: int | None = None
        self.accumulation: int | None = None

    def record(self, number: int, line: bytes, place: re.Match[bytes]) -> Iterator[Piece]:
        time = _figure(line, b"time: ", _PAIR, place.end())
        data = _figure(line, b"data: ", _PAIR, place.end())
        if time is None or (data is None and not line.endswith(b"\n")):
            # Cut behind the time: a bracket may have followed.
            self._unread(number, line)
            return
        header = self._header(place[1])
        phase = header.phase or (TRAIN if b"loss" in line or b" lr: " in line else EVALUATION)
        here = _Here(number, header, phase, int(place[2]), int(place[3]), self.stamps.at(place[1]))
        if phase == TRAIN and self._starts_again(header.rank, header.epoch, here.index):
            yield from self._new_run(number)
        if self.out.banner:
            self._settle_banner(cuda=b"max mem" in line)
            self.out.commit()
        if phase == TRAIN:
            self._remember(here)
        loop, passed = self._move(here)
        self._row(here, line, loop, passed, *_undone(loop, passed, time, data))

    def _move(self, here: _Here) -> tuple[_Loop, int | None]:
        """The loop that this line belongs to, moved there, and how many iterations it moved."""
        key = (here.header.label, here.header.epoch)
        repeat = self.repeats.see((here.header.rank, key, here.index))
        place = (here.phase, here.header.rank, repeat)
        loop = self.loops.get(place)
        if loop is None:
            loop = self.loops[place] = _Loop()
        return loop, loop.move(key, here, (self.accumulation or 1) if here.phase == TRAIN else 1)

    def _row(
        self, here: _Here, line: bytes, loop: _Loop, passed: int | None, seconds: _Seconds, printed: _Seconds
    ) -> None:
        header, each = here.header, loop.micro
        done = loop.index + 1
        rate = _figure(line, b"/s: ", _PAIR, word=True)
        self.out.rows.append(
            (
                here.phase, header.rank, self.epoch if header.epoch is None else header.epoch,
                (header.epoch or 0) * (here.total // each) + done // each if here.phase == TRAIN else None,
                None if passed is None else done // each - (done - passed) // each,
                each if each > 1 else None, here.at, *seconds, *printed,
                float(rate[1]) if rate else None, _memory(_figure(line, b"max mem: ", _MEMORY)), here.number,
            )
        )  # fmt: skip
        if not line.endswith(b"\n"):
            self._unread(here.number, line)

    def _header(self, text: bytes) -> _Header:
        if text.startswith(b"[") and (stamp := _BRACKET.match(text)):
            text = text[stamp.end() :]
        header = self.headers.get(text)
        if header is None:
            if len(self.headers) > 1024:
                self.headers.clear()
            header = self.headers[text] = _read_header(text)
        return header

    def _starts_again(self, rank: int | None, epoch: int | None, index: int) -> bool:
        """From scratch: epoch 0 begins again, after progress or after the banner of a start."""
        if self.first != (epoch, index) or epoch or index or self.last is None:
            return False
        return self.started or (self.lead == rank and self.last != (epoch, index))

    def _new_run(self, number: int) -> Iterator[Piece]:
        self.out.always |= self.stamps.facts()
        yield from self.out.start_run(number)
        self.loops = {}
        self.first = self.last = self.epoch = self.accumulation = None

    def _remember(self, here: _Here) -> None:
        header = here.header
        if self.first is None:
            self.first = (header.epoch, here.index)
            self.lead = header.rank
        self.last = (header.epoch, here.index)
        self.started = False
        self.epoch = self.epoch if header.epoch is None else header.epoch
        per_epoch = here.total // (self.accumulation or 1)
        self.out.facts["planned.steps_per_epoch" if header.epoch is not None else "planned.steps"] = per_epoch
        self.out.facts["details.prints_running_means"] = True
        if header.epochs is not None:
            self.out.facts["planned.epochs"] = header.epochs

    def _settle_banner(self, *, cuda: bool) -> None:
        """Put together what the lines of a start said one by one. Without CUDA there is no "max mem"."""
        banner = self.out.banner
        if self.ranks and self.ranks == set(range(len(self.ranks))):
            banner["hardware.gpus"] = len(self.ranks)
        self.ranks = set()
        if not cuda:
            banner.pop("hardware.gpus", None)
        accumulation = banner.get("layout.accumulation")
        if isinstance(accumulation, int) and accumulation > 0:
            self.accumulation = accumulation
        parts = [banner.get(key) for key in ("planned.batch_per_device", "hardware.gpus")]
        if "planned.global_batch" not in banner and all(isinstance(part, int) for part in parts):
            product = self.accumulation or 1
            for part in parts:
                product *= int(part or 1)
            banner["planned.global_batch"] = product

    def other(self, number: int, line: bytes) -> None:
        if b"s / it)" in line and (match := _TOTAL.match(line)):
            self._loop_ends(number, line, match)
        elif b"Training time" in line and (match := _TRAINED.search(line)):
            self.out.facts["stated_seconds"] = _duration(*match.groups())
        elif b"Namespace(" in line or self.in_arguments:
            self._arguments(line)
        else:
            for word in _WORDS:
                if word in line:
                    self._banner(_BANNER.search(line))
                    break

    def _loop_ends(self, number: int, line: bytes, match: re.Match[bytes]) -> None:
        header = self._header(match[1])
        phase = header.phase or TRAIN
        loop = self.loops.get((phase, header.rank, 0))
        seconds = _duration(*match.groups()[1:5])
        # "s / it" has four decimals and the total none: a short epoch is told better by the former.
        if loop and loop.total and abs(loop.total * float(match[6]) - seconds) <= 1.0 + loop.total * 5e-5:
            seconds = loop.total * float(match[6])
        if header.rank != self.lead:
            return
        self.out.events.append(
            Event(
                kind="epoch" if phase == TRAIN else "evaluation",
                epoch=self.epoch if header.epoch is None else header.epoch,
                seconds=seconds,
                at_seconds=self.stamps.at(line),
                line=number,
            )
        )

    def _arguments(self, line: bytes) -> None:
        """argparse's Namespace as the scripts print it, on one line or one argument per line."""
        for name, text, count in _ARGUMENT.findall(line):
            key = name.decode()
            if count and key in _COUNTS:
                self.out.banner[_COUNTS[key]] = int(count)
            elif text and key in _TEXTS:
                self.out.banner[_TEXTS[key]] = text.decode("utf-8", "replace")
        self.in_arguments = b"=" in line and not line.rstrip().endswith(b")")

    def _banner(self, match: re.Match[bytes] | None) -> None:
        if match is None:
            return
        found = {key: value for key, value in match.groupdict().items() if value is not None}
        facts: dict[str, Scalar] = {}
        for key, value in found.items():
            match key.rstrip("2"):
                case "rank":
                    self.ranks.add(int(value))
                    self.started = True
                case "single":
                    facts["hardware.gpus"] = 1
                    self.started = True
                case "started":
                    self.started = True
                case "parameters":
                    facts["planned.parameters"] = int(value)
                case "accumulation":
                    facts["layout.accumulation"] = int(value)
                case "batch":
                    facts["planned.global_batch"] = int(value)
        self.out.banner |= facts

    def _unread(self, number: int, line: bytes) -> None:
        code = "unreadable_line" if line.endswith(b"\n") else "cut_line"
        self.out.troubles.add(f"readers.metriclogger_text.{code}", number)

    def finish(self) -> Iterator[Piece]:
        self.out.always |= self.stamps.facts()
        yield from self.out.finish()


def _read_header(text: bytes) -> _Header:
    """ "Epoch: [3]", "Epoch: [3/100]", "Train Epoch: [3]", "Training", "Test:", "Val:", or nothing at all."""
    words = text.lower()
    epoch = _EPOCH.search(text)
    phase: str | None = None
    if re.search(rb"\b(?:test|val|valid|validation|eval|evaluation|evaluating)\b", words):
        phase = EVALUATION
    elif epoch or b"train" in words:
        phase = TRAIN
    elif words.strip():
        # "Generate VQA test result:", "Caption generation:", "Computing features": loops beside training.
        phase = EVALUATION if words.strip().endswith(b":") else None
    return _Header(
        phase=phase,
        label=label[1] if (label := _LABEL.search(text)) else b"",
        epoch=int(epoch[1]) if epoch else None,
        epochs=int(epoch[2]) if epoch and epoch[2] else None,
        rank=rank_of(text),
    )


def _undone(
    loop: _Loop, passed: int | None, time: re.Match[bytes], data: re.Match[bytes] | None
) -> tuple[_Seconds, _Seconds]:
    """Step and data wait of the row's own iterations, per step, and what was printed, per iteration."""
    printed = float(time[1]), float(data[1]) if data else None
    if passed is None:
        return (None, None), printed
    step, wait = printed
    pair = 2 if time[2] else 1
    if pair == 2 or loop.index < WINDOW:
        mean, mean_wait = float(time[pair]), float(data[pair]) if data and data[pair] else None
        stretch = loop.means.add(loop.index + 1, mean, mean_wait, half_unit(time[pair]), TOLERANCE * mean)
        if stretch is not None:
            step, wait = stretch.step_seconds, stretch.data_wait_seconds
    return (step * loop.micro, None if wait is None else wait * loop.micro), printed


def _figure(
    line: bytes, name: bytes, value: re.Pattern[bytes], start: int = 0, *, word: bool = False
) -> re.Match[bytes] | None:
    """What follows ``name``, where it stands alone ("time: ", not "r_time: ") unless it ends a ``word``."""
    at = line.find(name, start)
    while at >= 0:
        alone = at == 0 or line[at - 1] in _BETWEEN
        if (word or alone) and (match := value.match(line, at + len(name))):
            return match
        at = line.find(name, at + 1)
    return None


def _memory(match: re.Match[bytes] | None) -> float | None:
    if match is None:
        return None
    return float(match[1]) * (GIB if match[2] == b"G" else MIB)


def _duration(days: bytes | None, hours: bytes, minutes: bytes, seconds: bytes) -> float:
    return float(int(days or 0) * 86_400 + int(hours) * 3600 + int(minutes) * 60 + int(seconds))
