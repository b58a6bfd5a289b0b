"""Signals: the few numbers of a Run that causes are decided from, by bounded queries.

Computes, does not judge: thresholds live in ``verdict``.
"""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weighbridge.schema.columns import EVALUATION, TRAIN
from weighbridge.schema.event import Event
from weighbridge.schema.finding import Evidence
from weighbridge.schema.run import Run
from weighbridge.store import DeviceUse, RunView
from weighbridge.weigh.identities import Identity, identity
from weighbridge.weigh.loader import LoaderWait, loader_wait
from weighbridge.weigh.windows import Window, cold_windows

# An elapsed time may exceed the sum of logged phases by this much before a window counts as unexplained.
GAP_SHARE = 0.1
# A printed wait may exceed its printed step by rounding, not by more.
WAIT_ROUNDING = 0.05
# Columns that part a step; a source with one of the first four has timed more than wait and total.
PHASE_COLUMNS = {
    "data_wait": ("data_wait_seconds",),
    "host_to_device": ("host_to_device_seconds",),
    "compute": ("compute_seconds", "forward_seconds", "backward_seconds"),
    "communication": ("communication_seconds",),
    "optimizer": ("optimizer_seconds",),
}


@dataclass(frozen=True, slots=True)
class Printed:
    """What a log's own figures add up to where it prints running means: data-wait share and median step."""

    share: float
    step_median_seconds: float | None


@dataclass(frozen=True, slots=True)
class Signals:
    """What one Run shows. Shares are 0..1, None where the source does not say."""

    run: Run
    windows: tuple[Window, ...]
    cold: tuple[bool, ...]
    wait: LoaderWait | None
    printed: Printed | None
    epoch_start_share: float | None
    step: Identity | None
    undivided: bool
    timed_communication_share: float | None
    gap_windows_share: float | None
    gap_largest_seconds: float | None
    step_median_seconds: float | None
    occupied: Identity | None
    evaluations: int
    rows_with_evaluation: int
    impossible_waits: int
    devices: tuple[DeviceUse, ...]
    evidence: Evidence | None

    @property
    def on_gpu(self) -> bool:
        """False only where the source says that no accelerator of any make was there."""
        details = self.run.details
        others = any(value is True for name, value in details.items() if name.endswith("_available"))
        return details.get("cuda_available") is not False or others

    @property
    def cold_start_share(self) -> float:
        """What the cold windows took beyond the run's pace, as a share of all logged step time."""
        total = sum(window.seconds for window in self.windows)
        return _cold_seconds(self.windows) / total if total else 0.0

    @property
    def warm_seconds(self) -> float:
        return sum(w.seconds for w, cold in zip(self.windows, self.cold, strict=True) if not cold)

    @property
    def warm_steps(self) -> int:
        return sum(w.steps for w, cold in zip(self.windows, self.cold, strict=True) if not cold)

    @property
    def warm_windows(self) -> int:
        return self.cold.count(False)


def read_signals(view: RunView) -> Signals:
    """Ask the store what causes need; at most some tens of thousands of rows come into memory."""
    table = view.windows(phase=TRAIN)
    events = view.events()
    mixed = _rows_with_evaluation_inside(view.run, table, events)
    rows = [
        index
        for index, seconds in enumerate(table["step_seconds"])
        if _number(seconds) and index not in mixed
    ]
    windows = tuple(_window(table, index) for index in rows)
    cold = tuple(cold_windows(windows))
    warm = [index for index, is_cold in zip(rows, cold, strict=True) if not is_cold]
    step, undivided = _step_identity(table, warm)
    gaps = _gaps(table, warm) if not undivided else []
    evaluations = [event for event in events if event.kind == "evaluation"]
    return Signals(
        run=view.run,
        windows=windows,
        cold=cold,
        wait=loader_wait(windows),
        printed=_printed(view, table),
        epoch_start_share=_epoch_start_share(table, warm),
        step=step,
        undivided=undivided,
        timed_communication_share=_timed_communication(step),
        gap_windows_share=_share_of(gaps, GAP_SHARE),
        gap_largest_seconds=max((seconds for _, seconds in gaps), default=None),
        step_median_seconds=view.quantile("step_seconds", 0.5),
        occupied=_occupied(view, table, windows, events),
        evaluations=len(evaluations),
        rows_with_evaluation=len(mixed),
        impossible_waits=sum(
            wait is not None and not _possible(wait, table["step_seconds"][row])
            for row in rows
            for wait in [table["data_wait_seconds"][row]]
        ),
        devices=tuple(view.devices()) if view.run.sample_rows else (),
        evidence=_evidence(view.run, table, rows),
    )


def _rows_with_evaluation_inside(run: Run, table: dict[str, list[Any]], events: Sequence[Event]) -> set[int]:
    """Rows whose wait holds a whole evaluation: some runners evaluate while the next batch is "awaited".

    Only where the reader has met that in this source (``details.waits_with_evaluation_inside``): the first
    row after each evaluation is then no measure of the data path.
    """
    if not run.details.get("waits_with_evaluation_inside"):
        return set()
    ends = sorted(event.line for event in events if event.kind == "evaluation" and event.line is not None)
    lines = table["line"]
    return {
        index
        for index in range(1, len(lines))
        if bisect.bisect_left(ends, lines[index]) > bisect.bisect_right(ends, lines[index - 1])
    }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0


def _window(table: dict[str, list[Any]], index: int) -> Window:
    wait = table["data_wait_seconds"][index]
    if wait is not None and not _possible(wait, table["step_seconds"][index]):
        wait = None
    return Window(
        step_seconds=table["step_seconds"][index],
        steps=table["steps"][index] or 1,
        wait_seconds=wait,
        rank=table["rank"][index],
        segment=table["segment"][index] or 0,
    )


def _possible(wait: float, step: float) -> bool:
    """A wait lies between nothing and the step; rounding of printed figures aside."""
    return 0 <= wait <= step * (1 + WAIT_ROUNDING)


def _mean(table: dict[str, list[Any]], column: str, rows: Sequence[int]) -> float | None:
    """Mean per optimizer step over the rows that hold the column, weighted by the steps they stand for."""
    held = [(table[column][row], table["steps"][row] or 1) for row in rows if table[column][row] is not None]
    steps = sum(count for _, count in held)
    return sum(max(value, 0.0) * count for value, count in held) / steps if steps else None


def _step_identity(table: dict[str, list[Any]], rows: Sequence[int]) -> tuple[Identity | None, bool]:
    """The step identity over warm rows; True when the source times only the wait and the whole step."""
    total = _mean(table, "step_seconds", rows)
    if total is None:
        return None, True
    parts: dict[str, float | None] = {}
    for part, columns in PHASE_COLUMNS.items():
        held = [mean for column in columns if (mean := _mean(table, column, rows)) is not None]
        if part == "data_wait" and held and held[0] > total * (1 + WAIT_ROUNDING):
            held = []
        parts[part] = sum(held) if held else None
    undivided = all(parts[part] is None for part in ("compute", "communication", "optimizer"))
    return identity(total, parts), undivided


def _timed_communication(step: Identity | None) -> float | None:
    """Share of communication in the part of the step that the source timed, the rest left out."""
    if step is None or step.parts.get("communication") is None or step.parts.get("compute") is None:
        return None
    timed = sum(value for value in step.parts.values() if value is not None)
    return (step.parts["communication"] or 0.0) / timed if timed else None


def _gaps(table: dict[str, list[Any]], rows: Sequence[int]) -> list[tuple[float, float]]:
    """(share, seconds) of each row's step that no logged phase explains."""
    columns = [column for names in PHASE_COLUMNS.values() for column in names]
    found = []
    for row in rows:
        known = [table[column][row] for column in columns if table[column][row] is not None]
        if known:
            step = table["step_seconds"][row]
            rest = max(step - sum(known), 0.0)
            found.append((rest / step, rest))
    return found


def _share_of(gaps: Sequence[tuple[float, float]], least: float) -> float | None:
    return sum(share >= least for share, _ in gaps) / len(gaps) if gaps else None


def _printed(view: RunView, table: dict[str, list[Any]]) -> Printed | None:
    """Figures as printed, for logs of running means over the last iterations.

    A mean since the start of the epoch (timm) is no such figure: one cold batch haunts all that follow.
    """
    if not view.run.details.get("prints_running_means"):
        return None
    printed = zip(table["printed_step_seconds"], table["printed_data_wait_seconds"], strict=True)
    pairs = [(step, wait) for step, wait in printed if step and wait is not None]
    total = sum(step for step, _ in pairs)
    share = sum(wait for _, wait in pairs) / total if total else 2.0
    if share > 1:
        return None
    return Printed(share, view.quantile("printed_step_seconds", 0.5))


def _epoch_start_share(table: dict[str, list[Any]], rows: Sequence[int]) -> float | None:
    """Part of all waiting that falls into the first row of each epoch; None below three epochs or no wait."""
    first = total = 0.0
    seen: set[float] = set()
    counted = 0
    for row in rows:
        wait, epoch = table["data_wait_seconds"][row], table["epoch"][row]
        if wait is None or epoch is None:
            continue
        seconds = max(wait, 0.0) * (table["steps"][row] or 1)
        counted += 1
        total += seconds
        if epoch not in seen:
            seen.add(epoch)
            first += seconds
    # With one row per epoch every row is a first row, which shows nothing.
    return first / total if len(seen) >= 3 and total > 0 and counted >= 3 * len(seen) else None


def _occupied(
    view: RunView, table: dict[str, list[Any]], windows: Sequence[Window], events: Sequence[Event]
) -> Identity | None:
    run = view.run
    total = run.stated_seconds if run.stated_seconds is not None else _clocked(run, table)
    if total is None or total <= 0 or not run.train_rows:
        return None
    ranks = {window.rank for window in windows}
    cold_start = _cold_seconds(windows)
    steps = (sum(window.seconds for window in windows) - cold_start) / max(len(ranks), 1)
    evaluation = _seconds_of(events, "evaluation")
    if evaluation is None:
        evaluation = view.totals(phase=EVALUATION).get("step_seconds") if run.evaluation_rows else None
    parts = {
        "start_up": _added(_start_up(run, table, events), cold_start / max(len(ranks), 1)),
        "steps": steps or None,
        "evaluation": evaluation,
        "checkpoints": _seconds_of(events, "checkpoint"),
    }
    return identity(total, parts)


def _cold_seconds(windows: Sequence[Window]) -> float:
    """What cold windows took beyond the run's own pace: start-up, not training."""
    cold = cold_windows(windows)
    warm = [window.step_seconds for window, is_cold in zip(windows, cold, strict=True) if not is_cold]
    if not warm:
        return 0.0
    pace = statistics.median(warm)
    return sum(
        (window.step_seconds - pace) * window.steps
        for window, is_cold in zip(windows, cold, strict=True)
        if is_cold
    )


def _added(known: float | None, more: float) -> float | None:
    return more or None if known is None else known + more


def _clocked(run: Run, table: dict[str, list[Any]]) -> float | None:
    """From the first sign of the run, or the beginning of its first window, to its end, less down time."""
    if run.started_at_seconds is None or run.ended_at_seconds is None:
        return None
    begins = _first_begins(table)
    start = run.started_at_seconds if begins is None else min(run.started_at_seconds, begins)
    return run.ended_at_seconds - start - _down_time(table)


def _first_begins(table: dict[str, list[Any]]) -> float | None:
    """When the first window began: its time stamp is its end."""
    if not table["at_seconds"] or table["at_seconds"][0] is None:
        return None
    length: float = (table["step_seconds"][0] or 0.0) * (table["steps"][0] or 1)
    return float(table["at_seconds"][0]) - length


def _seconds_of(events: Sequence[Event], kind: str) -> float | None:
    known = [event.seconds for event in events if event.kind == kind and event.seconds is not None]
    return sum(known) if known else None


def _start_up(run: Run, table: dict[str, list[Any]], events: Sequence[Event]) -> float | None:
    """From the first sign of the run to the beginning of its first step window."""
    start = next((e.at_seconds for e in events if e.kind == "start" and e.at_seconds is not None), None)
    begins = next((e.at_seconds for e in events if e.kind == "training_begins" and e.at_seconds), None)
    begins = _first_begins(table) if begins is None else begins
    start = run.started_at_seconds if start is None else start
    return max(begins - start, 0.0) if begins is not None and start is not None else None


def _down_time(table: dict[str, list[Any]]) -> float:
    """Seconds between the last row of one start and the beginning of the next: nobody occupied the GPUs."""
    down = 0.0
    for index in range(1, len(table["segment"])):
        before, after = table["at_seconds"][index - 1], table["at_seconds"][index]
        if table["segment"][index] != table["segment"][index - 1] and before and after:
            length = (table["step_seconds"][index] or 0.0) * (table["steps"][index] or 1)
            down += max(after - length - before, 0.0)
    return down


def _evidence(run: Run, table: dict[str, list[Any]], rows: Sequence[int]) -> Evidence | None:
    if not rows or not run.sources:
        return None
    first, last = rows[0], rows[-1]
    source = table["source"][first] or 0
    return Evidence(
        source=run.sources[source].name,
        line_first=table["line_first"][first],
        line_last=table["line"][last],
        rows=len(rows) if run.train_rows <= len(table["line"]) else run.train_rows,
        at_first_seconds=table["at_seconds"][first],
        at_last_seconds=table["at_seconds"][last],
    )
