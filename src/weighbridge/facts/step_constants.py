"""Loads the constants of the step formulae and the framework defaults as the kernel's records.

The file holds for every value its unit, the figures behind it, spread, source and date; ``provenance`` hands
those out for a report. Whoever calls ``weigh.step`` passes the records in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from weighbridge.facts import constants_file
from weighbridge.facts.constants_file import read_constants
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
    values, spreads, defaults = read_constants(path, StepSpread, "step constants")
    return StepTables(constants=build_constants(values, spreads, path), defaults=defaults)


def build_constants(
    values: dict[str, float], spreads: dict[str, StepSpread], path: Path = FILE
) -> StepConstants:
    """The record of these values; every field must be there."""
    return constants_file.build(StepConstants, values, spreads, path)


def provenance(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """For every constant: value, unit, n, spread, source and date."""
    return constants_file.provenance(path)
