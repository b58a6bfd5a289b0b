"""Leave one stratum out: fit the constants again without it, predict it, report those errors.

For each stratum the constants that its rows depend on go back to their priors (counted by hand, in the facts
file) and are fitted by coordinate search on all other strata; constants that no other stratum informs stay at
the prior. The structure of the formulae was found on the same rows, so this is not a blind test: what comes
out is the error on a family, card and source that the constants have not seen, and the relative residuals per
counter and framework from which the intervals are made.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truth.figures import Figure, macro, quantile
from truth.memory import FILE, figures_of
from truth.rows import Described, describe_all, read_rows
from truth.shapes import load_shapes
from weighbridge.facts.memory_constants import build_constants, load_memory_tables, provenance
from weighbridge.schema.memory_constants import MemoryConstants
from weighbridge.weigh.memory import MemoryEstimate, memory

_GRID = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
_PASSES = 2


class Rows:
    """The described rows, with what each constant touches."""

    def __init__(self, folder: Path) -> None:
        shapes = load_shapes(folder)
        tables = load_memory_tables()
        self.defaults = tables.defaults
        self.spread = dict(tables.constants.spread)
        facts = provenance()
        self.values = {name: float(fact["value"]) for name, fact in facts.items()}
        self.priors = {name: float(fact["prior"]) for name, fact in facts.items() if "prior" in fact}
        rows = [r for r in read_rows(folder / FILE) if r["quality"] in ("A", "B") and r["status"] == "ok"]
        self.rows = [d for d in describe_all(rows, shapes) if d.shape is not None]
        base = self.constants(self.values)
        self.rows = [d for d in self.rows if isinstance(self.estimate(d, base), MemoryEstimate)]
        self.touched = {name: self._touched(name, base) for name in self.priors}

    def constants(self, values: dict[str, float]) -> MemoryConstants:
        return build_constants(values, self.spread)

    def estimate(self, described: Described, constants: MemoryConstants) -> Any:
        assert described.shape is not None
        return memory(
            described.shape,
            described.recipe,
            described.layout,
            constants,
            self.defaults,
            card_bytes=described.card_bytes,
        )

    def errors(self, indexes: Iterable[int], constants: MemoryConstants) -> dict[str, list[float]]:
        """|error| by stratum and counter."""
        found: dict[str, list[float]] = defaultdict(list)
        for index in indexes:
            described = self.rows[index]
            for figure in figures_of(described, self.estimate(described, constants)):
                found[f"{figure.stratum} {figure.counter}"].append(abs(figure.error))
        return found

    def _touched(self, name: str, base: MemoryConstants) -> list[int]:
        changed = self.constants(self.values | {name: self.values[name] * 1.6 + 1e-9})
        return [
            index
            for index, described in enumerate(self.rows)
            if self._answer(described, base) != self._answer(described, changed)
        ]

    def _answer(self, described: Described, constants: MemoryConstants) -> tuple[float, float, float]:
        said = self.estimate(described, constants)
        return said.allocated.value, said.reserved.value, said.device.value


def leave_one_out(folder: Path) -> dict[str, Any]:
    rows = Rows(folder)
    out: list[Figure] = []
    frameworks: dict[str, str] = {}
    for stratum in sorted({described.stratum for described in rows.rows}):
        inside = [index for index, described in enumerate(rows.rows) if described.stratum == stratum]
        values = _fit(rows, set(inside))
        constants = rows.constants(values)
        for index in inside:
            described = rows.rows[index]
            for figure in figures_of(described, rows.estimate(described, constants)):
                out.append(figure)
                frameworks[figure.row_id] = str(described.recipe.framework)
    found: dict[str, Any] = {}
    for quality in ("A", "B"):
        for counters in (
            ("allocated",),
            ("reserved",),
            ("device",),
            ("reserved", "device"),
            ("allocated", "reserved", "device", "unnamed"),
        ):
            chosen = [f for f in out if f.quality == quality and f.counter in counters]
            said = asdict(macro(chosen))
            found[f"{quality} {'+'.join(counters)}"] = {
                name: None if said[name] is None else round(said[name], 4)
                for name in ("strata", "median", "p90", "row_median", "row_p90", "inside")
            }
    found["residuals"] = _residuals(out, frameworks)
    return found


def _fit(rows: Rows, left_out: set[int]) -> dict[str, float]:
    values = dict(rows.values)
    names = [name for name, touched in rows.touched.items() if left_out & set(touched)]
    for name in names:
        values[name] = rows.priors[name]
    for _ in range(_PASSES):
        for name in names:
            others = [index for index in rows.touched[name] if index not in left_out]
            if others:
                values[name] = _best(rows, values, name, others)
    return values


def _best(rows: Rows, values: dict[str, float], name: str, others: list[int]) -> float:
    """The multiple of the prior with the least mean |error|, strata weighing alike; ties go to the prior."""
    best, least = values[name], float("inf")
    for factor in sorted(_GRID, key=lambda factor: abs(factor - 1)):
        tried = rows.priors[name] * factor
        errors = rows.errors(others, rows.constants(values | {name: tried}))
        mean = statistics.fmean(statistics.fmean(group) for group in errors.values())
        if mean < least - 1e-6:
            best, least = tried, mean
    return best


def _residuals(figures: list[Figure], frameworks: dict[str, str]) -> dict[str, dict[str, float]]:
    """5th and 95th percentile of measured over predicted less one, by counter and framework."""
    groups: dict[str, list[float]] = defaultdict(list)
    for figure in figures:
        assert figure.predicted is not None
        counter = "device" if figure.counter == "unnamed" else figure.counter
        groups[f"{counter}.{frameworks[figure.row_id]}"].append(figure.measured / figure.predicted - 1)
        groups[f"{counter}.stated"].append(figure.measured / figure.predicted - 1)
    return {
        name: {
            "n": len(values),
            "low": round(-quantile(values, 0.05), 4),
            "high": round(quantile(values, 0.95), 4),
        }
        for name, values in sorted(groups.items())
    }
