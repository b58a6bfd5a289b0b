"""Read Paddle training logs: PaddleDetection, Clas, Seg, OCR, Video, GAN, X, and people's own Paddle loops.

    [07/28 22:26:37] ppdet.engine INFO: Epoch: [148] [  0/791] ... batch_cost: 2.0509 data_cost: 1.7642 ips: 3

``paddle_lines`` finds the figures of one line; here is what they mean over several. Rows are held back until
a few have been seen, because the first ones alone do not say

- how many steps a row stands for, or whether positions count samples ("[16/5011]", "[1616/5011]");
- whether batch time includes data time: a loop of one's own excludes it when some line waits longer for data
  than the whole batch is said to take (the step is then the sum);
- whether lines without a mark belong to an evaluation, beside lines marked [Eval] only.

PaddleOCR, Rec and NLP divide by the print interval even when fewer steps were taken (the last line of an
epoch): the samples printed beside it put that right. PaddleClas prints means since the sixth iteration of the
epoch, in its last versions means since the line before; nothing on the line tells which, so they stay as
printed. Memory is paddle.device.cuda.max_memory_* in MiB.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO, Final

from weighbridge.readers.assemble import Assembler
from weighbridge.readers.base import Piece
from weighbridge.readers.line_prefix import Repeats, Stamps, rank_of
from weighbridge.readers.paddle_lines import NOWHERE, Record, Shape, parse
from weighbridge.readers.paddle_notes import Notes
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import EVALUATION, TRAIN

HELD_ROWS: Final = 64
# A loop of one's own may show only in its thousandth line that its batch time excludes the data time.
HELD_ROWS_OF_UNKNOWN: Final = 4096
# The last batch of an epoch may be smaller: so far samples may be off from what the steps say.
SAMPLES_OFF: Final = 0.25
# A line that is this much older than one before it, and steps back, was quoted from further up; less may be
# two ranks writing at once.
QUOTED_SECONDS: Final = 10.0

_SNIFF = re.compile(rb"batch_cost\s*[:=]\s*\d|time_each_step=\d")
_SNIFF_LOOP = re.compile(rb"[Ee]poch[^\n]{1,200}batch[_ ]time\s*[:=]\s*\d[^\n]{0,60}data[_ ]time\s*[:=]\s*\d")
_FILE_RANK = re.compile(r"(?:workerlog\.|\.rank)(\d{1,6})$")
_COLUMNS: Final = (
    "phase", "rank", "epoch", "step", "steps", "at_seconds", "step_seconds", "data_wait_seconds",
    "printed_step_seconds", "printed_data_wait_seconds", "samples_per_second", "allocated_bytes",
    "reserved_bytes", "line",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the held rows say about all rows of the run.

    ``zero``: the first iteration is 0. ``placed``: positions can be understood; one line alone may count
    samples or iterations.
    """

    unmarked: str = TRAIN
    excludes_data: bool = False
    zero: bool = False
    placed: bool = True
    first_epoch: int = 0
    samples_per_place: int | None = None
    regular_samples: float | None = None
    interval: int | None = None


@dataclass(slots=True)
class _Place:
    """Where one rank (or one evaluation) stands."""

    seen: bool = False
    epoch: int | None = None
    done: int = 0
    places: int | None = None


class PaddleText:
    """The reader of Paddle logs."""

    name = "paddle_text"
    title = "PaddlePaddle training log"
    looks_for = "readers.paddle_text.looks_for"
    counts = "readers.paddle_text.counts"
    answers: tuple[Answerable, ...] = (
        "step_time", "data_wait", "compute", "evaluation_time", "allocated_memory", "reserved_memory",
    )  # fmt: skip
    example = (
        "[07/28 22:26:57] ppdet.engine INFO: Epoch: [0] [ 20/791] learning_rate: 0.000010 loss: 4.37 "
        "eta: 0:54:58 batch_cost: 2.0509 data_cost: 1.7642 ips: 3.9007 images/s"
    )

    def sniff(self, head: Head) -> float:
        if _SNIFF.search(head.data):
            return 0.93
        if _SNIFF_LOOP.search(head.data):
            return 0.8 if b"addle" in head.data else 0.55
        return 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        rank = _FILE_RANK.search(name)
        log = _Log(int(rank[1]) if rank else None)
        for number, line in lines:
            if (b"batch" in line or b"time_each_step" in line) and (record := parse(number, line, log.guess)):
                yield from log.record(record, line)
                if log.out.full:
                    yield from log.out.drain()
            else:
                log.notes.other(number, line)
        yield from log.finish()
        yield from lines.problems


class _Log:
    """What is known while the lines go by."""

    def __init__(self, rank: int | None) -> None:
        self.rank = rank
        self.out = Assembler(_COLUMNS, always={"environment.framework": "paddlepaddle"})
        self.stamps = Stamps()
        self.notes = Notes(self.out, self.stamps)
        self.guess: Shape | None = None
        self.held: list[Record] | None = []
        self.meaning = Meaning()
        self.places: dict[object, _Place] = {}
        self.planned: tuple[int | None, int | None] | None = None
        self.repeats = Repeats()
        self.first: Record | None = None
        self.last: Record | None = None
        self.latest: float | None = None
        self.quoting = False

    def record(self, record: Record, line: bytes) -> Iterator[Piece]:
        record.cut = not line.endswith(b"\n")
        if record.cut and record.data is None:
            self.out.troubles.add("readers.paddle_text.cut_line", record.line)
            if not record.shape.known:
                # Without its data time it is not known what the batch time is.
                return
        record.at = self.stamps.at(line)
        record.rank = rank_of(line) if self.rank is None else self.rank
        if record.shape is not NOWHERE:
            self.guess = record.shape
        if record.phase != EVALUATION:
            if self.last is not None and record.order <= self.last.order:
                record.quoted = self._is_quoted(record)
                if not record.quoted and self._starts_again(record):
                    yield from self._new_run(record.line)
            self._remember(record)
            self.quoting = record.quoted
        if record.quoted:
            self.out.troubles.add("readers.paddle_text.quoted_line", record.line)
        else:
            self.out.commit()
            self.notes.seen(record)
        if self.held is None:
            self._emit(record)
            return
        self.held.append(record)
        known = self.held[0].shape.known
        if len(self.held) >= (HELD_ROWS if known else HELD_ROWS_OF_UNKNOWN):
            self._release()

    def _is_quoted(self, record: Record) -> bool:
        """Older than what was read and further back: somebody explains a line of the log below the log."""
        if record.at is None or self.latest is None or self.first is None or self.first.at is None:
            return False
        slack = 0.0 if self.quoting else QUOTED_SECONDS
        return self.first.at <= record.at <= self.latest - slack

    def _starts_again(self, record: Record) -> bool:
        """From scratch: the first line of the run again, after progress or after the banner of a start."""
        if self.first is None or self.last is None or record.place is None:
            return False
        if (self.first.epoch or 0) > 1 or record.rank != self.first.rank:
            return False
        progress = self.last.order > record.order or self.notes.started
        return progress and record.order <= self.first.order

    def _new_run(self, number: int) -> Iterator[Piece]:
        self._release()
        self.notes.end_evaluation()
        self.out.always |= self.stamps.facts()
        yield from self.out.start_run(number)
        self.held = []
        self.places = {}
        self.planned = None
        self.first = self.last = self.latest = None
        self.quoting = False

    def _remember(self, record: Record) -> None:
        self.notes.started = False
        if record.quoted:
            return
        self.first = self.first or record
        self.last = record
        if record.at is not None:
            self.latest = record.at if self.latest is None else max(self.latest, record.at)

    def _release(self) -> None:
        if self.held is None:
            return
        held, self.held = self.held, None
        self.meaning = find_meaning(held)
        self._state_meaning(held)
        for record in held:
            self._emit(record)

    def _state_meaning(self, held: Sequence[Record]) -> None:
        facts, meaning = self.out.facts, self.meaning
        if meaning.excludes_data:
            facts["details.batch_time_excludes_data_time"] = True
        if any(record.shape.last for record in held):
            facts["step_statistic"] = "last"
        batch = meaning.samples_per_place or card_batch(held, meaning.regular_samples)
        if batch is not None:
            facts["planned.batch_per_device"] = batch

    def _emit(self, record: Record) -> None:
        phase = record.phase or self.meaning.unmarked
        repeat = self.repeats.see((record.rank, phase, record.epoch, record.place))
        key = (record.rank, phase, repeat)
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = _Place()
        done, places = self._counted(record)
        steps = None if record.quoted else self._steps(place, record, done, phase)
        step, data = self._seconds(record, steps)
        derived = step != record.step or data != record.data
        self.out.rows.append(
            (
                phase, record.rank, record.epoch,
                None if phase == EVALUATION or record.quoted else self._global(record, done, places),
                steps, None if record.quoted else record.at, step, data,
                record.step if derived else None, record.data if derived else None,
                record.rate, record.allocated, record.reserved, record.line,
            )
        )  # fmt: skip
        if record.quoted or done is None:
            return
        place.seen, place.epoch, place.done, place.places = True, record.epoch, done, places
        if phase == TRAIN and self.planned != (places, record.epochs):
            self._plan(record, places)

    def _plan(self, record: Record, places: int | None) -> None:
        facts = self.out.facts
        self.planned = (places, record.epochs)
        if places is not None:
            facts["planned.steps" if record.shape.whole_run else "planned.steps_per_epoch"] = places
        if record.epochs is not None:
            facts["planned.epochs"] = record.epochs

    def _counted(self, record: Record) -> tuple[int | None, int | None]:
        """Iterations done at this line, and how many there are (of the epoch or of the run)."""
        if record.place is None or not self.meaning.placed:
            return None, None
        batch = self.meaning.samples_per_place
        if batch is not None:
            return -(-record.place // batch), -(-record.places // batch) if record.places else None
        return record.place + 1 if self.meaning.zero else record.place, record.places

    def _global(self, record: Record, done: int | None, places: int | None) -> int | None:
        if done is None or record.shape.whole_run:
            return done
        if places is None or record.epoch is None:
            return None
        first = record.shape.first_epoch if record.shape.known else self.meaning.first_epoch
        return max(record.epoch - first, 0) * places + done

    def _steps(self, place: _Place, record: Record, done: int | None, phase: str) -> int | None:
        """Steps since the line before; for the first line no more than the interval of the next ones."""
        if done is None:
            return None
        if phase == EVALUATION:
            return done - place.done if record.epoch == place.epoch and done > place.done else done
        interval = self.meaning.interval
        if record.shape.whole_run or record.epoch == place.epoch:
            passed = done - place.done
        elif place.epoch is not None and place.places and record.epoch == place.epoch + 1:
            # Of one batch, or since the epoch began, the first batch speaks for itself alone: it waits for
            # the workers, and the unlogged end of the epoch before did not.
            alone = done == 1 and (record.shape.last or not record.shape.known)
            passed = 1 if alone else place.places - place.done + done
        else:
            passed = done
        if place.seen and passed > 0:
            return passed
        if interval is None:
            return done if done == 1 else None
        return min(done, interval)

    def _seconds(self, record: Record, steps: int | None) -> tuple[float | None, float | None]:
        """Step with data wait, and data wait, each per step."""
        step, data, meaning = record.step, record.data, self.meaning
        if meaning.excludes_data:
            return (None if data is None else step + data), data
        if data is not None and data > step:
            if data > step + 2 * record.half_unit:
                self.out.troubles.add("readers.paddle_text.data_above_step", record.line)
                data = None
            else:
                data = step
        if meaning.regular_samples and record.samples is None and record.cut:
            return None, None
        times = self._divided(record, steps)
        return step * times, None if data is None else data * times

    def _divided(self, record: Record, steps: int | None) -> float:
        """By how much a sum of fewer steps was divided too often: told by samples and steps alike."""
        interval, regular, samples = self.meaning.interval, self.meaning.regular_samples, record.samples
        if not (interval and regular and samples and steps) or steps == interval:
            return 1.0
        part = steps / interval
        return regular / samples if abs(samples / regular - part) <= SAMPLES_OFF * part else 1.0

    def finish(self) -> Iterator[Piece]:
        self._release()
        self.notes.end_evaluation()
        self.out.always |= self.stamps.facts()
        yield from self.out.finish()


def find_meaning(held: Sequence[Record]) -> Meaning:
    """What the first rows of a run say about the rest."""
    marked = {record.phase for record in held} - {None}
    unmarked = EVALUATION if marked == {EVALUATION} else TRAIN
    train = [record for record in held if (record.phase or unmarked) == TRAIN and not record.quoted]
    # Ranks print the same positions in turn: distances are between lines of one of them.
    lead = [record for record in train if record.rank == train[0].rank]
    samples_per_place = _samples_per_place(lead)
    samples = Counter(record.samples for record in train if record.samples)
    return Meaning(
        unmarked=unmarked,
        excludes_data=any(_waits_longer(record) for record in train if not record.shape.known),
        zero=any(record.shape.zero or record.place == 0 for record in held),
        placed=len(train) != 1 or train[0].shape.name != "loop" or (train[0].place or 0) <= 1,
        first_epoch=0 if any(record.epoch == 0 for record in held) else 1,
        samples_per_place=samples_per_place,
        regular_samples=max(samples, key=lambda value: (samples[value], value)) if samples else None,
        interval=_interval(lead, samples_per_place or 1),
    )


def card_batch(held: Sequence[Record], regular_samples: float | None) -> int | None:
    """Samples of one card in one step, where rate x time says the same whole number on every line."""
    found: set[int] = set()
    for record in held:
        if record.phase != TRAIN or not record.rate or not record.shape.card_rate:
            continue
        if record.samples is not None and record.samples != regular_samples:
            continue
        product = record.rate * record.step
        slack = product * (record.half_unit / record.step if record.step else 1.0) + 0.02
        if slack > 0.5 or abs(product - round(product)) > slack:
            return None
        found.add(round(product))
    return found.pop() if len(found) == 1 and 0 not in found else None


def _waits_longer(record: Record) -> bool:
    return record.data is not None and record.data > record.step + 2 * record.half_unit


def _samples_per_place(train: Sequence[Record]) -> int | None:
    """The batch, where positions count samples: 16, 1616, 3216 are batches 1, 101 and 201 of 16."""
    pairs = [
        (before.place, after.place)
        for before, after in pairwise(train)
        if before.epoch == after.epoch and before.place is not None and after.place is not None
    ]
    places = [record.place for record in train if record.place is not None]
    if not pairs or not train or train[0].shape.name != "loop":
        return None
    batch = min(places)
    strides = {after - before for before, after in pairs}
    whole = batch > 1 and all(place % batch == 0 for place in places if place is not None)
    return batch if whole and batch not in strides and all(stride > 0 for stride in strides) else None


def _interval(train: Sequence[Record], batch: int) -> int | None:
    """Steps between two lines."""
    for before, after in pairwise(train):
        if before.place is None or after.place is None:
            continue
        if after.place > before.place and (after.shape.whole_run or after.epoch == before.epoch):
            return (after.place - before.place) // batch
    return None
