"""Bounds for counterfactuals from shares alone: intervals, never points that the log cannot support.

Symbols, per optimizer step: T step time, s share of it that waits for data, C = (1 - s) T compute,
D the loader's time per batch, X communication, n how many times the GPUs.

- Removing a part with share p of a time: at most 1 / (1 - p) (Amdahl 1967). It is an upper bound because
  part of the removed time may have hidden something else.
- n times the GPUs: T' = max(D, C / n + X(n)). D equals T when the loader paces the job (every step waits);
  otherwise D lies between 0 and T and the answer is an interval. X(n) >= 0 is unknown to a log of one
  layout, which makes the upper end an upper end.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Old time over new time: between ``low`` and ``high``."""

    low: float
    high: float


def without(share: float, part: float = 1.0) -> SpeedUp:
    """Speed-up when ``part`` (0..1) of something with ``share`` (0..1) of the time is taken away.

    The low end is 1: a log does not show what the removed time was hiding. Raises ValueError outside 0..1.
    """
    if not (0 <= share <= 1 and 0 <= part <= 1):
        raise ValueError(f"share {share} and part {part} must lie in 0..1")
    removed = share * part
    return SpeedUp(1.0, float("inf") if removed >= 1 else 1 / (1 - removed))


def more_gpus_in_this_box(wait_share: float | None, times: float, *, loader_paces: bool) -> SpeedUp:
    """n times the GPUs on the same cores, memory, disk and store.

    ``wait_share`` None: nothing is known of the loader, so anything from 1 to n. Strong scaling (same global
    batch) and weak scaling (same batch per GPU) have the same bound on samples per second, since
    B / max(D(B), C / n) = n B / max(n D(B), C).
    """
    if times < 1:
        raise ValueError(f"times {times} must be at least 1")
    if wait_share is None:
        return SpeedUp(1.0, times)
    if loader_paces:
        return SpeedUp(1.0, 1.0)
    # The wait seen so far stays, the rest shrinks: the best that the same loader allows.
    return SpeedUp(1.0, 1 / (wait_share + (1 - wait_share) / times))


def more_gpus_in_another_box(wait_share: float | None, times: float, *, loader_paces: bool) -> SpeedUp:
    """n times the GPUs in boxes with their own cores, memory and disk.

    Each box loads its part of the batch: with a local copy of the data D shrinks with n as well (upper end
    n); with one shared store that is the limit it does not (lower end as in one box). The network between
    the boxes can only lower both, so the low end is never above 1.
    """
    inner = more_gpus_in_this_box(wait_share, times, loader_paces=loader_paces)
    return SpeedUp(inner.low, times)
