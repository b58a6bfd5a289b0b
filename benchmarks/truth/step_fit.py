"""Fits the constants of weigh.step that no source gives, and says how far they carry: leave one source out.

Coordinate descent on the mean over strata of |log(predicted / measured)|, with a pull towards the values in
the file (the priors), so that what the rows do not speak of stays where physics put it.

    python -m truth.step_fit DIR [--leave-out] [--rounds N]   (in benchmarks/)
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from truth.step_rows import StepRow, read_step_rows
from truth.step_time import StepFigure, predict
from weighbridge.facts.step_constants import FILE, build_constants, load_step_tables, provenance
from weighbridge.schema.step_constants import StepConstants

_CAP = 0.7
_PULL = 0.0012
_WIDTH = 0.25
_MOST_ROWS = 40
_FEW = 9


def priors() -> dict[str, float]:
    return {name: float(item.get("prior", item["value"])) for name, item in provenance(FILE).items()}


def free() -> list[str]:
    """What is fitted: entries whose source says so."""
    return [name for name, item in provenance(FILE).items() if str(item["source"]).startswith("fit")]


def constants_of(values: Mapping[str, float]) -> StepConstants:
    return build_constants(dict(values), dict(load_step_tables().constants.spread))


class Losses:
    """Loss by stratum; after the first look at a constant only the strata that feel it are weighed again."""

    def __init__(self, groups: Mapping[str, Sequence[StepRow]], start: Mapping[str, float]) -> None:
        self.groups = groups
        self.start = start
        self.felt: dict[str, list[str]] = {}
        self.names = free()

    def of(self, values: Mapping[str, float], strata: Sequence[str] | None = None) -> dict[str, float]:
        constants = constants_of(values)
        return {name: _stratum(self.groups[name], constants) for name in strata or self.groups}

    def trial(self, name: str, values: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
        found = self.of(values, self.felt.get(name))
        if name not in self.felt:
            self.felt[name] = [
                stratum for stratum, loss in found.items() if abs(loss - known[stratum]) > 1e-12
            ]
        return {**known, **found}

    def total(self, known: Mapping[str, float], values: Mapping[str, float]) -> float:
        pull = sum(
            (math.log(values[name] / self.start[name]) / _WIDTH) ** 2
            for name in self.names
            if self.start[name] > 0
        )
        return sum(known.values()) / len(known) + _PULL * pull


def _stratum(rows: Sequence[StepRow], constants: StepConstants) -> float:
    errors = []
    for row in rows:
        found = predict(row, constants)
        if isinstance(found, StepFigure):
            size = abs(math.log(found.ratio))
            errors.append(size if size < _CAP else _CAP + 0.3 * (size - _CAP))
    return sum(errors) / max(len(errors), 1)


def fit(
    rows: Sequence[StepRow], start: Mapping[str, float], rounds: int, most: int = _MOST_ROWS
) -> dict[str, float]:
    groups: dict[str, list[StepRow]] = defaultdict(list)
    for row in rows:
        groups[row.stratum].append(row)
    thin = {
        name: group[:: max(1, -(-len(group) // most))] for name, group in groups.items() if len(group) >= 3
    }
    losses = Losses(thin, start)
    values = dict(start)
    known = losses.of(values)
    best = losses.total(known, values)
    steps = {name: 0.15 for name in losses.names if start[name] > 0}
    for _ in range(rounds):
        for name in list(steps):
            moved = False
            for sign in (1.0, -1.0):
                trial = dict(values)
                trial[name] = values[name] * math.exp(sign * steps[name])
                if name.split(".")[0].endswith("_share") and trial[name] > 1.0:
                    continue
                if losses.felt.get(name) == []:
                    del steps[name]
                    break
                found = losses.trial(name, trial, known)
                total = losses.total(found, trial)
                if total < best - 1e-6:
                    best, values, known, moved = total, trial, found, True
                    break
            if name in steps:
                steps[name] *= 1.2 if moved else 0.5
        print(f"{best:.4f}", flush=True)
    return values


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=int, default=_MOST_ROWS, help="rows of a stratum that are fitted to")
    parser.add_argument("--write", action="store_true", help="write the values into the file")
    parser.add_argument("--out", type=Path, help="ratios of the rows left out, as JSON")
    arguments = parser.parse_args()
    rows = [row for row in read_step_rows(arguments.folder) if row.reason is None]
    constants = load_step_tables().constants
    rows = [row for row in rows if isinstance(predict(row, constants), StepFigure)]
    start = priors()
    if not arguments.leave_out:
        values = fit(rows, start, arguments.rounds)
        changed = {name: round(values[name], 6) for name in free()}
        print(json.dumps(changed, indent=0))
        if arguments.write:
            write(changed, start)
            write_counts(felt_by(rows, values))
        return
    left: dict[str, float] = {}
    fitted_values: list[dict[str, float]] = []
    counted = Counter(source_of(row) for row in rows)
    # Sources of a few rows are left out together.
    folds = {name: name if number >= _FEW else "sources of few rows" for name, number in counted.items()}
    for source in sorted(set(folds.values())):
        kept = [row for row in rows if folds[source_of(row)] != source]
        values = fit(kept, start, arguments.rounds, arguments.most)
        fitted_values.append(values)
        fitted = constants_of(values)
        for row in rows:
            if folds[source_of(row)] == source:
                found = predict(row, fitted)
                if isinstance(found, StepFigure):
                    left[row.row["row_id"]] = found.ratio
        print(source, len(rows) - len(kept), flush=True)
        if arguments.out:
            arguments.out.write_text(json.dumps(left))
    if arguments.write:
        write_spreads({name: [values[name] for values in fitted_values] for name in free()}, start)


def write(values: Mapping[str, float], start: Mapping[str, float]) -> None:
    """Puts the values into the file's lines and keeps the priors beside them."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        match = re.match(r"- \{name: ([\w.]+), value: [^,]+,( prior: [^,]+,)?", line)
        if match and match[1] in values:
            name = match[1]
            head = f"- {{name: {name}, value: {_number(values[name])}, prior: {_number(start[name])},"
            lines[at] = head + line[match.end() :]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_spreads(values: Mapping[str, Sequence[float]], start: Mapping[str, float]) -> None:
    """Beside each fitted constant: half the range that it takes when one source after another is left out."""
    text = FILE.read_text(encoding="utf-8")
    for name, found in values.items():
        middle = start[name] if not found else sum(found) / len(found)
        half = (max(found) - min(found)) / 2 / middle if middle else 0.0
        text = re.sub(
            rf"(- \{{name: {re.escape(name)}, .*?spread: )[^,]+(, date)", rf"\g<1>{half:.2f}\g<2>", text
        )
    FILE.write_text(text, encoding="utf-8")


def felt_by(rows: Sequence[StepRow], values: Mapping[str, float]) -> dict[str, int]:
    """How many strata move when a constant does: the n behind it."""
    groups: dict[str, list[StepRow]] = defaultdict(list)
    for row in rows:
        groups[row.stratum].append(row)
    few = {name: group[:: max(1, len(group) // 4)] for name, group in groups.items() if len(group) >= 3}
    losses = Losses(few, values)
    known = losses.of(values)
    for name in losses.names:
        losses.trial(name, {**values, name: values[name] * 1.1}, known)
    return {name: len(strata) for name, strata in losses.felt.items()}


def write_counts(counts: Mapping[str, int]) -> None:
    text = FILE.read_text(encoding="utf-8")
    for name, number in counts.items():
        text = re.sub(
            rf"(- \{{name: {re.escape(name)}, .*?, n: )[^,]+(, spread)", rf"\g<1>{number}\g<2>", text
        )
    FILE.write_text(text, encoding="utf-8")


def _number(value: float) -> str:
    text = f"{value:.4g}"
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def source_of(row: StepRow) -> str:
    """MLPerf rounds are one source: the same code and partly the same machines."""
    name = row.row["source_repo"]
    return "mlcommons" if name.startswith("mlcommons/") else name


if __name__ == "__main__":
    main()
