"""Fit the step-time constants of vision again without each fold of strata, predict it, report those errors.

    python benchmarks/truth/vision_leave_out.py DIR [FOLDS]

Constants with a prior start there and are fitted by coordinate search on the other folds (mean over strata
of the
mean |error|, clipped so that rows of broken kernels do not steer). Prints the macro figures of the left-out
rows and
the relative residuals by framework, from which the intervals are made. Minutes.
"""

from __future__ import annotations

import statistics
import sys
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from truth.figures import Figure, macro, quantile
from truth.rows import read_rows
from truth.vision import (
    TIME_FILE,
    Described,
    card_name,
    described,
    measured_seconds,
    network_for,
    score,
    time_figure,
)
from weighbridge.facts.vision_constants import load_vision_constants, vision_card, vision_provenance
from weighbridge.schema.vision import Network, Unanswered, VisionCard, VisionConstants
from weighbridge.weigh.vision import vision_step_time

_GRID = (0.5, 0.65, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
_CLIP = 0.6


@dataclass(frozen=True, slots=True)
class Timed:
    described: Described
    measured: float
    network: Network
    card: VisionCard


def rows_of(folder: Path) -> list[Timed]:
    found = []
    for row in read_rows(folder / TIME_FILE):
        if row["quality"] not in ("A", "B"):
            continue
        d = described(row)
        seconds, network, card = measured_seconds(d), network_for(d, most=False), vision_card(card_name(row))
        if seconds is not None and not isinstance(network, str) and card is not None:
            found.append(Timed(d, seconds, network, card))
    return found


def loss(rows: Sequence[Timed], constants: VisionConstants) -> float:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        said = vision_step_time(row.network, row.described.recipe, row.card, constants)
        if not isinstance(said, Unanswered):
            groups[row.described.stratum].append(min(abs(said.seconds.value / row.measured - 1), _CLIP))
    return statistics.fmean(statistics.fmean(group) for group in groups.values())


def fit(rows: Sequence[Timed], passes: int = 2) -> VisionConstants:
    shipped = load_vision_constants()
    priors = {name: float(item["prior"]) for name, item in vision_provenance().items() if "prior" in item}
    values = shipped.values | priors
    best = loss(rows, VisionConstants(values, shipped.spread))
    for _ in range(passes):
        for name in priors:
            start = values[name]
            for factor in _GRID:
                tried = VisionConstants(values | {name: start * factor}, shipped.spread)
                if (now := loss(rows, tried)) < best - 1e-5:
                    best, values = now, tried.values
    return VisionConstants(values, shipped.spread)


def main(arguments: Sequence[str]) -> int:
    folder, folds = Path(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 5
    rows = rows_of(folder)
    figures: list[Figure] = []
    residuals: dict[str, list[float]] = defaultdict(list)
    for fold in range(folds):
        inside = [row for row in rows if zlib.crc32(row.described.stratum.encode()) % folds == fold]
        constants = fit([row for row in rows if zlib.crc32(row.described.stratum.encode()) % folds != fold])
        for row in inside:
            said = vision_step_time(row.network, row.described.recipe, row.card, constants)
            figure = time_figure(row.described, said)
            figures.append(figure)
            if figure.predicted is not None:
                residuals[str(row.described.recipe.framework)].append(row.measured / figure.predicted - 1)
        print(f"fold {fold}: {len(inside)} rows", flush=True)
    for quality in ("A", "B"):
        found = macro([figure for figure in figures if figure.quality == quality])
        print(f"time {quality}, left out: {found.strata} strata, {found.median:.4f} / {found.p90:.4f}")
    show_residuals("time", residuals)
    memory: dict[str, list[float]] = defaultdict(list)
    for figure in score(folder).memory:
        if figure.predicted is not None:
            source = figure.stratum.split(" / ")[2]
            memory[source].append(figure.measured / figure.predicted - 1)
    show_residuals("memory by source", memory)
    return 0


def show_residuals(name: str, groups: dict[str, list[float]]) -> None:
    groups = {**groups, "all": [value for group in groups.values() for value in group]}
    for key, values in sorted(groups.items()):
        low, high = -quantile(values, 0.05), quantile(values, 0.95)
        print(f"{name} {key[:50]}: n {len(values)} low {low:.3f} high {high:.3f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
