"""Loads the measured matrix products that may be shipped, as curves by card and dtype."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.facts.tree import read_tree
from weighbridge.schema.measured_curves import GemmCurve, GemmPoint

FILE: Final = Path(__file__).parent / "data" / "gemm.yaml"


@cache
def load_gemm_curves(path: Path = FILE) -> tuple[GemmCurve, ...]:
    tree, _ = read_tree(path)
    return tuple(
        GemmCurve(
            gpu=curve["gpu"],
            dtype=curve["dtype"],
            points=tuple(
                GemmPoint(float(m), float(n), float(k), float(microseconds) * 1e-6, layout, float(groups))
                for m, n, k, microseconds, layout, groups in curve["points"]
            ),
            source=curve["source"],
            licence=curve["licence"],
            date=curve["date"],
        )
        for curve in tree["curves"]
    )
