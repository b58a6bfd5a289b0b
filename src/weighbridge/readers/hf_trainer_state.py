"""Hugging Face ``trainer_state.json``: what was logged at which step, and how long the last start took.

The state prints no clock. Only the entry that closes a training has ``train_runtime``; a state saved in a
checkpoint has no time at all, so ``step_seconds`` stays unknown. ``train_steps_per_second`` is rounded to
three decimals (15 per cent off at 394 s a step) and is never used.

``train_runtime`` counts the last start only, while ``global_step`` counts all of them. The state does not
say where the last start began, but its ``train_loss`` does: it is the loss summed over the steps of the last
start divided by ``global_step`` (Trainer._inner_training_loop), and the logged losses give the same sum over
any steps. The two are held against each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from weighbridge.readers.base import Events, Facts, Piece
from weighbridge.readers.batch import Batch
from weighbridge.readers.json_stream import BrokenJson, JsonCursor
from weighbridge.readers.tally import Troubles
from weighbridge.readers.text import Head
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import TRAIN
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar

COLUMNS: Final = ("phase", "epoch", "step", "steps", "elapsed_seconds", "step_seconds", "line")
KEPT: Final = (
    "global_step",
    "max_steps",
    "epoch",
    "logging_steps",
    "save_steps",
    "eval_steps",
    "total_flos",
    "num_input_tokens_seen",
    "train_batch_size",
)
KEPT_SUMS: Final = 4096
# A larger number is damage, and would not fit into the record.
LARGEST_INTEGER: Final = 1 << 53
# total_flos of the largest runs is below 1e27.
LARGEST_NUMBER: Final = 1e36
# Logged losses are rounded to four decimals; two sums over the same steps agree far better than this.
SAME_LOSS: Final = 0.02


@dataclass(slots=True)
class LossSum:
    """Loss summed over steps, and that sum at earlier steps (thinned out to stay bounded)."""

    total: float = 0.0
    usable: bool = True
    last_step: int = 0
    last_loss: float = 0.0
    earlier: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])
    _stride: int = 1
    _seen: int = 0

    def add(self, step: int, loss: Any) -> None:
        number = _number(loss)
        if number is None or number < 0 or step <= self.last_step:
            self.usable = False
            return
        self.total += number * (step - self.last_step)
        self.last_step, self.last_loss = step, number
        self._seen += 1
        if self._seen % self._stride == 0:
            self.earlier.append((step, self.total))
            if len(self.earlier) > KEPT_SUMS:
                del self.earlier[1::2]
                self._stride *= 2

    def steps_of_last_start(self, train_loss: float | None, global_step: int) -> int | None:
        """Steps that the last start ran, from what its mean loss says; None when the losses do not say."""
        tail = self.last_loss * (global_step - self.last_step)
        whole = self.total + tail
        if not self.usable or train_loss is None or whole <= 0 or len(self.earlier) < 3:
            return None
        missing = whole - train_loss * global_step
        if abs(missing) <= SAME_LOSS * whole:
            return global_step
        if missing < 0:
            return None
        begun = self._step_at(missing)
        return global_step - begun if begun is not None and begun < global_step else None

    def _step_at(self, total: float) -> int | None:
        for (step, before), (next_step, after) in zip(self.earlier, self.earlier[1:], strict=False):
            if before <= total <= after:
                part = (total - before) / (after - before) if after > before else 0.0
                return round(step + part * (next_step - step))
        return None


@dataclass(slots=True)
class _History:
    """What has been read of the log so far."""

    rows: Batch = field(default_factory=lambda: Batch(COLUMNS))
    losses: LossSum = field(default_factory=LossSum)
    entries: int = 0
    evaluations: int = 0
    evaluation_seconds: float = 0.0
    ends: int = 0
    end: dict[str, Any] = field(default_factory=dict)
    last_step: int = 0
    last_elapsed: float | None = None
    # Evaluation since the last training entry: the runtime of the next one counts it too.
    evaluated_seconds: float = 0.0

    def take(self, line: int, entry: dict[str, Any]) -> list[Event]:
        self.entries += 1
        events: list[Event] = []
        if "loss" in entry:
            self._train(line, entry)
        elif "train_runtime" in entry:
            self.ends += 1
            self.end = entry
            events.append(_event("end", line, entry, _number(entry["train_runtime"])))
        if any(key.startswith("eval_") for key in entry):
            events.append(self._evaluation(line, entry))
        return events

    def _train(self, line: int, entry: dict[str, Any]) -> None:
        step = _whole(entry.get("step"))
        elapsed = _number(entry.get("train_runtime"))
        steps = seconds = None
        if step is not None:
            self.losses.add(step, entry["loss"])
            steps = step - self.last_step if step > self.last_step else None
            seconds = self._seconds(elapsed, steps)
            self.last_step, self.last_elapsed = step, elapsed
        else:
            self.losses.usable = False
        self.evaluated_seconds = 0.0
        self.rows.add(
            {
                "phase": TRAIN,
                "epoch": _number(entry.get("epoch")),
                "step": step,
                "steps": steps,
                "elapsed_seconds": elapsed,
                "step_seconds": seconds,
                "line": line,
            }
        )

    def _seconds(self, elapsed: float | None, steps: int | None) -> float | None:
        """Trainers that count tokens may repeat ``train_runtime`` in every entry; it spans evaluations."""
        if elapsed is None or self.last_elapsed is None or not steps:
            return None
        spent = elapsed - self.last_elapsed - self.evaluated_seconds
        return spent / steps if spent > 0 else None

    def _evaluation(self, line: int, entry: dict[str, Any]) -> Event:
        self.evaluations += 1
        named = (_number(value) for key, value in entry.items() if re.fullmatch(r"eval_(?:.*_)?runtime", key))
        runtimes = [runtime for runtime in named if runtime is not None]
        seconds = sum(runtimes) if runtimes else None
        self.evaluation_seconds += seconds or 0.0
        self.evaluated_seconds += seconds or 0.0
        return _event("evaluation", line, entry, seconds)


class HfTrainerState:
    """See the module."""

    name = "hf_trainer_state"
    title = "Hugging Face trainer_state.json"
    looks_for = "readers.hf_trainer_state.looks_for"
    counts = "readers.hf_trainer_state.counts"
    answers: tuple[Answerable, ...] = ("run_time", "evaluation_time")
    example = '{"global_step": 500, "log_history": [{"epoch": 0.1, "loss": 1.23, "step": 10}, ...'

    def sniff(self, head: Head) -> float:
        if head.binary or not head.data.lstrip().startswith(b"{"):
            return 0.0
        if b'"log_history"' in head.data and b'"global_step"' in head.data:
            return 0.97
        return 0.6 if b'"log_history"' in head.data else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        cursor = JsonCursor(stream)
        history = _History()
        state: dict[str, Any] = {}
        troubles = Troubles()
        try:
            for member in cursor.members():
                if member == "log_history" and cursor.peek() == "[":
                    for line, entry in cursor.elements():
                        if isinstance(entry, dict):
                            if events := history.take(line, entry):
                                yield Events(tuple(events))
                            yield from history.rows.steps()
                else:
                    state[member] = cursor.value()
        except BrokenJson as error:
            code = "cut" if error.cut else "broken"
            troubles.add(f"readers.hf_trainer_state.{code}", cursor.line)
        for _ in range(cursor.skipped):
            troubles.add("readers.hf_trainer_state.broken_entry", cursor.skipped_line)
        yield from history.rows.steps(rest=True)
        yield Facts(_facts(state, history, cursor.odd_tokens))
        yield from troubles.problems()


def _facts(state: dict[str, Any], history: _History, odd_tokens: set[str]) -> dict[str, Scalar]:
    end = history.end
    facts: dict[str, Scalar] = {f"details.{key}": _number(state.get(key)) for key in KEPT}
    facts |= {f"details.{key}": _number(end.get(key)) for key in end if key.startswith("train_")}
    facts |= {
        "clock": "none",
        "environment.framework": "transformers",
        "planned.steps": _whole(state.get("max_steps")),
        "planned.epochs": _number(state.get("num_train_epochs")),
        "planned.batch_per_device": _whole(state.get("train_batch_size")),
        "details.log_entries": history.entries,
        "details.train_entries": history.rows.total,
        "details.evaluation_entries": history.evaluations,
        "details.evaluation_seconds": history.evaluation_seconds if history.evaluations else None,
        "details.has_nan": "NaN" in odd_tokens,
        "details.python_json_only_tokens": bool(odd_tokens),
        "details.checkpoints_by_save_steps": _checkpoints(state),
        "details.best_model_checkpoint": _last_part(state.get("best_model_checkpoint")),
    }
    return facts | _runtime_facts(state, history)


def _runtime_facts(state: dict[str, Any], history: _History) -> dict[str, Scalar]:
    """Run time and mean step time, if the state is a final one, and how sure they are."""
    runtime = _number(history.end.get("train_runtime"))
    global_step = _whole(state.get("global_step")) or _whole(history.end.get("step"))
    if runtime is None:
        return {}
    facts: dict[str, Scalar] = {"stated_seconds": runtime, "details.ends": history.ends}
    if not global_step:
        return facts
    run = history.losses.steps_of_last_start(_number(history.end.get("train_loss")), global_step)
    rate = _number(history.end.get("train_samples_per_second"))
    planned = _whole(state.get("max_steps"))
    facts |= {
        "details.runtime_may_count_last_resume_only": run != global_step,
        "details.steps_in_last_start": run,
        "details.mean_step_seconds": runtime / (run or global_step),
        "details.runtime_per_global_step_seconds": runtime / global_step,
        # The trainer divides the samples of all planned steps by the runtime, resumed or not.
        "details.global_batch_estimate": round(rate * runtime / planned) if rate and planned else None,
    }
    return facts


def _checkpoints(state: dict[str, Any]) -> int | None:
    """How many checkpoints ``save_steps`` asks for; the state does not say whether saving was by steps."""
    save, done = _number(state.get("save_steps")), _whole(state.get("global_step"))
    if not save or done is None or save < 0:
        return None
    if save < 1:
        save = math.ceil(save * (_whole(state.get("max_steps")) or 0))
    return int(done // save) if save >= 1 else None


def _event(kind: Any, line: int, entry: dict[str, Any], seconds: float | None) -> Event:
    return Event(
        kind=kind,
        seconds=seconds if kind == "evaluation" else None,
        elapsed_seconds=seconds if kind == "end" else None,
        epoch=_number(entry.get("epoch")),
        step=_whole(entry.get("step")),
        line=line,
    )


def _number(value: Any) -> Any:
    """The number as it stands, or None for anything else, NaN, infinity and absurd integers included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value if abs(value) < LARGEST_INTEGER else None
    return value if abs(value) < LARGEST_NUMBER else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return (
        int(number)
        if number is not None and number == int(number) and abs(number) < LARGEST_INTEGER
        else None
    )


def _last_part(path: Any) -> str | None:
    """The folder's own name: what stands before it tells of users and machines."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] if isinstance(path, str) else None
