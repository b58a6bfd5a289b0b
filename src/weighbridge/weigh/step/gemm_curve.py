"""Time of a matrix product from measured products of the same card and dtype.

A tile count gives the coarse shape of the surface; what is left of the logarithm is carried over by a linear
fit through the nearest measured shapes (local regression, Cleveland 1979). Extrapolates with the tile count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log, sqrt

from weighbridge.schema.measured_curves import GemmPoint

# Another layout of the operands is another kernel: as far as a shape three times as large.
_LAYOUT_DISTANCE = 1.0
_LEAST_WIDTH = 0.5
_NEIGHBOURS = 6
_RIDGE = 0.1
_TILES = ((128, 128, 1.0), (64, 128, 0.9), (64, 64, 0.8), (32, 128, 0.7), (32, 64, 0.6), (32, 32, 0.45))
_MULTIPROCESSORS = 80


def interpolate_gemm(
    points: Sequence[GemmPoint], m: float, n: float, k: float, layout: str = "", groups: float = 1.0
) -> float:
    """Seconds of the product; raises ValueError without a measured point."""
    if not points:
        raise ValueError("no measured products to interpolate between")
    asked = (log(m), log(n), log(k))
    near: list[tuple[float, list[float], float]] = []
    for point in points:
        apart = [log(point.m) - asked[0], log(point.n) - asked[1], log(point.k) - asked[2]]
        distance = sqrt(sum(part * part for part in apart))
        distance += 0.0 if point.layout == layout else _LAYOUT_DISTANCE
        work = _work(point.m, point.n, point.k, point.groups)
        near.append((distance, apart, log(point.seconds / work)))
    near.sort(key=lambda item: item[0])
    width = max(_LEAST_WIDTH, near[min(_NEIGHBOURS, len(near) - 1)][0])
    return _work(m, n, k, groups) * exp(_local_value(near, width))


def _work(m: float, n: float, k: float, groups: float) -> float:
    """Tile work in arbitrary units: waves of tiles over a card, or the operands where those are more."""
    moved = 0.375 * groups * (m * k + k * n + m * n)
    best = None
    for high, wide, share in _TILES:
        waves = max(1.0, ceil(m / high) * ceil(n / wide) * groups / _MULTIPROCESSORS)
        work = max(waves * 2.0 * high * wide * (k + 300.0) / share, moved)
        best = work if best is None else min(best, work)
    assert best is not None
    return best


def _local_value(near: Sequence[tuple[float, list[float], float]], width: float) -> float:
    """Value at distance 0 of a weighted linear fit; the slopes are held back by a ridge."""
    matrix = [[0.0] * 5 for _ in range(4)]
    for distance, apart, value in near:
        weight = 1.0 / (distance / width + 0.05) ** 3
        row = (1.0, *apart)
        for i in range(4):
            for j in range(4):
                matrix[i][j] += weight * row[i] * row[j]
            matrix[i][4] += weight * row[i] * value
    for i in range(1, 4):
        matrix[i][i] += _RIDGE * matrix[0][0]
    for i in range(4):
        for j in range(i + 1, 4):
            factor = matrix[j][i] / matrix[i][i]
            for column in range(i, 5):
                matrix[j][column] -= factor * matrix[i][column]
    answer = [0.0] * 4
    for i in reversed(range(4)):
        known = sum(matrix[i][j] * answer[j] for j in range(i + 1, 4))
        answer[i] = (matrix[i][4] - known) / matrix[i][i]
    return answer[0]
