"""torchtitan's standard output: ``step: 10  loss: ...  memory: 1.34GiB(0.96%)  tps: 338,287  mfu: 2.45%``.

``tps`` (``wps`` until 2025) is tokens per second *per device* over the window since the line before: tokens
of the data-parallel rank / (time x context x tensor x pipeline degree), components/metrics.py. With the
tokens of a step it gives the time of a step to four digits; the time stamps give it to a millisecond, which
is 2 per cent of a small model's step. Where the tokens of a step are not printed the stamps have to do; where
the parallel degrees are not printed, stamps and tokens together tell the divisor.

``memory`` is the peak reserved by the caching allocator since the line before. A line may be printed by every
rank, with the launcher's ``[rankN]:`` before it or without. Lines without it may come late by one window;
they are put back in order, so that no restart is seen where ranks merely overtook each other.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from weighbridge.readers.base import Events, Facts, Piece, Steps
from weighbridge.readers.batch import Batch
from weighbridge.readers.line_prefix import rank_of
from weighbridge.readers.patterns import pattern
from weighbridge.readers.stamp import first_stamp
from weighbridge.readers.tally import Median, Troubles
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import TRAIN, Cell
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar
from weighbridge.units import GIB

COLUMNS: Final = (
    "phase",
    "rank",
    "step",
    "steps",
    "micro_steps",
    "at_seconds",
    "step_seconds",
    "data_wait_seconds",
    "reserved_bytes",
    "line",
)
# Rows held back until stamps and tokens have told how many devices share a data-parallel rank's tokens.
COMPARED_ROWS: Final = 8
HELD_ROWS: Final = 512
# Windows shorter than this are too coarse in milliseconds to compare.
COMPARABLE_SECONDS: Final = 0.02
DIVISOR_TOLERANCE: Final = 0.1
# A larger mesh is damage.
MOST_DEVICES: Final = 10**7

_STEP = pattern(rb"(?<!validate )\bstep: *<count> +loss: *(\S+)\s")
_VALIDATED = pattern(rb"validate step: *<count> +loss:")
_RATE = pattern(rb"\b[tw]ps: *(\d[\d,]{0,20})(?=\s)")
_MEMORY = pattern(rb"memory: *<number>GiB\(<number>%\)")
_TFLOPS = pattern(rb"tflops: *(\d[\d,]{0,20}(?:\.\d{1,20})?)\s")
_MFU = pattern(rb"mfu: *<number>%")
# Only the first weeks of 2024 printed these: iteration by CUDA events, and data loading before it.
_TIMES = pattern(rb"iter: *<number> +data: *<number> ")

_CAPACITY = pattern(rb"capacity: (.+?)(?: \(\d+\))? with <number>GiB memory")
_MODEL = pattern(rb"Model (.+?) size: (\d[\d,]{0,20}) total parameters")
_BATCH = pattern(rb"local batch size:? <count>[,\s]")
_GLOBAL = pattern(rb"global batch size:? <count>[,\s]")
_LENGTH = pattern(rb"(?:sequence|maximum context) length:? <count>[,\s]")
_TOTAL = pattern(rb"total steps:? <count>[ (]")
_ACCUMULATION = pattern(rb"gradient accumulation steps:? <count>[,\s]")
_RANK_TOKENS = pattern(rb"<count> tokens per DP rank, <count> tokens per train step")
_BEGINS = pattern(rb"Training starts at step <count>\b")
_MESH = pattern(rb"Building \d+-D device mesh with \[(.*?)\], \[(.*?)\]")
_DEGREES = pattern(rb"\b(pp|dp_replicate|dp_shard|cp|tp|ep) ?= ?<count>")
_SAVED = pattern(rb"Finished saving the checkpoint.*?\bin <number> seconds")
_CHECKPOINTING = pattern(rb"Applied (\w+) activation checkpointing")
_JOB = pattern(rb"Starting job: (.+?)\s*\n")

_LAYOUT: Final = {
    "pp": "layout.pipeline_parallel",
    "cp": "layout.context_parallel",
    "tp": "layout.tensor_parallel",
    "ep": "layout.expert_parallel",
}
Row = dict[str, Cell]


@dataclass(slots=True)
class _Rank:
    """Where one rank's lines have got to."""

    step: int | None = None
    at: float | None = None
    steps: int | None = None
    # Where the window of ``step`` began, for other ranks' lines of it that carry no rank.
    began_at: float | None = None
    # The window before: its step, its steps, its beginning.
    before: tuple[int | None, int | None, float | None] = (None, None, None)
    saved_seconds: float = 0.0


def _came_late(state: _Rank, at: float | None) -> bool:
    """Whether a line of the window before was stamped before the window that stands now was over."""
    if at is None or state.at is None:
        return True
    spent = state.at - state.began_at if state.began_at is not None else 0.0
    return at <= state.at + spent / 2


@dataclass(slots=True)
class _Tokens:
    """What the log says of the tokens of one step, and what stamps say of the devices that share them."""

    batch: int | None = None
    length: int | None = None
    accumulation: int | None = None
    rank_tokens: int | None = None
    degrees: dict[str, int] = field(default_factory=dict)
    divisor: int | None = None
    decided: bool = False
    ratios: list[float] = field(default_factory=list)

    @property
    def per_rank_step(self) -> int | None:
        tokens = self.rank_tokens
        if tokens is None and self.batch is not None and self.length is not None:
            tokens = self.batch * self.length
        return tokens * (self.accumulation or 1) if tokens else None

    def shared_by(self) -> int | None:
        """Devices per data-parallel rank: printed, or found, or not known."""
        if self.degrees:
            # "sp" is what the first versions called tensor parallelism.
            return math.prod(self.degrees.get(name, 1) for name in ("cp", "tp", "pp", "sp"))
        return self.divisor

    def decide(self) -> None:
        """The whole number that brings tokens and stamps together; None where there is none."""
        self.decided = True
        if self.ratios:
            ratio = statistics.median(self.ratios)
            nearest = max(round(ratio), 1)
            self.divisor = nearest if abs(ratio / nearest - 1) <= DIVISOR_TOLERANCE else None


@dataclass(slots=True)
class _Log:
    rows: Batch = field(default_factory=lambda: Batch(COLUMNS))
    held: list[tuple[Row, float | None, float | None]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    facts: dict[str, Scalar] = field(default_factory=lambda: {"environment.framework": "torchtitan"})
    ranks: dict[int | None, _Rank] = field(default_factory=dict)
    lead: int | None = None
    last_event: tuple[str, int | None] | None = None
    tokens: _Tokens = field(default_factory=_Tokens)
    begins_at: int | None = None
    stamped: bool = False
    by_stamps: int = 0
    rates: Median = field(default_factory=Median)
    tflops: Median = field(default_factory=Median)
    mfu: Median = field(default_factory=Median)
    memory_share: float | None = None
    out_of_memory: bool = False

    def take(self, number: int, line: bytes) -> None:
        """Sort the line by its cheapest mark."""
        if b"step:" in line and b"loss:" in line:
            if found := _STEP.search(line):
                self._step(number, line, found)
            elif found := _VALIDATED.search(line):
                self._validated(number, line, int(found[1]))
        elif b"Finished saving" in line:
            self._saved(number, line)
        elif b"ut of memory" in line or b"OutOfMemory" in line:
            if not self.out_of_memory:
                self.out_of_memory = True
                at, rank = first_stamp(line), rank_of(line)
                self.events.append(Event(kind="out_of_memory", at_seconds=at, rank=rank, line=number))
        elif b"Training completed" in line:
            self._event("end", number, line, None, None)
        elif b"INFO" in line or b"[titan]" in line:
            self._fact(line)

    def _step(self, number: int, line: bytes, found: re.Match[bytes]) -> None:
        self.out_of_memory = False
        step, at, rank = int(found[1]), first_stamp(line), rank_of(line)
        self.stamped = self.stamped or at is not None
        if not self.ranks:
            self.lead = rank
        state = self.ranks.setdefault(rank, _Rank())
        steps, began_at = self._window(state, step, at)
        row: Row = {
            "phase": TRAIN,
            "rank": rank,
            "step": step,
            "steps": steps,
            "micro_steps": self.tokens.accumulation,
            "at_seconds": at,
            "line": number,
        }
        rate = _RATE.search(line)
        tokens_per_second = float(rate[1].replace(b",", b"")) if rate else None
        self._gauges(line, row, tokens_per_second, first=step == 1)
        spent = at - began_at if at is not None and began_at is not None else None
        # A cut line may have lost its rate: stamps must not stand in for it then.
        by_stamps = spent / steps if spent and spent > 0 and steps and line.endswith(b"\n") else None
        if times := _TIMES.search(line):
            row["data_wait_seconds"] = float(times[2])
            row["step_seconds"] = float(times[1]) + float(times[2])
        self._place(row, tokens_per_second, by_stamps)

    def _window(self, state: _Rank, step: int, at: float | None) -> tuple[int | None, float | None]:
        """Steps of the window that ends at ``step``, and when it began.

        A repeated step is another rank's line of the same window; one of the window before came late.
        """
        if state.step is not None and step == state.before[0] and _came_late(state, at):
            return state.before[1], state.before[2]
        if step != state.step:
            before = (state.step, state.steps, state.began_at)
            if state.step is not None and step > state.step:
                state.steps, state.began_at, state.before = step - state.step, state.at, before
            else:
                # Another start: nothing that is held may be sorted across it.
                self.release(everything=True)
                begins = self.begins_at or (1 if step == 1 else None)
                state.steps = step - begins + 1 if begins is not None and begins <= step else None
                state.began_at, state.before = None, (None, None, None)
            state.step, state.at, state.saved_seconds = step, at, 0.0
        return state.steps, state.began_at

    def _gauges(self, line: bytes, row: Row, rate: float | None, *, first: bool) -> None:
        if memory := _MEMORY.search(line):
            row["reserved_bytes"] = float(memory[1]) * GIB
            self.memory_share = max(self.memory_share or 0.0, float(memory[2]) / 100)
        if first:
            # Compilation and allocator warm-up: the row stays, the medians do without it.
            return
        if rate:
            self.rates.add(rate)
        if found := _TFLOPS.search(line):
            self.tflops.add(float(found[1].replace(b",", b"")))
        if found := _MFU.search(line):
            self.mfu.add(float(found[1]) / 100)

    def _place(self, row: Row, rate: float | None, by_stamps: float | None) -> None:
        """Rows wait in ``held`` until the divisor of the rate is known."""
        tokens = self.tokens.per_rank_step
        known = self.tokens.decided or bool(self.tokens.degrees)
        if tokens and rate and not known and by_stamps and by_stamps >= COMPARABLE_SECONDS:
            self.tokens.ratios.append(tokens / rate / by_stamps)
        self.held.append((row, rate, by_stamps))
        enough = len(self.tokens.ratios) >= COMPARED_ROWS or len(self.held) >= HELD_ROWS
        if known or enough:
            self.release()

    def release(self, *, everything: bool = False) -> None:
        """Hand on what is held, but for lines without a rank that others of their window may still follow."""
        if not self.held:
            return
        if not self.tokens.decided:
            self.tokens.decide()
        unnamed = self.ranks.get(None)
        open_steps = (unnamed.step, unnamed.before[0]) if unnamed and len(self.held) < HELD_ROWS else ()
        kept: list[tuple[Row, float | None, float | None]] = []
        ready: list[tuple[Row, float | None, float | None]] = []
        for item in self.held:
            still_open = item[0]["rank"] is None and item[0]["step"] in open_steps
            (kept if still_open and not everything else ready).append(item)
        self.held = kept
        ready.sort(key=lambda item: int(item[0]["step"] or 0))
        tokens, shared_by = self.tokens.per_rank_step, self.tokens.shared_by()
        for row, rate, by_stamps in ready:
            if row.get("step_seconds") is None:
                if tokens and rate and shared_by:
                    row["step_seconds"] = tokens / (rate * shared_by)
                elif by_stamps:
                    row["step_seconds"] = by_stamps
                    self.by_stamps += 1
            self.rows.add(row)

    def _validated(self, number: int, line: bytes, step: int) -> None:
        """Printed at the end of a validation; the next window begins here."""
        at, state = first_stamp(line), self.ranks.get(rank_of(line))
        seconds = None
        if state is not None and state.step == step and at is not None and state.at is not None:
            seconds = max(at - state.at - state.saved_seconds, 0.0)
        self._event("evaluation", number, line, step, seconds)
        if state is not None:
            state.at, state.saved_seconds = at, 0.0

    def _saved(self, number: int, line: bytes) -> None:
        if found := _SAVED.search(line):
            state = self.ranks.get(rank_of(line))
            seconds = float(found[1])
            self._event("checkpoint", number, line, state.step if state else None, seconds)
            if state is not None:
                state.saved_seconds += seconds

    def _event(self, kind: Any, number: int, line: bytes, step: int | None, seconds: float | None) -> None:
        at, rank = first_stamp(line), rank_of(line)
        self.stamped = self.stamped or at is not None
        # Every rank may say it; the first one that logged stands for all.
        if (kind, step) != self.last_event and (rank == self.lead or not self.ranks):
            self.last_event = (kind, step)
            self.events.append(
                Event(kind=kind, step=step, rank=rank, at_seconds=at, seconds=seconds, line=number)
            )

    def _fact(self, line: bytes) -> None:
        facts, tokens = self.facts, self.tokens
        if found := _CAPACITY.search(line):
            facts["hardware.gpu_name"] = found[1].decode("utf-8", "replace")
            facts["hardware.gpu_memory_bytes"] = round(float(found[2]) * GIB)
        elif found := _MODEL.search(line):
            facts["planned.model"] = found[1].decode("utf-8", "replace")
            facts["planned.parameters"] = int(found[2].replace(b",", b""))
        elif found := _CHECKPOINTING.search(line):
            facts["layout.checkpointing"] = found[1].decode("ascii", "replace")
        elif found := _JOB.search(line):
            facts["name"] = found[1].decode("utf-8", "replace")
        elif b"device mesh" in line:
            self._mesh(line)
        elif b"Peak FLOPS" in line:
            facts["details.peak_flops"] = line.rsplit(b" ", 1)[-1].strip().decode("ascii", "replace")
        elif b"Trainer is initialized" in line or b"Training starts" in line:
            self._plan(line, tokens)

    def _plan(self, line: bytes, tokens: _Tokens) -> None:
        facts = self.facts
        if found := _BATCH.search(line):
            tokens.batch = facts["planned.batch_per_device"] = facts["layout.micro_batch"] = int(found[1])
        if found := _GLOBAL.search(line):
            facts["planned.global_batch"] = int(found[1])
        if found := _LENGTH.search(line):
            tokens.length = facts["planned.sequence_length"] = int(found[1])
        if found := _TOTAL.search(line):
            facts["planned.steps"] = int(found[1])
        if found := _ACCUMULATION.search(line):
            tokens.accumulation = facts["layout.accumulation"] = int(found[1])
        whole, part = facts.get("planned.global_batch"), (tokens.batch or 0) * (tokens.accumulation or 1)
        if isinstance(whole, int) and part and whole % part == 0:
            facts.setdefault("layout.data_parallel", whole // part)
        if found := _RANK_TOKENS.search(line):
            tokens.rank_tokens = facts["details.tokens_per_rank"] = int(found[1])
            facts["details.tokens_per_step"] = int(found[2])
        if found := _BEGINS.search(line):
            # Another start begins: this rank has no window before its next one.
            self.release(everything=True)
            self.ranks.pop(rank_of(line), None)
            self.begins_at = int(found[1])

    def _mesh(self, line: bytes) -> None:
        degrees = {name.decode(): int(degree) for name, degree in _DEGREES.findall(line)}
        if found := _MESH.search(line):
            names = [name.strip(b" '\"").decode("ascii", "replace") for name in found[1].split(b",")]
            sizes = [int(size) for size in found[2].split(b",") if re.fullmatch(rb" *\d{1,7} *", size)]
            degrees = dict(zip(names, sizes, strict=False))
        if not degrees or b"=-1" in line or math.prod(degrees.values()) > MOST_DEVICES:
            return
        self.tokens.degrees = degrees
        for name, path in _LAYOUT.items():
            if name in degrees:
                self.facts[path] = degrees[name]
        data = [degree for name, degree in degrees.items() if name.startswith("dp")]
        if data:
            self.facts["layout.data_parallel"] = math.prod(data)
        # Experts live on the devices of the other dimensions.
        self.facts["hardware.gpus"] = math.prod(
            degree for name, degree in degrees.items() if not name.startswith("ep")
        )

    def closing_facts(self) -> dict[str, Scalar]:
        return {
            "clock": "local" if self.stamped else "none",
            **self.facts,
            "details.tokens_per_second_per_device_median_after_first": self.rates.value,
            "details.tflops_median_after_first": self.tflops.value,
            "details.model_flops_share_median_after_first": self.mfu.value,
            "details.memory_share_maximum": self.memory_share,
            "details.step_seconds_from": "time stamps" if self.by_stamps else None,
        }


class TorchtitanText:
    """See the module."""

    name = "torchtitan_text"
    title = "torchtitan standard output"
    looks_for = "readers.torchtitan_text.looks_for"
    counts = "readers.torchtitan_text.counts"
    answers: tuple[Answerable, ...] = ("step_time", "reserved_memory")
    example = "step: 10  loss:  3.9761  memory:  1.34GiB(0.96%)  tps: 324,245  tflops: 23.21  mfu: 2.35%"

    def sniff(self, head: Head) -> float:
        if head.binary or b"step:" not in head.data:
            return 0.0
        found = any(
            _STEP.search(line) and (_RATE.search(line) or _TIMES.search(line))
            for line in head.data.splitlines(keepends=True)
            if b"step:" in line
        )
        if found:
            return 0.96 if b"titan" in head.data or b"GiB(" in head.data else 0.66
        return 0.56 if b"[titan]" in head.data else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        troubles = Troubles()
        for number, line in lines:
            log.take(number, line)
            yield from self._ready(log, rest=False)
        log.release(everything=True)
        yield from self._ready(log, rest=True)
        yield Facts(log.closing_facts())
        if log.by_stamps:
            troubles.add("readers.torchtitan_text.pace_from_stamps", None)
        yield from lines.problems
        yield from troubles.problems()

    @staticmethod
    def _ready(log: _Log, *, rest: bool) -> Iterator[Steps | Events]:
        if log.events:
            yield Events(tuple(log.events))
            log.events.clear()
        yield from log.rows.steps(rest=rest)
