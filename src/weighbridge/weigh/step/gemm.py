"""Seconds of one matrix product: tiles over multiprocessors, and the bytes it moves, whichever is longer."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

# Tile heights and widths that the libraries choose from, and the share of the best rate each reaches: a small
# tile loads more bytes per product.
_TILES = ((128, 256, 1.0), (128, 128, 0.93), (64, 128, 0.8), (64, 64, 0.65))
# cuBLAS splits the inner length over idle multiprocessors when the tiles alone leave them empty.
_LEAST_SPLIT_DEPTH = 1024


@dataclass(frozen=True, slots=True)
class Rate:
    """What one device does with one dtype: FLOP/s of the best product and bytes per second."""

    flops: float
    bytes: float
    multiprocessors: int
    ramp_depth: float
    width: float


def gemm_seconds(m: float, n: float, k: float, rate: Rate, groups: float = 1.0) -> float:
    """Time of ``groups`` products (m x k)(k x n), without the time to start the kernel."""
    if m <= 0 or n <= 0 or k <= 0:
        return 0.0
    best = min(_tiled(m, n, k, groups, rate, *tile) for tile in _TILES)
    moved = (m * k + k * n) * rate.width + m * n * max(rate.width, 2.0)
    return max(best, groups * moved / rate.bytes)


def _tiled(
    m: float, n: float, k: float, groups: float, rate: Rate, high: int, wide: int, share: float
) -> float:
    tiles = ceil(m / high) * ceil(n / wide) * groups
    depth = k
    idle = rate.multiprocessors / tiles
    if idle >= 2 and k >= 2 * _LEAST_SPLIT_DEPTH:
        split = min(int(idle), int(k // _LEAST_SPLIT_DEPTH))
        tiles, depth = tiles * split, k / split
    waves: float = ceil(tiles / rate.multiprocessors)
    if waves > 4:
        # Tiles of a long queue start as others end.
        waves = tiles / rate.multiprocessors + 0.5
    work = 2.0 * high * wide * (depth + rate.ramp_depth)
    return waves * work * rate.multiprocessors / (rate.flops * share)
