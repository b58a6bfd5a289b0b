"""LLaMA-Factory ``trainer_log.jsonl``: one JSON object per log call, with the time since training began.

``elapsed_time`` is cut to whole seconds and counts from the latest start, so ``step_seconds`` of a row is the
difference to the row before it *of the same writer and the same start* over their steps. A difference below
SHORTEST_SECONDS is mostly rounding: such a row stays without a time, and the next row of its writer that can
be timed stands for the steps of both. The first row of a start has no row before it; its time stays unknown
(it holds model warm-up).

The file is appended to. A resumed job goes on in it, and where every node's first rank writes (or two jobs
share a folder) their lines interleave. Rows keep the order of the file and no rank, because the file names
none: counting every step that goes back as a restart, and every repeated step as a duplicate, says what the
file shows. Their step times are right all the same, as the writers are separated first (``writer_chains``);
``details.starts`` and ``details.interleaved_starts`` say whether the steps that go back are restarts or
several writers. No RunStart is given for the same reason: two writers would fall into hundreds of runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from weighbridge.readers.base import Events, Facts, Piece, Steps
from weighbridge.readers.batch import BATCH_ROWS, Batch
from weighbridge.readers.tally import Median, Troubles
from weighbridge.readers.text import Head, Lines
from weighbridge.readers.writer_chains import Chains
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import TRAIN, Cell
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar
from weighbridge.units import GIB

COLUMNS: Final = (
    "phase",
    "epoch",
    "step",
    "steps",
    "elapsed_seconds",
    "step_seconds",
    "allocated_bytes",
    "reserved_bytes",
    "line",
)
# elapsed_time has a resolution of one second: a shorter difference is nought or one by chance.
SHORTEST_SECONDS: Final = 2.0
# A larger number is damage, and would not fit into the record.
LARGEST_INTEGER: Final = 1 << 53
LARGEST_NUMBER: Final = 1e18

_ELAPSED = re.compile(r"(?:(\d{1,6}) days?, )?(\d{1,6}):(\d\d):(\d\d)$")
_DECODER = json.JSONDecoder(strict=False)

Row = dict[str, Cell]


@dataclass(slots=True)
class _Window:
    """Where the next time of a chain is counted from, and the latest row of the chain."""

    step: int
    elapsed: float
    latest: Row
    # An evaluation of unknown length fell between two training records: their difference is no step time.
    spoiled: bool = False

    def restart(self, step: int, elapsed: float) -> None:
        self.step, self.elapsed, self.spoiled = step, elapsed, False


@dataclass(slots=True)
class _Log:
    """State of one pass over the file."""

    chains: Chains = field(default_factory=Chains)
    rows: list[Row] = field(default_factory=list)
    batch: Batch = field(default_factory=lambda: Batch(COLUMNS, BATCH_ROWS * 2))
    events: list[Event] = field(default_factory=list)
    facts: dict[str, Scalar] = field(default_factory=dict)
    records: int = 0
    trained: int = 0
    evaluated: int = 0
    spent_seconds: float = 0.0
    spent_steps: int = 0
    tokens_per_second: Median = field(default_factory=Median)

    def take(self, line: int, record: dict[str, Any]) -> None:
        step, elapsed = _integer(record.get("current_steps")), elapsed_seconds(record.get("elapsed_time"))
        if step is None:
            return
        self.records += 1
        self._remember(record)
        if record.get("loss") is not None:
            self._train(line, record, step, elapsed)
        elif record.get("eval_loss") is not None:
            self._evaluation(line, record, step, elapsed)
        elif record.get("predict_loss") is None and "epoch" in record:
            self._end(line, record, step, elapsed)

    def _train(self, line: int, record: dict[str, Any], step: int, elapsed: float | None) -> None:
        row: Row = {
            "phase": TRAIN,
            "epoch": _number(record.get("epoch")),
            "step": step,
            "elapsed_seconds": elapsed,
            "allocated_bytes": _gib(record.get("vram_allocated")),
            "reserved_bytes": _gib(record.get("vram_reserved")),
            "line": line,
        }
        self.trained += 1
        self.rows.append(row)
        if elapsed is None:
            return
        total = _integer(record.get("total_steps"))
        before = self.chains.follow(total, step, elapsed)
        if before is None:
            self.chains.begin(total, step, elapsed).carried = _Window(step, elapsed, row)
        else:
            self._extend(before.carried, row, step, elapsed)

    def _extend(self, window: _Window, row: Row, step: int, elapsed: float) -> None:
        latest, window.latest = window.latest, row
        if latest.get("steps") is None and latest["step"] == step - int(latest["step"] or 0) == window.step:
            # The first row of a start stands at its own log interval: it began at step 0.
            latest["steps"] = latest["step"]
        spent, steps = elapsed - window.elapsed, step - window.step
        if window.spoiled:
            row["steps"] = steps
            window.restart(step, elapsed)
        elif spent >= SHORTEST_SECONDS:
            row["steps"], row["step_seconds"] = steps, spent / steps
            self.spent_seconds += spent
            self.spent_steps += steps
            window.restart(step, elapsed)

    def _evaluation(self, line: int, record: dict[str, Any], step: int, elapsed: float | None) -> None:
        """Its line is written when the evaluation ends; steps after it are counted from there."""
        self.evaluated += 1
        seconds = None
        chain = None
        if elapsed is not None:
            chain = self.chains.at(_integer(record.get("total_steps")), step, elapsed)
        if chain is not None and elapsed is not None:
            if chain.step == step:
                seconds = elapsed - chain.elapsed
                chain.carried.restart(step, elapsed)
                chain.elapsed = elapsed
            else:
                chain.carried.spoiled = True
        self.events.append(
            Event(
                kind="evaluation",
                seconds=seconds,
                elapsed_seconds=elapsed,
                epoch=_number(record.get("epoch")),
                step=step,
                line=line,
            )
        )

    def _end(self, line: int, record: dict[str, Any], step: int, elapsed: float | None) -> None:
        self.events.append(
            Event(
                kind="end", elapsed_seconds=elapsed, epoch=_number(record.get("epoch")), step=step, line=line
            )
        )
        self.facts["stated_seconds"] = elapsed

    def _remember(self, record: dict[str, Any]) -> None:
        facts = self.facts
        facts["planned.steps"] = _integer(record.get("total_steps")) or facts.get("planned.steps")
        if record.get("loss") is not None:
            facts["details.elapsed_last"] = str(record.get("elapsed_time"))
            facts["details.last_step"] = _integer(record.get("current_steps"))
            for key in ("lr", "learning_rate"):
                if key in record:
                    facts["details.learning_rate_key"] = key
        if "throughput" in record:
            facts["details.has_throughput"] = True
            rate = _number(record["throughput"])
            if rate:
                self.tokens_per_second.add(rate)
        if tokens := _number(record.get("total_tokens")):
            facts["details.total_tokens"] = tokens

    def steps(self, *, rest: bool) -> Iterator[Steps]:
        """Rows in the order of the file, once enough have come."""
        if len(self.rows) >= BATCH_ROWS or rest:
            for row in self.rows:
                self.batch.add(row)
            self.rows.clear()
            yield from self.batch.steps(rest=True)

    def closing_facts(self) -> dict[str, Scalar]:
        several = self.chains.starts > 1
        return {
            "clock": "none",
            "environment.framework": "LLaMA-Factory",
            "details.has_throughput": False,
            **self.facts,
            "details.records": self.records,
            "details.train_records": self.trained,
            "details.evaluation_records": self.evaluated,
            "details.starts": self.chains.starts,
            "details.interleaved_starts": self.chains.interleaved,
            "details.mean_step_seconds": self.spent_seconds / self.spent_steps if self.spent_steps else None,
            "details.tokens_per_second_median": self.tokens_per_second.value,
            "details.runtime_may_count_last_resume_only": several if "stated_seconds" in self.facts else None,
        }


class LlamaFactoryJsonl:
    """See the module."""

    name = "llamafactory_jsonl"
    title = "LLaMA-Factory trainer_log.jsonl"
    looks_for = "readers.llamafactory_jsonl.looks_for"
    counts = "readers.llamafactory_jsonl.counts"
    answers: tuple[Answerable, ...] = ("run_time", "step_time")
    example = (
        '{"current_steps": 10, "total_steps": 500, "loss": 1.9, "lr": 5e-05, "elapsed_time": "0:00:24", ...}'
    )

    def sniff(self, head: Head) -> float:
        if head.binary or b'"current_steps"' not in head.data:
            return 0.0
        if b'"elapsed_time"' in head.data and b'"total_steps"' in head.data:
            return 0.97
        return 0.5

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        troubles = Troubles()
        for number, line in lines:
            if b"current_steps" not in line:
                continue
            for record in objects(line):
                if record is None:
                    cut = not line.endswith(b"\n")
                    troubles.add(f"readers.llamafactory_jsonl.{'cut' if cut else 'broken'}", number)
                else:
                    log.take(number, record)
            if log.events:
                yield Events(tuple(log.events))
                log.events.clear()
            yield from log.steps(rest=False)
        yield from log.steps(rest=True)
        yield Facts(log.closing_facts())
        yield from lines.problems
        yield from troubles.problems()


def objects(line: bytes) -> Iterator[dict[str, Any] | None]:
    """The JSON objects of a line, None for a broken one; two writers at once may glue several together."""
    text = line.decode("utf-8", "replace")
    at = text.find("{")
    while at >= 0:
        try:
            record, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            # A half-written object may stand in front of a whole one.
            at = text.find('{"current_steps"', at + 1)
            continue
        if isinstance(record, dict):
            yield record
        at = text.find("{", at)


def elapsed_seconds(text: Any) -> float | None:
    """Read "0:00:24" and "9 days, 21:49:18"."""
    match = _ELAPSED.match(text) if isinstance(text, str) else None
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _gib(value: Any) -> float | None:
    """RECORD_VRAM writes bytes over 1024**3, and 0.0 where there is no accelerator."""
    number = _number(value)
    return number * GIB if number else None


def _number(value: Any) -> float | None:
    """A finite number, from text too ("throughput": "0.00")."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < LARGEST_NUMBER else None


def _integer(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and abs(value) < LARGEST_INTEGER else None
