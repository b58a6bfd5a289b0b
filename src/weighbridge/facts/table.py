"""Lists of entries of a fact file as typed records, with the user's folders on top. Knows no single table.

For tables that came after the GPUs: an entry replaces one as a whole by its id, a field nobody knows is
refused, and a plain number may stand where a Span is due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, get_args, get_type_hints

from weighbridge.errors import InputError
from weighbridge.facts.load import ENVIRONMENT, SHIPPED
from weighbridge.facts.sourced import Sourced, Span
from weighbridge.facts.tree import read_tree

Entry = TypeVar("Entry", bound=Sourced)
_NUMBERS: Final = (int, float)


@dataclass(frozen=True, slots=True)
class _Place:
    file: str
    line: int
    id: str


def load_table(name: str, key: str, record: type[Entry], folders: tuple[Path, ...] = ()) -> tuple[Entry, ...]:
    """The entries under ``key`` of the shipped file ``name``, then those of every file of ``folders``.

    Raises InputError that names the file, the line, the entry and the field when an entry does not fit.
    """
    found = {entry.id: entry for entry in read_table(SHIPPED / name, key, record)}
    for folder in folders:
        if not folder.is_dir():
            raise InputError("facts.no_folder", folder=str(folder), variable=ENVIRONMENT)
        for file in sorted(folder.glob("*.yaml")):
            found |= {entry.id: entry for entry in read_table(file, key, record)}
    return tuple(found.values())


def read_table(path: Path, key: str, record: type[Entry]) -> tuple[Entry, ...]:
    """The entries under ``key`` of one file, in its order; none when the file is about other things."""
    tree, lines = _read_once(path, path.stat().st_mtime_ns if path.is_file() else 0)
    entries = tree.get(key, [])
    if not isinstance(entries, list):
        raise InputError("facts.not_a_list", file=str(path), field=key)
    found: dict[str, Entry] = {}
    for entry, line in zip(entries, lines.get(key, []), strict=True):
        if not isinstance(entry, dict):
            raise InputError("facts.not_an_entry", file=str(path), line=line)
        place = _Place(str(path), line, str(entry.get("id")))
        one = _convert({"read_on": tree.get("read_on"), **entry}, record, place)
        if one.id in found:
            raise InputError("facts.repeated_entry", file=place.file, line=line, id=one.id)
        found[one.id] = one
    return tuple(found.values())


@cache
def _read_once(path: Path, changed: int) -> tuple[dict[str, Any], dict[str, list[int]]]:
    # One file holds many tables; ``changed`` makes an edited file another one.
    return read_tree(path)


def _convert(entry: dict[str, Any], record: type[Entry], place: _Place) -> Entry:
    import msgspec

    plain = _fit(entry, record, "", place)
    try:
        return msgspec.convert(plain, record)
    except msgspec.ValidationError as error:
        raise InputError(
            "facts.bad_field", file=place.file, line=place.line, id=place.id, reason=str(error)
        ) from error


def _fit(entry: Mapping[str, Any], record: type, prefix: str, place: _Place) -> dict[str, Any]:
    """``entry`` with its Spans written out. msgspec passes over fields it does not know: refused here."""
    inner = _parts(record)
    for key in entry:
        if key not in inner:
            raise InputError(
                "facts.unknown_field",
                file=place.file,
                line=place.line,
                id=place.id,
                field=prefix + str(key),
                known=list(inner),
            )
    return {key: _part(value, inner[key], f"{prefix}{key}.", place) for key, value in entry.items()}


def _part(value: Any, record: type | None, prefix: str, place: _Place) -> Any:
    if record is None:
        return value
    if isinstance(value, list):
        return [_part(item, record, prefix, place) for item in value]
    if record is Span and isinstance(value, _NUMBERS) and not isinstance(value, bool):
        return {"low": value, "high": value}
    return _fit(value, record, prefix, place) if isinstance(value, dict) else value


@cache
def _parts(record: Any) -> dict[str, type | None]:
    """Every field of ``record``, with the record inside it where it holds one."""
    hints = get_type_hints(record)
    return {item.name: _inside(hints[item.name]) for item in fields(record)}


def _inside(hint: Any) -> type | None:
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and is_dataclass(kind):
            return kind
    return None
