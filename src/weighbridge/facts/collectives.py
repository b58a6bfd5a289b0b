"""Loads the measured collectives that may be shipped, as curves by system, kind and ranks."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.facts.tree import read_tree
from weighbridge.schema.measured_curves import CollectiveCurve
from weighbridge.units import GB

FILE: Final = Path(__file__).parent / "data" / "collectives.yaml"


@cache
def load_collective_curves(path: Path = FILE) -> tuple[CollectiveCurve, ...]:
    tree, _ = read_tree(path)
    return tuple(
        CollectiveCurve(
            **{name: curve[name] for name in ("system", "gpu", "kind", "ranks", "domain")},
            points=tuple((float(size), float(rate) * GB) for size, rate in curve["points"]),
            source=curve["source"],
            licence=curve["licence"],
            date=curve["date"],
        )
        for curve in tree["curves"]
    )
