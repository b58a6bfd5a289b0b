"""Loads the constants of the step formulae and the framework defaults as the kernel's records.

The file holds for every value its unit, the figures behind it, spread, source and date; ``provenance`` hands
those out for a report. Whoever calls ``weigh.step`` passes the records in.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.facts.tree import read_tree
from weighbridge.schema.memory_constants import FrameworkDefault
from weighbridge.schema.step_constants import StepConstants, StepSpread

FILE: Final = Path(__file__).parent / "data" / "step_constants.yaml"


@dataclass(frozen=True, slots=True)
class StepTables:
    constants: StepConstants
    defaults: tuple[FrameworkDefault, ...]


@cache
def load_step_tables(path: Path = FILE) -> StepTables:
    """Raises InputError that names the file and the field when a constant is missing or unknown."""
    tree, _ = read_tree(path)
    spreads = {item["name"]: StepSpread(low=item["low"], high=item["high"]) for item in tree["spreads"]}
    values = {item["name"]: float(item["value"]) for item in tree["constants"]}
    return StepTables(
        constants=build_constants(values, spreads, path),
        defaults=tuple(FrameworkDefault(**item) for item in tree["defaults"]),
    )


def build_constants(
    values: dict[str, float], spreads: dict[str, StepSpread], path: Path = FILE
) -> StepConstants:
    """Dotted names make tables, and tables of tables (``gemm_share.Ampere.bf16``)."""
    record: dict[str, Any] = {"spread": spreads}
    for name, value in values.items():
        *tables, key = name.split(".")
        place = record
        for table in tables:
            place = place.setdefault(table, {})
        place[key] = value
    known = {field.name for field in fields(StepConstants)}
    for wrong in sorted(known ^ set(record)):
        raise InputError("facts.bad_field", file=str(path), line=None, id=wrong, reason="missing or unknown")
    return StepConstants(**record)


@cache
def provenance(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """For every constant: value, unit, n, spread, source and date."""
    tree, _ = read_tree(path)
    return {item["name"]: item for item in tree["constants"]}
