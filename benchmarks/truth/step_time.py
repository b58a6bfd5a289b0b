"""Scores step time and the building blocks (GEMM, collectives) on a folder of measured tables.

Time is compared, as (predicted / measured - 1): per token where the row gives a rate,
else per optimizer step. Beside it the formula 6 N tokens / (0.4 x dense rate) on the same rows.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth.blocks import collective_curves, gemm_curves
from truth.figures import quantile
from truth.step_rows import StepRow, read_step_rows
from weighbridge.facts.step_constants import load_step_tables
from weighbridge.schema.step_constants import StepConstants
from weighbridge.weigh.calibrate import apply, calibrate
from weighbridge.weigh.memory import count
from weighbridge.weigh.step import Missing, StepEstimate, step_time


@dataclass(frozen=True, slots=True)
class StepFigure:
    """``ratio`` is predicted over measured time, ``peer`` the same of the formula."""

    row: StepRow
    estimate: StepEstimate
    measured: float
    ratio: float
    peer: float

    @property
    def error(self) -> float:
        return self.ratio - 1


def predict(row: StepRow, constants: StepConstants) -> StepFigure | tuple[str, ...]:
    if row.reason or row.shape is None or row.machine is None:
        return (row.reason or "gpu",)
    answer = step_time(
        row.shape,
        row.recipe,
        row.layout,
        row.machine,
        constants,
        load_step_tables().defaults,
        padding_free=row.padding_free,
    )
    if isinstance(answer, Missing):
        return answer.fields
    measured = measured_seconds(row, answer)
    return StepFigure(row, answer, measured, answer.seconds / measured, _peer(row, answer) / measured)


def measured_seconds(row: StepRow, answer: StepEstimate) -> float:
    """Seconds of the step that the prediction describes."""
    if row.tokens_per_second_per_gpu:
        return answer.tokens_per_step / answer.devices / row.tokens_per_second_per_gpu
    if row.step_seconds:
        return row.step_seconds
    return stated_flops(row, answer) / answer.devices / (row.flops_per_second_per_gpu or 1.0)


def stated_flops(row: StepRow, answer: StepEstimate) -> float:
    """FLOPs as the source counts them: NeMo 24.07 (flops_formulas.py) has the whole square of attention."""
    if row.row["source_repo"] != "NVIDIA/NeMo" or row.shape is None:
        return answer.model_flops
    sequence = float(row.recipe.sequence or 1)
    scores = 6.0 * sequence * row.shape.heads * row.shape.head_dim * row.shape.layers
    return answer.model_flops + scores * answer.tokens_per_step


def _peer(row: StepRow, answer: StepEstimate) -> float:
    assert row.shape is not None
    assert row.machine is not None
    counted = count(row.shape)
    active = counted.dense
    if row.shape.experts:
        active += counted.all_experts * (row.shape.experts_per_token or 1) / row.shape.experts
    dtype = answer.dtype
    return 6.0 * active * answer.tokens_per_step / (answer.devices * 0.4 * row.machine.rates[dtype])


def score_steps(
    rows: Sequence[StepRow], constants: StepConstants
) -> tuple[list[StepFigure], Counter[tuple[str, str]]]:
    figures: list[StepFigure] = []
    refused: Counter[tuple[str, str]] = Counter()
    for row in rows:
        found = predict(row, constants)
        if isinstance(found, StepFigure):
            figures.append(found)
        else:
            refused[(row.row["source_repo"], ", ".join(found))] += 1
    return figures, refused


def strata(figures: Sequence[StepFigure], least: int = 3) -> dict[str, list[StepFigure]]:
    groups: dict[str, list[StepFigure]] = defaultdict(list)
    for figure in figures:
        groups[figure.row.stratum].append(figure)
    return {
        name: group
        for name, group in sorted(groups.items())
        if len({round(figure.measured, 9) for figure in group}) >= least
    }


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Error of one row when the prediction was calibrated on another of the same card and framework."""

    figure: StepFigure
    nearest: float
    others: tuple[float, ...]


def calibrated(figures: Sequence[StepFigure]) -> list[Calibrated]:
    """Nearest: the donor closest in model, lengths and batch. Others: up to ten donors spread evenly."""
    groups: dict[tuple[str, str, str], list[StepFigure]] = defaultdict(list)
    for figure in figures:
        row = figure.row
        groups[(row.row["gpu"], row.recipe.framework or "", _origin(row))].append(figure)
    found = []
    for group in groups.values():
        if len({figure.measured for figure in group}) < 2:
            continue
        for figure in group:
            donors = [one for one in group if one is not figure and one.measured != figure.measured]
            if not donors:
                continue
            nearest = min(donors, key=lambda one: _distance(one, figure))
            spread = donors[:: max(1, len(donors) // 10)]
            found.append(
                Calibrated(figure, _after(nearest, figure), tuple(_after(one, figure) for one in spread))
            )
    return found


def _origin(row: StepRow) -> str:
    name = row.row["source_repo"]
    return "mlcommons" if name.startswith("mlcommons/") else name


def _after(donor: StepFigure, figure: StepFigure) -> float:
    done = apply(calibrate(donor.estimate, donor.measured), figure.estimate)
    return done.seconds / figure.measured - 1


_STATED = (
    "training",
    "compute",
    "checkpointing",
    "base_quant",
    "sharding",
    "compile",
    "fused_kernels",
)


def _distance(first: StepFigure, second: StepFigure) -> float:
    """How unlike two tasks are, by what a user states of them."""
    apart = 0.0
    for measure in (
        lambda figure: figure.estimate.model_flops / figure.estimate.tokens_per_step,
        lambda figure: float(figure.row.recipe.sequence or 1),
        lambda figure: figure.estimate.tokens_per_step / figure.estimate.devices,
        lambda figure: float(figure.row.gpus),
    ):
        apart += abs(math.log(measure(first) / measure(second)))
    for same in (
        "training",
        "compute",
        "checkpointing",
        "base_quant",
        "sharding",
        "compile",
        "fused_kernels",
    ):
        apart += 1.0 * (getattr(first.row.recipe, same) != getattr(second.row.recipe, same))
    for column in ("model", "parallelism"):
        apart += 0.3 * (first.row.row[column] != second.row.row[column])
    return apart


# Columns that a pair of rows must share to differ in the number of GPUs alone.
_SAME = (
    "source_repo", "model", "gpu", "run_type", "seq_len", "micro_batch", "n_compute", "quant", "n_ckpt",
    "n_attention", "n_compile", "n_tp", "n_pp", "n_cp", "n_ep", "n_sharding", "framework_version", "vp",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubling:
    """Tokens per second and GPU at 2N over those at N, in shares."""

    name: str
    gpus: int
    measured: float
    predicted: float


def doublings(figures: Sequence[StepFigure]) -> list[Doubling]:
    groups: dict[tuple[str, ...], list[StepFigure]] = defaultdict(list)
    for figure in figures:
        groups[tuple(figure.row.row[name] for name in _SAME)].append(figure)
    found = []
    for group in groups.values():
        for first in group:
            for second in group:
                steps = (first.row.recipe.accumulation or 1, second.row.recipe.accumulation or 1)
                # Weak scaling keeps the accumulation, strong scaling halves it.
                if second.row.gpus == 2 * first.row.gpus and steps[0] in (steps[1], 2 * steps[1]):
                    found.append(
                        Doubling(
                            first.row.stratum,
                            first.row.gpus,
                            _rate(second, second.measured) / _rate(first, first.measured),
                            _rate(second, second.estimate.seconds) / _rate(first, first.estimate.seconds),
                        )
                    )
    return found


def _rate(figure: StepFigure, seconds: float) -> float:
    return figure.estimate.tokens_per_step / figure.estimate.devices / seconds


def macro(groups: Mapping[str, Sequence[float]]) -> tuple[float | None, float | None]:
    """Means over groups of the median and of the 90th percentile of the sizes."""
    if not groups:
        return None, None
    medians = [statistics.median(map(abs, group)) for group in groups.values()]
    high = [quantile([abs(error) for error in group], 0.9) for group in groups.values()]
    return statistics.fmean(medians), statistics.fmean(high)


def score(folder: Path) -> dict[str, Any]:
    """Every figure of this part as one document; shares, not percent."""
    constants = load_step_tables().constants
    rows = read_step_rows(folder)
    figures, refused = score_steps(rows, constants)
    document: dict[str, Any] = {"rows": len(rows), "answered": len(figures)}
    for quality in ("A", "B", "AB"):
        chosen = [figure for figure in figures if figure.row.row["quality"] in quality]
        large = strata(chosen)
        document[quality] = {
            "strata": len(large),
            "answered": len(chosen),
            "median_p90": macro({name: [f.error for f in group] for name, group in large.items()}),
            "peer_median_p90": macro({name: [f.peer - 1 for f in group] for name, group in large.items()}),
        }
    document["source"] = _by_source(figures)
    document["without_largest_source"] = macro(
        {
            name: [f.error for f in group]
            for name, group in strata(figures).items()
            if not name.endswith(_largest(figures))
        }
    )
    document["interval"] = _interval(figures)
    document["calibrated"] = _calibrated(figures)
    found = doublings(figures)
    points = [abs(one.measured - one.predicted) for one in found]
    by_stratum: dict[str, list[float]] = defaultdict(list)
    for one, size in zip(found, points, strict=True):
        by_stratum[one.name].append(size)
    document["doubling"] = {
        "pairs": len(points),
        "median_points": 100 * statistics.median(points) if points else None,
        "p90_points": 100 * quantile(points, 0.9) if points else None,
        "macro_median_points": 100 * (macro(by_stratum)[0] or 0.0) if points else None,
    }
    for name, curves in (("gemm", gemm_curves(folder)), ("collectives", collective_curves(folder))):
        document[name] = {
            "curves": len(curves),
            "median": statistics.fmean(curve.median for curve in curves) if curves else None,
            "p90": statistics.fmean(curve.p90 for curve in curves) if curves else None,
        }
    document["worst"] = [
        {
            "stratum": name,
            "rows": len(group),
            "median": statistics.median(abs(f.error) for f in group),
            "signed": statistics.median(f.error for f in group),
        }
        for name, group in sorted(
            strata(figures).items(), key=lambda item: -statistics.median(abs(f.error) for f in item[1])
        )[:12]
    ]
    document["refused"] = {" / ".join(key): number for key, number in refused.most_common()}
    return document


def _largest(figures: Sequence[StepFigure]) -> str:
    return (
        Counter(figure.row.row["source_repo"] for figure in figures).most_common(1)[0][0] if figures else "-"
    )


def _by_source(figures: Sequence[StepFigure]) -> dict[str, Any]:
    groups: dict[str, list[StepFigure]] = defaultdict(list)
    for figure in figures:
        groups[_origin(figure.row)].append(figure)
    found = {}
    for name, group in sorted(groups.items()):
        large = strata(group)
        found[name] = {
            "rows": len(group),
            "strata": len(large),
            "median_p90": macro({key: [f.error for f in one] for key, one in large.items()}),
            "peer_median": macro({key: [f.peer - 1 for f in one] for key, one in large.items()})[0],
        }
    return found


def _interval(figures: Sequence[StepFigure]) -> dict[str, Any]:
    """Share of the measured times inside, over rows and as the mean over strata; median half-width."""
    found: dict[str, Any] = {}
    for tier in sorted({figure.estimate.tier for figure in figures}):
        group = [figure for figure in figures if figure.estimate.tier == tier]
        covered = {
            name: statistics.fmean(f.estimate.low <= f.measured <= f.estimate.high for f in one)
            for name, one in strata(group, least=1).items()
        }
        found[tier] = {
            "rows": len(group),
            "cover_rows": statistics.fmean(f.estimate.low <= f.measured <= f.estimate.high for f in group),
            "cover_macro": statistics.fmean(covered.values()),
            "half_width": statistics.median(
                (f.estimate.high - f.estimate.low) / 2 / f.estimate.seconds for f in group
            ),
            "p90_error": quantile([abs(f.error) for f in group], 0.9),
        }
    return found


def _calibrated(figures: Sequence[StepFigure]) -> dict[str, Any]:
    nearest: dict[str, list[float]] = defaultdict(list)
    others: dict[str, list[float]] = defaultdict(list)
    for one in calibrated(figures):
        nearest[one.figure.row.stratum].append(one.nearest)
        others[one.figure.row.stratum] += list(one.others)
    large = {name for name, group in nearest.items() if len(group) >= 3}
    return {
        "strata": len(large),
        "nearest_median_p90": macro({name: nearest[name] for name in large}),
        "any_median_p90": macro({name: others[name] for name in large}),
    }


# Figure: (least, most) that the issue allows.
MUST: Mapping[str, tuple[float, float]] = {
    "step_median": (0.0, 0.12),
    "step_p90": (0.0, 0.30),
    "step_calibrated_median": (0.0, 0.06),
    "step_doubling_points": (0.0, 5.0),
    "step_cover": (0.85, 0.95),
    "gemm_median": (0.0, 0.10),
    "collectives_median": (0.0, 0.10),
}


def figures_of(document: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures that the issue holds this part to; None where the folder has too few rows."""
    median, high = document["AB"]["median_p90"]
    covers = [part["cover_macro"] for part in document["interval"].values()]
    return {
        "step_median": median,
        "step_p90": high,
        "step_calibrated_median": document["calibrated"]["nearest_median_p90"][0],
        "step_doubling_points": document["doubling"]["macro_median_points"],
        "step_cover": statistics.fmean(covers) if covers else None,
        "gemm_median": document["gemm"]["median"],
        "collectives_median": document["collectives"]["median"],
    }


def failures(document: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, value in figures_of(document).items()
        if value is not None and not MUST[name][0] <= round(value, 3) <= MUST[name][1]
    ]


def show(document: Mapping[str, Any]) -> list[str]:
    """Lines for a terminal."""
    lines = [f"step time of language models: answered {document['answered']} of {document['rows']} rows"]
    for quality in ("A", "B", "AB"):
        part = document[quality]
        lines.append(
            f"  {quality:<3}macro median / p90 {_pair(part['median_p90'])} over {part['strata']} strata; "
            f"6N/(0.4 peak) {_pair(part['peer_median_p90'])}"
        )
    lines.append(f"  without the largest source {_pair(document['without_largest_source'])}")
    for name, part in document["source"].items():
        lines.append(
            f"    {name:<42}{part['rows']:5d} rows {part['strata']:3d} strata {_pair(part['median_p90'])}"
            f"   6N {_share(part['peer_median'])}"
        )
    part = document["calibrated"]
    lines.append(
        f"  calibrated on one other row: nearest {_pair(part['nearest_median_p90'])}, any "
        f"{_pair(part['any_median_p90'])} over {part['strata']} strata"
    )
    part = document["doubling"]
    if part["pairs"]:
        lines.append(
            f"  N -> 2N: {part['pairs']} pairs, median {part['median_points']:.1f} points, p90 "
            f"{part['p90_points']:.1f}, mean over strata of the median {part['macro_median_points']:.1f}"
        )
    for tier, part in document["interval"].items():
        lines.append(
            f"  90 % interval, {tier}: {part['rows']} rows, inside {_share(part['cover_rows'])} "
            f"(strata {_share(part['cover_macro'])}), half-width {_share(part['half_width'])}, "
            f"p90 error {_share(part['p90_error'])}"
        )
    for name in ("gemm", "collectives"):
        part = document[name]
        lines.append(
            f"  {name}: {part['curves']} curves, one point left out {_pair((part['median'], part['p90']))}"
        )
    lines += [
        f"  worst {_share(part['median'])} signed {part['signed']:+7.1%} {part['rows']:4d} {part['stratum']}"
        for part in document["worst"]
    ]
    lines += [f"  not answered {number:4d} {name}" for name, number in document["refused"].items()]
    return lines


def _share(value: float | None) -> str:
    return "     -" if value is None else f"{value:6.1%}"


def _pair(values: Sequence[float | None]) -> str:
    return f"{_share(values[0])} {_share(values[1])}"


if __name__ == "__main__":
    print("\n".join(show(score(Path(sys.argv[1])))))
