"""Undo means that a log prints over everything since an epoch began.

A mean over n steps says nothing of the last steps once n is large, and a cold first batch stays in it for
the whole epoch. With the mean at two counts, ``(n * mean_n - m * mean_m) / (n - m)`` is the mean of the steps
between them, as exact as the printed digits allow: each mean is off by up to half a unit of its last digit,
so the difference is off by up to ``(n * half_n + m * half_m) / (n - m)``. Where that is too much, a longer
stretch is taken. Means of step and data wait go together so that both are of the same stretch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

# Kept points of one epoch: a log of every iteration must not grow with the epoch.
MAXIMUM_ANCHORS: Final = 512


@dataclass(frozen=True, slots=True)
class Stretch:
    """Means over the last ``steps`` steps; ``data_wait_seconds`` is None where the log prints none."""

    steps: int
    step_seconds: float
    data_wait_seconds: float | None


@dataclass(slots=True)
class _Anchor:
    count: int
    step_sum: float
    data_sum: float
    error: float


@dataclass(slots=True)
class RunningMean:
    """Means since ``count`` was 0. Start a new one where the log's own averages start again."""

    anchors: list[_Anchor] = field(default_factory=lambda: [_Anchor(0, 0.0, 0.0, 0.0)])
    cursor: int = 0

    def add(
        self, count: int, step: float, data: float | None, half_unit: float, tolerance: float
    ) -> Stretch | None:
        """The shortest last stretch whose means are sure to ``tolerance`` seconds.

        ``step`` and ``data`` are the means printed at ``count``, each off by up to ``half_unit``. None when
        no stretch is sure enough or when the figures contradict a running mean (a negative time, more data
        wait than step): the caller then keeps what the log printed.
        """
        if count <= self.anchors[-1].count:
            return None
        here = _Anchor(count, count * step, count * (data or 0.0), count * half_unit)
        anchor = self._choose(here, tolerance)
        self.anchors.append(here)
        if len(self.anchors) > MAXIMUM_ANCHORS:
            self._thin()
        if anchor is None:
            return None
        steps = count - anchor.count
        error = (here.error + anchor.error) / steps
        step_mean = (here.step_sum - anchor.step_sum) / steps
        data_mean = (here.data_sum - anchor.data_sum) / steps
        if step_mean < -error:
            return None
        step_mean = max(step_mean, 0.0)
        if data is None:
            return Stretch(steps, step_mean, None)
        if data_mean < -error or data_mean > step_mean + 2 * error:
            return None
        return Stretch(steps, step_mean, min(max(data_mean, 0.0), step_mean))

    def _choose(self, here: _Anchor, tolerance: float) -> _Anchor | None:
        """The newest sure anchor. It only ever moves on, so that looking for it costs nothing in sum."""
        anchors = self.anchors
        while self.cursor > 0 and not _sure(here, anchors[self.cursor], tolerance):
            self.cursor -= 1
        while self.cursor + 1 < len(anchors) and _sure(here, anchors[self.cursor + 1], tolerance):
            self.cursor += 1
        anchor = anchors[self.cursor]
        return anchor if _sure(here, anchor, tolerance) else None

    def _thin(self) -> None:
        """Drop every other point but the first and the last; the stretches only get coarser."""
        chosen = self.anchors[self.cursor]
        last = self.anchors[-1]
        self.anchors = [*self.anchors[:-1:2], last]
        self.cursor = max(i for i, anchor in enumerate(self.anchors) if anchor.count <= chosen.count)


def _sure(here: _Anchor, anchor: _Anchor, tolerance: float) -> bool:
    return here.error + anchor.error <= tolerance * (here.count - anchor.count)


_HALVES: Final = tuple(0.5 * 10.0**-digits for digits in range(20))


def half_unit(number: bytes) -> float:
    """Half a unit of the last printed digit: b"0.344" gives 0.0005."""
    point = number.find(b".")
    return 0.5 if point < 0 else _HALVES[min(len(number) - point - 1, 19)]
