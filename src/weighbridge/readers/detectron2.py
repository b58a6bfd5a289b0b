"""Detectron2's ``metrics.json``: one JSON record per line, every twenty iterations.

``time`` and ``data_time`` are medians over the last twenty iterations; ``time`` includes ``data_time``, but
no evaluation and no saving. ``data_time`` is that of the slowest rank (``rank_data_time``, newer, that of the
first). ``iteration`` counts from 0, so ``step`` is one more. There is neither clock nor memory. The file is
appended to: when the iteration goes back to the first period a run from scratch begins, otherwise a restart.
Old versions repeat the metrics of the last evaluation in every record; an evaluation is where they change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from weighbridge.readers.base import Events, Facts, Piece, RunStart
from weighbridge.readers.json_lines import FLUSH_EVERY, count, number, records, surest
from weighbridge.readers.openmmlab_windows import Group, Windows
from weighbridge.readers.tally import Troubles
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar

# bbox/AP, segm/AP50, coco_val/keypoints/APl, box_proposals/AR@100, sem_seg/mIoU, panoptic_seg/PQ_th, ...
_METRIC: Final = re.compile(
    r"(?:^|/)(?:AP(?:$|\d|[a-z-])|AR@?\d|[PSR]Q(?:$|_)|mIoU|fwIoU|mACC|pACC|IoU-|ACC-|top\d$)"
)
_TRAINING_KEYS: Final = ("data_time", "total_loss", "eta_seconds", "lr")
# The quotient of two printed figures is taken for a count when it is this close to a whole number.
_WHOLE: Final = 1e-4

Record = dict[str, Any]


class Detectron2Metrics:
    """See the module."""

    name = "detectron2_metrics"
    title = "Detectron2 metrics.json"
    looks_for = "readers.detectron2_metrics.looks_for"
    counts = "readers.detectron2_metrics.counts"
    answers: tuple[Answerable, ...] = ("step_time", "data_wait", "compute")
    example = (
        '{"data_time": 0.0052, "eta_seconds": 612.5, "iteration": 19, "lr": 0.0004, "time": 0.2461, '
        '"total_loss": 2.1043}'
    )

    def sniff(self, head: Head) -> float:
        if head.binary or b'"iteration"' not in head.data:
            return 0.0
        return surest(head, _sureness)

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        log = _Log()
        for taken, (number_, record) in enumerate(records(lines, log.troubles), 1):
            yield from log.take(number_, record)
            if taken % FLUSH_EVERY == 0:
                yield from log.flush()
        yield from log.finish_run()
        yield from lines.problems
        yield from log.troubles.problems()


def _sureness(record: Record) -> float:
    if count(record.get("iteration")) is None:
        return 0.0
    if "time" in record and ("data_time" in record or "eta_seconds" in record):
        return 0.95
    return 0.6 if any(key in record for key in _TRAINING_KEYS) or _metrics(record) else 0.0


def _metrics(record: Record) -> Record:
    return {key: value for key, value in record.items() if _METRIC.search(key)}


class _Log:
    """One file being read."""

    def __init__(self) -> None:
        self.troubles = Troubles()
        self._windows = Windows()
        self._events: list[Event] = []
        self._facts: dict[str, Scalar] = {}
        self._evaluation_only = 0
        self._metrics: dict[str, str] = {}
        # A wait that was written apart from its time (newer versions write asynchronously).
        self._wait: float | None = None

    def take(self, line: int, record: Record) -> Iterator[Piece]:
        iteration = count(record.get("iteration"))
        if iteration is None:
            return
        seconds = number(record.get("time"))
        if seconds is not None:
            yield from self._train(line, iteration, seconds, record)
        else:
            self._wait = number(record.get("data_time"))
            if not any(key in record for key in _TRAINING_KEYS):
                self._evaluation_only += 1
        self._look_for_evaluation(line, record)

    def _train(self, line: int, iteration: int, seconds: float, record: Record) -> Iterator[Piece]:
        wait = number(record.get("data_time")) if "data_time" in record else self._wait
        self._wait = None
        group = Group(
            iterations=[iteration + 1],
            at_seconds=[None],
            step_seconds=[seconds],
            data_wait_seconds=[wait],
            allocated_bytes=[None],
            lines=[line],
        )
        if self._windows.goes_back(group) and self._windows.is_first_window(group):
            yield from self.finish_run()
            yield RunStart(line=line)
            self._windows.start_run()
        if self._windows.step is None:
            self._facts["planned.steps"] = _planned_steps(iteration, seconds, record)
        self._windows.train(group)
        self._facts["details.has_rank_data_time"] = (
            "rank_data_time" in record or self._facts.get("details.has_rank_data_time") is True
        )

    def _look_for_evaluation(self, line: int, record: Record) -> None:
        found = {key: repr(value) for key, value in _metrics(record).items()}
        if not found:
            return
        if any(self._metrics.get(key) != value for key, value in found.items()):
            step = self._windows.step
            self._events.append(Event(kind="evaluation", step=step, line=line))
        self._metrics |= found

    def flush(self) -> Iterator[Piece]:
        yield from self._windows.flush()
        if self._events:
            yield Events(tuple(self._events))
        self._events = []

    def finish_run(self) -> Iterator[Piece]:
        yield from self._windows.flush(rest=True)
        yield from self.flush()
        yield Facts(
            {
                "environment.framework": "detectron2",
                "step_statistic": "median",
                **self._facts,
                "details.eval_only_lines": self._evaluation_only,
            }
        )
        self._facts = {}
        self._metrics = {}
        self._evaluation_only = 0


def _planned_steps(iteration: int, seconds: float, record: Record) -> int | None:
    """What remains is the remaining time by the median step, in a run's first record that very ``time``."""
    remaining = number(record.get("eta_seconds"))
    if remaining is None or seconds <= 0:
        return None
    steps = remaining / seconds
    return iteration + 1 + round(steps) if abs(steps - round(steps)) < _WHOLE * max(steps, 1.0) else None
