"""A stable hash of a record: the same for what means the same, on every machine and in every later version.

Left out are where a figure came from (a Quantity's origin, source, date, confidence), fields that a record
marks with ``metadata={"identity": False}`` (names, sources), and everything that is None or empty, so that a
field added later does not change the hash of what does not use it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final

from weighbridge.units import Curve, Quantity

_PROVENANCE: Final = frozenset({"origin", "source", "date", "confidence", "missing"})


def stable_hash(record: Any) -> str:
    """SHA-256, in hexadecimal, of the record's canonical JSON. Raises TypeError for what is no record."""
    if not is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"{record!r} is not a record")
    schema = getattr(record, "SCHEMA", type(record).__name__)
    text = json.dumps([schema, _plain(record)], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _without_empty({name: _plain(getattr(value, name)) for name in _identity(type(value))})
    if isinstance(value, dict):
        return _without_empty({str(key): _plain(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    if value is None or isinstance(value, str | bool):
        return value
    raise TypeError(f"a record cannot hold {value!r}")


@cache
def _identity(record: type) -> tuple[str, ...]:
    """Names of the fields that make a record what it is."""
    skipped = _PROVENANCE if issubclass(record, Quantity | Curve) else frozenset()
    return tuple(
        item.name
        for item in fields(record)
        if item.name not in skipped and item.metadata.get("identity", True)
    )


def _without_empty(found: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in found.items() if item is not None and item != [] and item != {}}


def _number(value: float) -> float | int | None:
    # 8 and 8.0 are one number, and a JSON round trip may turn either into the other.
    if not math.isfinite(value):
        return None
    whole = int(value)
    return whole if whole == value else value
