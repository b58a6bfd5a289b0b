"""DeepSpeed's log with ``wall_clock_breakdown``, and Megatron-DeepSpeed's iteration lines between.

One row is one optimizer step: the timer line ``time (ms) | fwd: ... | bwd: ... | step: ...`` joined with the
``elapsed time per iteration`` line that follows it. Timer lines of micro-steps hold the same time once more
and are only counted. ``backward_seconds`` is bwd_inner, ``communication_seconds`` is bwd_allreduce: the
reduction that DeepSpeed waits for inside backward. What elapsed holds beyond the timers (data, logging,
garbage collection) is not given a name here: the source does not say what it is.

Where no iteration line is printed (the Hugging Face trainer prints none), a step's time is the difference of
the time stamps of two step lines, if it is at least as long as what the timers say.

"GB" in these lines is 2**30 bytes (deepspeed/runtime/utils.py see_memory_usage, utils/timer.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from weighbridge.readers.base import Events, Facts, Piece
from weighbridge.readers.batch import Batch
from weighbridge.readers.patterns import pattern
from weighbridge.readers.stamp import find_stamp
from weighbridge.readers.tally import Troubles
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import TRAIN, Cell
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar
from weighbridge.units import GIB, MIB

COLUMNS: Final = (
    "phase",
    "rank",
    "step",
    "steps",
    "micro_steps",
    "at_seconds",
    "step_seconds",
    "forward_seconds",
    "backward_seconds",
    "communication_seconds",
    "optimizer_seconds",
    "samples_per_second",
    "allocated_bytes",
    "reserved_bytes",
    "host_bytes",
    "line",
)
# A difference of time stamps that is shorter than the timers inside it comes from lines out of order.
STAMPS_AGREE: Final = 0.95
# An iteration line may overtake its timer line (two streams in one file) by less than this part of a step.
EARLY_PART: Final = 0.5

TIMERS: Final = b"time (ms) |"
_TIMER = pattern(rb"\| *([A-Za-z_]+): *<number>(?= *[|\r\n])")
_LONG_NAMES: Final = {b"forward": b"fwd", b"backward": b"bwd"}
_RANK = pattern(rb"\[Rank <count>\]|\brank=<count>\b")
_ELAPSED = pattern(
    rb"elapsed[ _]time[ _]per[ _]iteration[ _](?:\((ms|s)\): *|(ms|s)= *)<number>(?= *[|\r\n])"
)
_ITERATION = pattern(rb"\biteration(?:=| ) *<count> */ *<count>(?= *[|\r\n])")
_PIPELINE = pattern(rb"\bsteps: <count> .*iter time \(s\): <number> samples/sec: <number>\s")
_STEP = pattern(rb"\bstep=<count>, skipped=")
_RATE = pattern(rb"(?:Curr|[ ,])SamplesPerSec=<number>(?=[,\r\n])")
_LINE_RATE = pattern(rb"samples[_ ]per[_ ]second(?:=|: ) *<number>(?= *[|\r\n])")
_BATCH = pattern(rb"global[_ ]batch[_ ]size(?:=|:) *<count> *\|")
_LENGTH = pattern(rb"actual[_ ]seqlen(?:=|:) *<count> *\|")
_PEAKS = pattern(rb"Max_MA <number> (GB|MB)\s+CA <number> (?:GB|MB)\s+Max_CA <number> (?:GB|MB)")
_TIMER_PEAK = pattern(rb"MaxMemAllocated=<number>GB")
_BREAKDOWN_PEAK = pattern(rb"max_mem_allocated: <number> GB")
_BREAKDOWN_RESERVED = pattern(rb"max_cache_allocated: <number> GB")
_MEGATRON_PEAK = pattern(rb"max allocated: <number> \|.*max reserved: <number>\s")
_HOST = pattern(rb"used = <number> GB, percent = <number>%")
_EVALUATING = pattern(rb"Evaluating iter <count>/\d+")
_EVALUATED = pattern(rb"validation loss at iteration <count>")
_SAVING = pattern(rb"saving checkpoint at iteration +<count>")
_SAVED = pattern(rb"successfully saved checkpoint (?:at|from) iteration +<count>")
_TAG = pattern(rb"Checkpoint (?:global_step|iter_)?<count>? ?\S* ?is about to be saved")
_CONFIG = pattern(
    rb"\b(world_size|train_batch_size|train_micro_batch_size_per_gpu|gradient_accumulation_steps"
    rb"|zero_optimization_stage) \.* <count>\s"
)
_CONFIG_FACTS: Final = {
    b"world_size": "hardware.gpus",
    b"train_batch_size": "planned.global_batch",
    b"train_micro_batch_size_per_gpu": "layout.micro_batch",
    b"gradient_accumulation_steps": "layout.accumulation",
    b"zero_optimization_stage": "layout.zero_stage",
}
_VERSION = pattern(rb"DeepSpeed info: version=([^,\s]+)[,\s]")

Row = dict[str, Cell]


@dataclass(slots=True)
class _Log:
    """One pass. ``ahead`` gathers what is printed before the timer line of the step it belongs to."""

    rows: Batch = field(default_factory=lambda: Batch(COLUMNS))
    facts: dict[str, Scalar] = field(default_factory=lambda: {"environment.framework": "DeepSpeed"})
    events: list[Event] = field(default_factory=list)
    row: Row | None = None
    ahead: Row = field(default_factory=dict)
    peaks: Row = field(default_factory=dict)
    memory_line: int | None = None
    line: int = 0
    last_step: int | None = None
    last_iteration: int | None = None
    last_at: float | None = None
    # Whether stamps or iteration lines tell the time of a step; the first iteration line decides for good, so
    # that a log cut before it gives the same figures.
    by_stamps: bool | None = None
    stamped: bool = False
    iteration_lines: int = 0
    step_lines: int = 0
    micro_lines: int = 0
    micro_since: int = 0
    micro_seconds: dict[str, float] = field(default_factory=dict)
    evaluating_since: float | None = None
    saving_since: float | None = None
    out_of_memory: bool = False

    def take(self, number: int, line: bytes) -> None:
        """Sort the line by its cheapest mark; most lines of a log are none of ours."""
        self.line = number
        if TIMERS in line:
            self._timers(line)
        elif b"per iteration" in line or b"per_iteration" in line:
            self._iteration(line)
        elif b"SamplesPerSec=" in line:
            self._rate(line)
        elif b"Max_MA" in line or b"max allocated" in line:
            self._memory(line)
        elif b"CPU Virtual Memory" in line:
            self._host(line)
        elif b"skipped=" in line:
            if found := _STEP.search(line):
                self.ahead["step"] = int(found[1])
        elif b"iter time (s)" in line:
            self._pipeline(line)
        elif b"terati" in line or b"Evaluating" in line or b"heckpoint" in line:
            self._happening(line)
        elif b"ut of memory" in line or b"OutOfMemory" in line:
            self._no_memory(line)
        elif b".. " in line or b"config.py" in line:
            if found := _CONFIG.search(line):
                self.facts[_CONFIG_FACTS[found[1]]] = int(found[2])
        elif b"DeepSpeed info" in line and (found := _VERSION.search(line)):
            self.facts["environment.framework_version"] = found[1].decode("ascii", "replace")

    def _timers(self, line: bytes) -> None:
        start = line.index(TIMERS)
        timers = {}
        for name, value in _TIMER.findall(line, start):
            head, *rest = name.split(b"_", 1)
            timers[b"_".join([_LONG_NAMES.get(head, head), *rest]).decode()] = float(value) / 1e3
        self._breakdown(line)
        if any(name.endswith("_microstep") for name in timers):
            self.micro_lines += 1
            self.micro_since += 1
            for name, seconds in timers.items():
                self.micro_seconds[name] = self.micro_seconds.get(name, 0.0) + seconds
        elif "bwd_inner" in timers or "step" in timers or b"| bwd:" in line:
            # A line with fwd alone is the mixture-of-experts breakdown printed before the step line;
            # Megatron's own timers (forward, backward, optimizer) come under the same heading.
            self._step_line(line, start, timers)

    def _step_line(self, line: bytes, start: int, timers: dict[str, float]) -> None:
        self.step_lines += 1
        at = find_stamp(line, start)
        rank = _RANK.search(line, 0, start)
        reduced = timers.get("bwd_allreduce")
        backward = timers.get("bwd_inner")
        if backward is None and timers.get("bwd", 0.0) >= (reduced or 0.0) and line.endswith(b"\n"):
            # Not in a cut line, whose bwd_inner may be what is missing.
            backward = timers["bwd"] - (reduced or 0.0) if "bwd" in timers else None
        cells: Row = {
            "rank": int(rank[1] or rank[2]) if rank else None,
            "at_seconds": at,
            "forward_seconds": timers.get("fwd"),
            "backward_seconds": backward,
            "communication_seconds": reduced,
            "optimizer_seconds": timers.get("step"),
            "micro_steps": self.micro_since or None,
            "line": self.line,
        }
        self.micro_since = 0
        if self._waits_for_timers(at):
            step = self.row["step"] if self.row else None
            self.row = {**(self.row or {}), **self.ahead, **cells, "step": step}
        else:
            self._close()
            # Numbered by the lines that print a number, counted on between them.
            counted = self.last_step + 1 if self.last_step is not None else None
            self.row = {"step": counted, "steps": 1, **self.ahead, **cells}
        self.ahead = {}
        self._timed(self.row, timers)

    def _waits_for_timers(self, at: float | None) -> bool:
        """Whether the open row is an iteration line that overtook the timer line now read."""
        row = self.row
        if row is None or row.get("optimizer_seconds") is not None or row.get("forward_seconds") is not None:
            return False
        early, step = row.get("at_seconds"), row.get("step_seconds")
        if at is None or not isinstance(early, float) or not isinstance(step, float):
            return False
        return 0.0 <= at - early < EARLY_PART * step

    def _timed(self, row: Row, timers: dict[str, float]) -> None:
        """Without iteration lines the stamps of two step lines have to tell the time of a step."""
        at = row.get("at_seconds")
        if not isinstance(at, float):
            return
        if self.by_stamps is not False and self.last_at is not None and "step_seconds" not in row:
            inside = sum(timers.get(name, 0.0) for name in ("fwd", "bwd", "step"))
            if at - self.last_at >= inside * STAMPS_AGREE and at > self.last_at:
                row["step_seconds"] = at - self.last_at
                self.stamped = True
        self.last_at = at

    def _iteration(self, line: bytes) -> None:
        found = _ELAPSED.search(line)
        if found is None:
            return
        seconds = float(found[3]) / (1e3 if (found[1] or found[2]) == b"ms" else 1.0)
        number = _ITERATION.search(line)
        step = int(number[1]) if number else None
        at = find_stamp(line, number.start() if number else found.start())
        self.iteration_lines += 1
        timed = self.row is not None and not self.row.get("joined") and "step_seconds" in self.row
        if self.by_stamps is None:
            # A step that has its time by now was counted before: this line is a mean over several.
            self.by_stamps = timed
        cells: Row = {"step": step} if timed else {"step": step, "step_seconds": seconds}
        if rate := _LINE_RATE.search(line):
            cells["samples_per_second"] = float(rate[1])
        if self.row is not None and not self.row.get("joined"):
            self.row |= cells
        else:
            self._close()
            steps = self._steps_to(step)
            self.row = {**self.ahead, "at_seconds": at, "steps": steps, "line": self.line, **cells}
            self.ahead = {}
        self.row["joined"] = 1
        self.last_iteration = step if step is not None else self.last_iteration
        self._plan(line, number)

    def _steps_to(self, step: int | None) -> int | None:
        if step is None or self.last_iteration is None or step <= self.last_iteration:
            return 1 if step == 1 else None
        return step - self.last_iteration

    def _plan(self, line: bytes, number: re.Match[bytes] | None) -> None:
        if number:
            self.facts["planned.steps"] = int(number[2])
        if found := _BATCH.search(line):
            self.facts["planned.global_batch"] = int(found[1])
        if found := _LENGTH.search(line):
            self.facts["planned.sequence_length"] = int(found[1])

    def _pipeline(self, line: bytes) -> None:
        """The pipeline engine prints the mean of its last steps_per_print steps."""
        if found := _PIPELINE.search(line):
            step = int(found[1])
            self._close()
            self.row = {
                **self.ahead,
                "step": step,
                "steps": self._steps_to(step),
                "step_seconds": float(found[2]),
                "samples_per_second": float(found[3]),
                "line": self.line,
                "joined": 1,
            }
            self.ahead = {}
            self.iteration_lines += 1
            self.last_iteration = step

    def _rate(self, line: bytes) -> None:
        if found := _RATE.search(line):
            self.ahead["samples_per_second"] = float(found[1])
        if found := _TIMER_PEAK.search(line):
            self._peak("allocated_bytes", float(found[1]) * GIB)

    def _breakdown(self, line: bytes) -> None:
        if b"mem_allocated" in line:
            if found := _BREAKDOWN_PEAK.search(line):
                self._peak("allocated_bytes", float(found[1]) * GIB)
            if found := _BREAKDOWN_RESERVED.search(line):
                self._peak("reserved_bytes", float(found[1]) * GIB)

    def _memory(self, line: bytes) -> None:
        if found := _PEAKS.search(line):
            unit = GIB if found[2] == b"GB" else MIB
            now, peak = float(found[3]), float(found[4])
            self._peak("allocated_bytes", float(found[1]) * unit)
            # Max_CA is rounded to a whole number, CA to two decimals: where CA rounds to it, CA says more.
            self._peak("reserved_bytes", (now if round(now) == peak else peak) * unit)
        elif found := _MEGATRON_PEAK.search(line):
            self._peak("allocated_bytes", float(found[1]) * MIB)
            self._peak("reserved_bytes", float(found[2]) * MIB)

    def _host(self, line: bytes) -> None:
        if found := _HOST.search(line):
            used = float(found[1]) * GIB
            self._peak("host_bytes", used)
            percent = float(found[2])
            if percent:
                self.facts["details.host_memory_bytes_estimate"] = used / percent * 100

    def _peak(self, name: str, value: float) -> None:
        """A peak of the step that comes, and of the whole log."""
        self.memory_line = self.memory_line or self.line
        for peaks in (self.ahead, self.peaks):
            held = peaks.get(name)
            peaks[name] = max(held, value) if isinstance(held, float) else value

    def _happening(self, line: bytes) -> None:
        at = find_stamp(line)
        if found := _EVALUATING.search(line):
            if int(found[1]) == 1 or self.evaluating_since is not None:
                self.evaluating_since = self.evaluating_since or at
        elif found := _EVALUATED.search(line):
            self._event("evaluation", int(found[1]), at, self.evaluating_since)
            self.evaluating_since = None
        elif found := _SAVED.search(line):
            self._event("checkpoint", int(found[1]), at, self.saving_since)
            self.saving_since = None
        elif _SAVING.search(line):
            self.saving_since = at
        elif (found := _TAG.search(line)) and self.saving_since is None:
            self._event("checkpoint", int(found[1]) if found[1] else None, at, None)

    def _no_memory(self, line: bytes) -> None:
        if not self.out_of_memory:
            self.out_of_memory = True
            self._event("out_of_memory", self.last_step, find_stamp(line), None)

    def _event(self, kind: Any, step: int | None, at: float | None, since: float | None) -> None:
        seconds = at - since if at is not None and since is not None and at >= since else None
        self.events.append(Event(kind=kind, step=step, at_seconds=at, seconds=seconds, line=self.line))

    def _close(self) -> None:
        row = self.row
        if row is None:
            return
        self.row = None
        self.out_of_memory = False
        row["phase"] = TRAIN
        step = row.get("step")
        self.last_step = step if isinstance(step, int) else self.last_step
        self.rows.add(row)

    def finish(self) -> None:
        """The last row. Memory printed after it is of a step that is not there; alone it makes one row."""
        if self.row is None and not self.rows.total and self.peaks:
            self.row = {**self.peaks, "micro_steps": self.micro_since or None, "line": self.memory_line}
        self._close()
        self.facts |= {
            **{f"details.{name}_maximum": value for name, value in self.peaks.items()},
            "details.step_lines": self.step_lines,
            "details.micro_lines": self.micro_lines,
            "details.iteration_lines": self.iteration_lines,
            "details.step_seconds_from": "time stamps" if self.stamped else None,
        }
        for name, seconds in self.micro_seconds.items():
            self.facts[f"details.{name}_total_seconds"] = seconds


class DeepspeedText:
    """See the module."""

    name = "deepspeed_text"
    title = "DeepSpeed log"
    looks_for = "readers.deepspeed_text.looks_for"
    counts = "readers.deepspeed_text.counts"
    answers: tuple[Answerable, ...] = (
        "step_time",
        "compute",
        "exposed_communication",
        "allocated_memory",
        "reserved_memory",
    )
    example = (
        "[Rank 0] time (ms) | fwd: 715.40 | bwd: 2402.86 | bwd_inner: 1223.70 | bwd_allreduce: 1178.40 | ..."
    )

    def sniff(self, head: Head) -> float:
        data = head.data
        if head.binary:
            return 0.0
        if TIMERS in data and (b"bwd" in data or b"backward_inner" in data or b"_microstep" in data):
            return 0.94
        if b"Max_MA " in data or b"CurrSamplesPerSec=" in data:
            return 0.84
        if _ELAPSED.search(data):
            return 0.74 if b"DeepSpeed" in data else 0.54
        return 0.64 if b"iter time (s):" in data and b"samples/sec:" in data else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        troubles = Troubles()
        clock = False
        for number, line in lines:
            log.take(number, line)
            if log.events:
                clock = clock or any(event.at_seconds is not None for event in log.events)
                yield Events(tuple(log.events))
                log.events.clear()
            yield from log.rows.steps()
        log.finish()
        yield from log.rows.steps(rest=True)
        clock = clock or log.last_at is not None
        yield Facts({"clock": "local" if clock else "none", **log.facts})
        if log.micro_lines and not log.step_lines:
            troubles.add("readers.deepspeed_text.no_step_lines", None)
        yield from lines.problems
        yield from troubles.problems()
