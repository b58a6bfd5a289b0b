"""Bounds for counterfactuals from shares alone: intervals, never points that the log cannot support.

Symbols, per optimizer step: T step time, s share of it that waits for data, C = (1 - s) T compute,
D the loader's time per batch, X communication, n how many times the GPUs.

- Removing a part with share p of a time: at most 1 / (1 - p) (Amdahl 1967). It is an upper bound because
  part of the removed time may have hidden something else.
- n times the GPUs: T' = max(D, C / n + X(n)). D equals T when a loader that works beside the GPUs paces the
  job (every step waits); otherwise D lies between 0 and T and the answer is an interval. X(n) is unknown to a
  log of one layout; communication that was seen does not shrink with more GPUs.
- A loader that works in the GPUs' own process (no workers) adds up: T = W + C. Put beside them it overlaps,
  T' = max(W, C).
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


def loading_beside_compute(wait_share: float) -> SpeedUp:
    """Batches prepared by workers while the GPUs compute, where they were prepared in between: at most."""
    return SpeedUp(1.0, 1 / max(wait_share, 1 - wait_share))


def more_gpus_in_this_box(
    wait_share: float | None, times: float, *, loader_paces: bool, communication_share: float = 0.0
) -> SpeedUp:
    """n times the GPUs on the same cores, memory, disk, store and loader.

    ``wait_share`` None: nothing is known of the loader, so anything from 1 up to what compute allows. Strong
    scaling (same global batch) and weak scaling (same batch per GPU) have the same bound on samples per
    second, since B / max(D(B), C / n) = n B / max(n D(B), C).
    """
    if times < 1:
        raise ValueError(f"times {times} must be at least 1")
    if wait_share is not None and loader_paces:
        return SpeedUp(1.0, 1.0)
    # Wait and communication seen so far stay, the rest shrinks: the best that loader and links allow.
    stays = min((wait_share or 0.0) + communication_share, 1.0)
    return SpeedUp(1.0, 1 / (stays + (1 - stays) / times))


def more_gpus_in_another_box(
    wait_share: float | None, times: float, *, loader_paces: bool, communication_share: float = 0.0
) -> SpeedUp:
    """n times the GPUs in boxes with their own cores, memory and disk.

    Each box loads its part of the batch: with a local copy of the data D shrinks with n as well (upper end
    n); with one shared store that is the limit it does not (lower end as in one box). The network between
    the boxes can only lower both, so the low end is never above 1.
    """
    inner = more_gpus_in_this_box(wait_share, times, loader_paces=loader_paces)
    outer = more_gpus_in_this_box(None, times, loader_paces=False, communication_share=communication_share)
    return SpeedUp(inner.low, outer.high)
