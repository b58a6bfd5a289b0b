"""Fits the constants of weigh.step that no source gives, and says how far they carry: leave one source out.

Coordinate descent on the mean over strata of |log(predicted / measured)|, with a pull towards the values in
the file (the priors), so that what the rows do not speak of stays where physics put it.

    python -m truth.step_fit DIR [--leave-out] [--rounds N]   (in benchmarks/)
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from weighbridge.facts.step_constants import FILE, build_constants, load_step_tables, provenance
from weighbridge.schema.step_constants import StepConstants

from truth.step_rows import StepRow, read_step_rows
from truth.step_time import StepFigure, predict

_CAP = 0.7
_PULL = 0.0012
_WIDTH = 0.25
_MOST_ROWS = 60


def priors() -> dict[str, float]:
    return {name: float(item.get("prior", item["value"])) for name, item in provenance(FILE).items()}


def free() -> list[str]:
    """What is fitted: entries whose source says so."""
    return [name for name, item in provenance(FILE).items() if str(item["source"]).startswith("fit")]


def constants_of(values: Mapping[str, float]) -> StepConstants:
    return build_constants(dict(values), dict(load_step_tables().constants.spread))


def loss(rows: Mapping[str, Sequence[StepRow]], values: Mapping[str, float], start: Mapping[str, float]) -> float:
    constants = constants_of(values)
    total = 0.0
    for group in rows.values():
        errors = []
        for row in group:
            found = predict(row, constants)
            if isinstance(found, StepFigure):
                size = abs(math.log(found.ratio))
                errors.append(size if size < _CAP else _CAP + 0.3 * (size - _CAP))
        total += sum(errors) / max(len(errors), 1)
    pull = sum((math.log(values[name] / start[name]) / _WIDTH) ** 2 for name in free() if start[name] > 0)
    return total / len(rows) + _PULL * pull


def fit(rows: Sequence[StepRow], start: Mapping[str, float], rounds: int) -> dict[str, float]:
    groups: dict[str, list[StepRow]] = defaultdict(list)
    for row in rows:
        groups[row.stratum].append(row)
    thin = {name: group[:: max(1, len(group) // _MOST_ROWS)] for name, group in groups.items() if len(group) >= 3}
    values = dict(start)
    best = loss(thin, values, start)
    steps = {name: 0.15 for name in free() if start[name] > 0}
    for _ in range(rounds):
        for name in list(steps):
            moved = False
            for sign in (1.0, -1.0):
                trial = dict(values)
                trial[name] = values[name] * math.exp(sign * steps[name])
                if name.split(".")[0].endswith("_share") and trial[name] > 1.0:
                    continue
                found = loss(thin, trial, start)
                if found < best - 1e-6:
                    best, values, moved = found, trial, True
                    break
            steps[name] *= 1.2 if moved else 0.5
    return values


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = [row for row in read_step_rows(arguments.folder) if row.reason is None]
    constants = load_step_tables().constants
    rows = [row for row in rows if isinstance(predict(row, constants), StepFigure)]
    start = priors()
    if not arguments.leave_out:
        values = fit(rows, start, arguments.rounds)
        changed = {name: round(values[name], 6) for name in free()}
        print(json.dumps(changed, indent=0))
        if arguments.out:
            arguments.out.write_text(json.dumps(changed))
        return
    left: dict[str, float] = {}
    sources = sorted({source_of(row) for row in rows})
    for source in sources:
        kept = [row for row in rows if source_of(row) != source]
        values = fit(kept, start, arguments.rounds)
        fitted = constants_of(values)
        for row in rows:
            if source_of(row) == source:
                found = predict(row, fitted)
                if isinstance(found, StepFigure):
                    left[row.row["row_id"]] = found.ratio
        print(source, sum(1 for row in rows if source_of(row) == source), flush=True)
        if arguments.out:
            arguments.out.write_text(json.dumps(left))


def source_of(row: StepRow) -> str:
    """MLPerf rounds are one source: the same code and partly the same machines."""
    name = row.row["source_repo"]
    return "mlcommons" if name.startswith("mlcommons/") else name


if __name__ == "__main__":
    main()
