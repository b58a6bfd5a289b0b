"""Step windows as the kernel sees them: plain lists, and which of them are cold.

A window is one row of a log standing for ``steps`` optimizer steps; seconds are per step.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# A first window this much slower than the rest is start-up, not the pace of the run: workers spawning, cold
# page cache, compilation, cuDNN search. Two logs of the corpus show 34x and 60x, a healthy one below 1.1x.
COLD_FACTOR = 1.5
# Start-up does not last longer than this part of a run; more slow windows than that are the run itself.
COLD_LARGEST_PART = 0.1


@dataclass(frozen=True, slots=True)
class Window:
    """One row: ``step_seconds`` per step with the wait inside it, ``wait_seconds`` None when not logged."""

    step_seconds: float
    steps: int = 1
    wait_seconds: float | None = None
    rank: int | None = None
    segment: int = 0

    @property
    def seconds(self) -> float:
        return self.step_seconds * self.steps

    @property
    def wait_share(self) -> float:
        """Part of the window spent waiting, 0..1; 0 where the wait is unknown or the window is empty."""
        if not self.wait_seconds or self.step_seconds <= 0:
            return 0.0
        return min(max(self.wait_seconds / self.step_seconds, 0.0), 1.0)


def cold_windows(windows: Sequence[Window]) -> list[bool]:
    """Which windows are start-up: the leading ones of each start (segment) of each rank, if they are slow.

    Only windows in front are judged, against the median of those after the first one of the same start; at
    most a tenth of them, but one always may be cold. A start of fewer than three windows cannot show what is
    normal and is left as it is.
    """
    cold = [False] * len(windows)
    starts: dict[tuple[int | None, int], list[int]] = {}
    for index, window in enumerate(windows):
        starts.setdefault((window.rank, window.segment), []).append(index)
    for rows in starts.values():
        if len(rows) < 3:
            continue
        normal = statistics.median(windows[row].step_seconds for row in rows[1:])
        for row in rows[: max(1, int(len(rows) * COLD_LARGEST_PART))]:
            if windows[row].step_seconds <= COLD_FACTOR * normal:
                break
            cold[row] = True
    return cold
