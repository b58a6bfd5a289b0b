"""Intervals of the step part from leave-one-source-out ratios: 90 % of a tier's weighted residuals.

    python -m truth.step_spread DIR LEFT.json [--write]    (LEFT.json from truth.step_fit --leave-out)

Cover is measured once more without the source: each source is held against quantiles of the others.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truth.step_fit import source_of
from truth.step_rows import read_step_rows
from truth.step_time import StepFigure, calibrated, macro, score_steps
from weighbridge.facts.step_constants import FILE, load_step_tables

_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Residual:
    """``times``: measured over predicted."""

    source: str
    stratum: str
    tier: str
    times: float


def weighted_quantile(residuals: Sequence[Residual], share: float) -> float:
    """Every stratum weighs the square root of its rows, so that neither one row nor one source rules."""
    sizes = Counter(one.stratum for one in residuals)
    ordered = sorted(residuals, key=lambda one: one.times)
    weights = [sizes[one.stratum] ** -0.5 for one in ordered]
    total, passed = sum(weights), 0.0
    for one, weight in zip(ordered, weights, strict=True):
        passed += weight
        if passed >= share * total:
            return one.times
    return ordered[-1].times


def spread(residuals: Sequence[Residual]) -> tuple[float, float]:
    return weighted_quantile(residuals, _SHARE), weighted_quantile(residuals, 1 - _SHARE)


def cover(residuals: Sequence[Residual]) -> tuple[float, float]:
    """Share inside, over rows and as the mean over strata, each source against the others' quantiles."""
    inside: dict[str, list[bool]] = defaultdict(list)
    for source in {one.source for one in residuals}:
        others = [one for one in residuals if one.source != source]
        if not others:
            continue
        low, high = spread(others)
        for one in residuals:
            if one.source == source:
                inside[one.stratum].append(low <= one.times <= high)
    rows = [value for group in inside.values() for value in group]
    return statistics.fmean(rows), statistics.fmean(statistics.fmean(group) for group in inside.values())


def residuals_of(figures: Sequence[StepFigure], left: Mapping[str, float]) -> list[Residual]:
    return [
        Residual(source_of(f.row), f.row.stratum, f.estimate.tier, 1 / left[f.row.row["row_id"]])
        for f in figures
        if f.row.row["row_id"] in left
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("left", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    left = json.loads(arguments.left.read_text())
    figures, _ = score_steps(read_step_rows(arguments.folder), load_step_tables().constants)
    found = residuals_of(figures, left)
    groups: dict[str, list[float]] = defaultdict(list)
    for one in found:
        groups[one.stratum].append(1 / one.times - 1)
    large = {name: group for name, group in groups.items() if len(set(group)) >= 3}
    median, high = macro(large)
    print(f"leave one source out: macro median {median:.1%} p90 {high:.1%} over {len(large)} strata")
    found += [
        Residual(source_of(one.figure.row), one.figure.row.stratum, "calibrated", 1 / (1 + one.nearest))
        for one in calibrated(figures)
    ]
    for tier in ("stated", "loose", "calibrated"):
        chosen = [one for one in found if one.tier == tier]
        low, top = spread(chosen)
        errors = sorted(abs(1 / one.times - 1) for one in chosen)
        rows, strata_cover = cover(chosen)
        worst = errors[math.floor(0.9 * (len(errors) - 1))]
        print(
            f"{tier}: measured/predicted {low:.3f} to {top:.3f}, half-width {(top - low) / 2:.1%}, "
            f"p90 error {worst:.1%}, cover {rows:.1%} rows {strata_cover:.1%} strata"
        )
        if arguments.write:
            write(tier, low, top)


def write(tier: str, low: float, high: float) -> None:
    text = FILE.read_text(encoding="utf-8")
    line = (
        f"- {{name: {tier}, low: {low:.3f}, high: {high:.3f}, unit: measured over predicted, "
        "source: leave-one-source-out residuals (benchmarks/truth/step_spread.py)}"
    )
    found, times = re.subn(rf"- \{{name: {tier}, low:.*", line, text)
    FILE.write_text(found if times else text.replace("spreads:\n", f"spreads:\n{line}\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
