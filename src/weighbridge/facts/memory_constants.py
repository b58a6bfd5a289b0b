"""Loads the constants of the memory formulae and the framework defaults as the kernel's records.

The file beside it holds for every value its unit, the figures behind it, spread, source and date;
``provenance`` hands those out for a report. Whoever calls ``weigh.memory`` passes the two records in.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.facts.tree import read_tree
from weighbridge.schema.memory_constants import FrameworkDefault, MemoryConstants, Spread

FILE: Final = Path(__file__).parent / "data" / "memory_constants.yaml"


@dataclass(frozen=True, slots=True)
class MemoryTables:
    constants: MemoryConstants
    defaults: tuple[FrameworkDefault, ...]


@cache
def load_memory_tables(path: Path = FILE) -> MemoryTables:
    """Raises InputError that names the file and the field when a constant is missing or unknown."""
    tree, _ = read_tree(path)
    try:
        spreads = {item["name"]: Spread(low=item["low"], high=item["high"]) for item in tree["spreads"]}
        constants = {item["name"]: float(item["value"]) for item in tree["constants"]}
        defaults = tuple(FrameworkDefault(**item) for item in tree["defaults"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "facts.bad_field", file=str(path), line=None, id="memory constants", reason=str(error)
        ) from error
    return MemoryTables(constants=build_constants(constants, spreads, path), defaults=defaults)


def build_constants(
    values: dict[str, float], spreads: dict[str, Spread], path: Path = FILE
) -> MemoryConstants:
    """Dotted names make the tables (``loss_bytes_per_logit.eager``); every field must be there."""
    record: dict[str, Any] = {"spread": spreads}
    for name, value in values.items():
        table, dot, key = name.partition(".")
        if dot:
            record.setdefault(table, {})[key] = value
        else:
            record[name] = value
    known = {field.name for field in fields(MemoryConstants)}
    for wrong in sorted(known ^ set(record)):
        raise InputError("facts.bad_field", file=str(path), line=None, id=wrong, reason="missing or unknown")
    return MemoryConstants(**record)


@cache
def provenance(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """For every constant: value, unit, n, spread, source and date."""
    tree, _ = read_tree(path)
    return {item["name"]: item for item in tree["constants"]}
