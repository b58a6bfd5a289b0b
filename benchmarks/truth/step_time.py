"""Scores step time and the building blocks (GEMM, collectives) on a folder of measured tables.

Time is compared, as (predicted / measured - 1): per optimizer step where the row states one with fixed lengths,
else per token. Beside it the formula 6 N tokens / (0.4 x dense rate) on the same rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weighbridge.facts.step_constants import load_step_tables
from weighbridge.schema.step_constants import StepConstants
from weighbridge.weigh.memory import count
from weighbridge.weigh.step import Missing, StepEstimate, step_time

from truth.step_rows import StepRow, read_step_rows


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
    return StepFigure(
        row, answer, measured, answer.seconds / measured, _peer(row, answer) / measured
    )


def measured_seconds(row: StepRow, answer: StepEstimate) -> float:
    """Seconds of the step that the prediction describes."""
    if row.tokens_per_second_per_gpu:
        return answer.tokens_per_step / answer.devices / row.tokens_per_second_per_gpu
    if row.step_seconds:
        return row.step_seconds
    return stated_flops(row, answer) / answer.devices / (row.flops_per_second_per_gpu or 1.0)


def stated_flops(row: StepRow, answer: StepEstimate) -> float:
    """FLOPs as the source counts them: NeMo's formula (flops_formulas.py, 24.07) has the whole square of a causal
    attention."""
    if row.row["source_repo"] != "NVIDIA/NeMo" or row.shape is None:
        return answer.model_flops
    sequence = float(row.recipe.sequence or 1)
    scores = 6.0 * sequence * row.shape.heads * row.shape.head_dim * row.shape.layers
    return answer.model_flops + scores * answer.tokens_per_step


def _peer(row: StepRow, answer: StepEstimate) -> float:
    assert row.shape is not None and row.machine is not None
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


def main(folder: Path) -> None:
    constants = load_step_tables().constants
    rows = read_step_rows(folder)
    figures, refused = score_steps(rows, constants)
    from statistics import median

    for name, group in strata(figures).items():
        errors = sorted(abs(f.error) for f in group)
        print(f"{median(errors):6.1%} {errors[int(0.9 * (len(errors) - 1))]:6.1%} "
              f"signed {median(f.error for f in group):+6.1%} peer {median(abs(f.peer - 1) for f in group):6.1%} {len(group):4d} {name}")
    meds = [median(abs(f.error) for f in g) for g in strata(figures).values()]
    p90 = [sorted(abs(f.error) for f in g)[int(0.9 * (len(g) - 1))] for g in strata(figures).values()]
    peers = [median(abs(f.peer - 1) for f in g) for g in strata(figures).values()]
    print("macro", sum(meds) / len(meds), sum(p90) / len(p90), "peer", sum(peers) / len(peers), len(meds), len(figures), len(rows))
    for k, v in refused.most_common(): print(v, k)


if __name__ == "__main__":
    import sys
    main(Path(sys.argv[1]))
