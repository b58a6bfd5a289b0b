"""Data wait: how much of a step the slowest rank waits for its batch, and in which manner.

Definitions follow the stall analysis of DS-Analyzer (Mohan et al., VLDB 2021): the time a step waits because
the next batch is not there. Says nothing of *why* the loader is slow: storage, CPU and loader settings look
alike in a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weighbridge.weigh.windows import Window, cold_windows

# A window that waits less than this shows a loader that keeps up (jitter of the queue, not a stall).
WAITING_SHARE = 0.1
# Part of the windows that must wait before the loader is said to pace the job.
STEADY_PART = 0.8
# Both kinds of windows must be this common before the waits are called bimodal.
BIMODAL_PART = 0.1


@dataclass(frozen=True, slots=True)
class LoaderWait:
    """Data wait of one rank over its warm windows.

    ``share`` is sum(wait) / sum(step) without the cold windows, ``share_with_cold`` with them.
    ``steady``: nearly every window waits, so the loader delivers one batch per step time and no faster
    (D = T). ``bimodal``: some windows wait and some do not.
    """

    share: float
    share_with_cold: float
    rank: int | None
    windows: int
    cold: int
    waiting: int
    wait_seconds_per_step: float
    step_seconds: float
    steady: bool
    bimodal: bool


def loader_wait(windows: Sequence[Window]) -> LoaderWait | None:
    """Data wait of the rank that waits most, or None when no window says how long it waited."""
    known = [window for window in windows if window.wait_seconds is not None and window.step_seconds > 0]
    ranks: dict[int | None, list[Window]] = {}
    for window in known:
        ranks.setdefault(window.rank, []).append(window)
    waits = [_wait_of(rank, rows) for rank, rows in ranks.items()]
    return max(waits, key=lambda wait: wait.share, default=None)


def _wait_of(rank: int | None, rows: Sequence[Window]) -> LoaderWait:
    cold = cold_windows(rows)
    warm = [window for window, is_cold in zip(rows, cold, strict=True) if not is_cold]
    steps = sum(window.steps for window in warm)
    seconds = sum(window.seconds for window in warm)
    waited = sum(window.wait_share * window.seconds for window in warm)
    waiting = sum(window.steps for window in warm if window.wait_share >= WAITING_SHARE)
    part = waiting / steps if steps else 0.0
    return LoaderWait(
        share=waited / seconds if seconds else 0.0,
        share_with_cold=_share(rows),
        rank=rank,
        windows=len(warm),
        cold=sum(cold),
        waiting=sum(window.wait_share >= WAITING_SHARE for window in warm),
        wait_seconds_per_step=waited / steps if steps else 0.0,
        step_seconds=seconds / steps if steps else 0.0,
        steady=part >= STEADY_PART,
        bimodal=BIMODAL_PART <= part < STEADY_PART,
    )


def _share(rows: Sequence[Window]) -> float:
    seconds = sum(window.seconds for window in rows)
    return sum(window.wait_share * window.seconds for window in rows) / seconds if seconds else 0.0
