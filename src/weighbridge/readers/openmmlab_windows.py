"""Rows of the steps table from windows that print how far they have come, not how many steps they stand for.

Works out ``steps`` and ``step`` from iteration numbers, tells a run that begins again from a restart, and
fills column batches. Knows no log format: readers hand it windows already parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import sub
from typing import Final

from weighbridge.readers.base import Steps
from weighbridge.schema.columns import EVALUATION, TRAIN, Cell

BATCH_ROWS: Final = 8192

Numbers = Sequence[float | None]


@dataclass(slots=True)
class Group:
    """Consecutive windows of one phase and one scope, column-wise.

    ``scope`` is the epoch when iterations are counted within the epoch and None when they run on;
    ``before`` is the number of steps before the scope, so that ``before + iteration`` is the step.
    """

    iterations: list[int]
    at_seconds: Numbers
    step_seconds: Numbers
    data_wait_seconds: Numbers
    allocated_bytes: Numbers
    lines: Sequence[int]
    scope: int | None = None
    before: int = 0
    epoch: int | None = None

    @property
    def began_at_seconds(self) -> float | None:
        """When the first window began, if it is the first of its scope; the clock has whole seconds."""
        at, seconds = self.at_seconds[0], self.step_seconds[0]
        return at - self.iterations[0] * seconds if at is not None and seconds is not None else None

    def parts(self) -> Iterator[Group]:
        """The group cut where the iteration does not go up."""
        numbers = self.iterations
        if len(numbers) == 1 or min(map(sub, numbers[1:], numbers)) > 0:
            yield self
            return
        cuts = [0, *(i for i in range(1, len(numbers)) if numbers[i] <= numbers[i - 1]), len(numbers)]
        for begin, end in pairwise(cuts):
            yield self.cut(begin, end)

    def cut(self, begin: int, end: int) -> Group:
        return replace(
            self,
            iterations=self.iterations[begin:end],
            at_seconds=self.at_seconds[begin:end],
            step_seconds=self.step_seconds[begin:end],
            data_wait_seconds=self.data_wait_seconds[begin:end],
            allocated_bytes=self.allocated_bytes[begin:end],
            lines=self.lines[begin:end],
        )


class Windows:
    """Buffers rows of one source and remembers where training and evaluation stand.

    The first window of an epoch stands for as many steps as its iteration says, but for no more than the
    logging interval that the next window shows: a log may begin in the middle of an epoch. It stays ``open``
    until that next window has come.
    """

    def __init__(self) -> None:
        self._columns = _empty()
        self.rows = 0
        self.total_rows = 0
        # Training: the last window, and the logging interval as last seen.
        self.scope: int | None = None
        self.iteration: int | None = None
        self.step: int | None = None
        self.steps = 0
        self.interval: int | None = None
        self.at_seconds: float | None = None
        self.step_seconds: float | None = None
        self._open: list[int] = []
        # Evaluation: the last window.
        self._evaluation_iteration = 0

    def start_run(self) -> None:
        """Forget where training stood; the caller has flushed the rows before."""
        self.scope = self.iteration = self.step = None
        self.at_seconds = self.step_seconds = None
        self._open = []
        self._evaluation_iteration = 0

    def may_be_first(self, group: Group) -> bool:
        """Whether nothing in the group's numbers says that steps came before it."""
        return group.before == 0 and group.epoch in (None, 0, 1)

    def is_first_window(self, group: Group) -> bool:
        """Whether the group begins with the first window of a run from scratch."""
        interval = self.interval or self.iteration or group.iterations[0]
        return self.may_be_first(group) and group.iterations[0] <= interval

    def goes_back(self, group: Group) -> bool:
        return self.step is not None and group.before + group.iterations[0] < self.step

    def runs_beside(self, group: Group) -> bool:
        """Whether the clock shows that another process wrote the group while the last window ran."""
        at = group.at_seconds[0]
        if at is None or self.at_seconds is None or self.step_seconds is None:
            return False
        return abs(at - self.at_seconds) < self.step_seconds * self.steps

    def train(self, group: Group) -> None:
        """Add training windows; iterations must go up inside the group."""
        numbers = group.iterations
        deltas = list(map(sub, numbers[1:], numbers))
        follows = self.iteration is not None and group.scope == self.scope and numbers[0] > self.iteration
        repeats = self.iteration is not None and group.scope == self.scope and numbers[0] == self.iteration
        if follows and self.iteration is not None:
            first = numbers[0] - self.iteration
            self._close_open(first)
            self.interval = first
        elif repeats:
            first = self.steps
            if self._open and deltas:
                first = min(numbers[0], deltas[0])
                self._close_open(deltas[0])
            elif self._open:
                self._open.append(self.rows)
        elif deltas:
            first = min(numbers[0], deltas[0])
            self._open = []
        else:
            first = min(numbers[0], self.interval or numbers[0])
            self._open = [self.rows]
        if deltas:
            self.interval = deltas[-1]
        self._extend(TRAIN, group, list(map(group.before.__add__, numbers)), [first, *deltas])
        self.scope, self.iteration = group.scope, numbers[-1]
        self.step = group.before + numbers[-1]
        self.steps = deltas[-1] if deltas else first
        self.at_seconds, self.step_seconds = group.at_seconds[-1], group.step_seconds[-1]

    def evaluate(self, group: Group, *, begins: bool) -> None:
        """Add evaluation windows; ``begins`` says that another evaluation pass starts with them."""
        numbers = group.iterations
        before = 0 if begins or numbers[0] <= self._evaluation_iteration else self._evaluation_iteration
        steps = [numbers[0] - before, *map(sub, numbers[1:], numbers)]
        self._extend(EVALUATION, group, [None] * len(numbers), steps)
        self._evaluation_iteration = numbers[-1]

    def add_evaluation_mean(self, line: int, step_seconds: float | None, wait: float | None) -> None:
        """Add one row for a whole evaluation pass whose length is not printed."""
        group = Group([0], [None], [step_seconds], [wait], [None], [line])
        self._extend(EVALUATION, group, [None], [None])

    def flush(self, *, rest: bool = False) -> Iterator[Steps]:
        """The rows as one batch when they are many, or whatever there is when ``rest`` is asked for."""
        waits = self.rows < BATCH_ROWS or (self._open and self.rows < 4 * BATCH_ROWS)
        if not self.rows or (waits and not rest):
            return
        columns = {
            name: values
            for name, values in self._columns.items()
            if any(value is not None for value in values)
        }
        yield Steps(columns, self.rows)
        self._columns = _empty()
        self.rows = 0
        self._open = []

    def _close_open(self, interval: int) -> None:
        column = self._columns["steps"]
        for row in self._open:
            column[row] = min(self.iteration or interval, interval)
        self._open = []

    def _extend(self, phase: str, group: Group, step: Sequence[Cell], steps: Sequence[Cell]) -> None:
        count = len(group.iterations)
        columns = self._columns
        columns["phase"] += [phase] * count
        columns["epoch"] += [group.epoch] * count
        columns["step"] += step
        columns["steps"] += steps
        columns["at_seconds"] += group.at_seconds
        columns["step_seconds"] += group.step_seconds
        columns["data_wait_seconds"] += group.data_wait_seconds
        columns["allocated_bytes"] += group.allocated_bytes
        columns["line"] += group.lines
        self.rows += count
        self.total_rows += count


def _empty() -> dict[str, list[Cell]]:
    names = (
        "phase", "epoch", "step", "steps", "at_seconds", "step_seconds", "data_wait_seconds",
        "allocated_bytes", "line",
    )  # fmt: skip
    return {name: [] for name in names}
