"""The form that files of fitted constants share: named values with spreads, and framework defaults.

Every value stands in its file with unit, the figures behind it, spread, source and date. Which constants
there must be is each loader's own matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from weighbridge.errors import InputError
from weighbridge.facts.tree import read_tree
from weighbridge.schema.memory_constants import FrameworkDefault

SpreadRecord = TypeVar("SpreadRecord")


class Constants(Protocol):
    """A record of constants: any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Record = TypeVar("Record", bound=Constants)
Tables = tuple[dict[str, float], dict[str, SpreadRecord], tuple[FrameworkDefault, ...]]


def read_constants(path: Path, spread: Callable[..., SpreadRecord], what: str) -> Tables[SpreadRecord]:
    """Values, spreads and defaults. Raises InputError that names the file for an entry out of form."""
    tree, _ = read_tree(path)
    try:
        spreads = {item["name"]: spread(low=item["low"], high=item["high"]) for item in tree["spreads"]}
        values = {item["name"]: float(item["value"]) for item in tree["constants"]}
        defaults = tuple(FrameworkDefault(**item) for item in tree["defaults"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("facts.bad_field", file=str(path), line=None, id=what, reason=str(error)) from error
    return values, spreads, defaults


def build(
    record: type[Record], values: Mapping[str, float], spreads: Mapping[str, Any], path: Path
) -> Record:
    """Dotted names make tables, and tables of tables (``gemm_share.Ampere.bf16``); every field must be there.

    Raises InputError that names the file and the field that is missing or unknown.
    """
    tree: dict[str, Any] = {"spread": dict(spreads)}
    for name, value in values.items():
        *tables, key = name.split(".")
        place = tree
        for table in tables:
            place = place.setdefault(table, {})
        place[key] = value
    known = {field.name for field in fields(record)}
    for wrong in sorted(known ^ set(tree)):
        raise InputError("facts.bad_field", file=str(path), line=None, id=wrong, reason="missing or unknown")
    return record(**tree)


@cache
def provenance(path: Path) -> dict[str, dict[str, Any]]:
    """For every constant: value, unit, n, spread, source and date."""
    tree, _ = read_tree(path)
    return {item["name"]: item for item in tree["constants"]}
