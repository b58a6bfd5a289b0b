"""Scores the building blocks by leaving one measured point out: matrix products and collectives.

A curve is one card, dtype and source (products), or one system, collective, tool and algorithm (collectives).
Held-back folders are scored within themselves; a curve of fewer than four points is counted, not scored.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from truth.figures import quantile
from truth.rows import read_rows
from weighbridge.schema.measured_curves import GemmPoint
from weighbridge.weigh.collectives import interpolate
from weighbridge.weigh.step.gemm_curve import interpolate_gemm

_LEAST_POINTS = 4


@dataclass(frozen=True, slots=True)
class CurveScore:
    name: str
    points: int
    median: float
    p90: float


def gemm_curves(folder: Path) -> list[CurveScore]:
    curves: dict[str, list[GemmPoint]] = defaultdict(list)
    path = folder / "gemm.csv"
    for row in read_rows(path) if path.exists() else []:
        m, n, k = (float(row[name] or 0) for name in ("m", "n", "k"))
        groups = float(row["groups"] or 1)
        if min(m, n, k) <= 0:
            continue
        if row["time_us"]:
            seconds = float(row["time_us"]) * 1e-6
        elif row["tflops"]:
            seconds = 2.0 * m * n * k * groups / (float(row["tflops"]) * 1e12)
        else:
            continue
        name = " / ".join((row["gpu"], row["dtype"], row["source_repo"]))
        curves[name].append(GemmPoint(m, n, k, seconds, row["layout"], groups))
    return [_gemm_score(name, points) for name, points in curves.items() if len(points) >= _LEAST_POINTS]


def _gemm_score(name: str, points: list[GemmPoint]) -> CurveScore:
    errors = []
    for at, point in enumerate(points):
        others = points[:at] + points[at + 1 :]
        said = interpolate_gemm(others, point.m, point.n, point.k, point.layout, point.groups)
        errors.append(abs(said / point.seconds - 1))
    return CurveScore(name, len(points), statistics.median(errors), quantile(errors, 0.9))


def collective_curves(folder: Path) -> list[CurveScore]:
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    path = folder / "collectives.csv"
    for row in read_rows(path) if path.exists() else []:
        if not (row["payload_bytes"] and row["busbw_gbs"]):
            continue
        name = " / ".join((row["system"], row["collective"], row["tool"], row["algo"], row["n_gpus"]))
        curves[name].append((float(row["payload_bytes"]), float(row["busbw_gbs"]) * 1e9))
    found = []
    for name, points in curves.items():
        if len({size for size, _ in points}) < _LEAST_POINTS:
            continue
        errors = []
        for at, (size, rate) in enumerate(sorted(points)):
            ordered = sorted(points)
            if 0 < at < len(ordered) - 1:  # within the curve
                said = interpolate(ordered[:at] + ordered[at + 1 :], size)
                errors.append(abs(rate / said - 1))  # of the time
        found.append(CurveScore(name, len(points), statistics.median(errors), quantile(errors, 0.9)))
    return found
