"""Encode records to JSON documents and back."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec

from weighbridge.errors import InputError

Record = TypeVar("Record")


def _plain(value: Any) -> Any:
    """What JSON cannot hold, all the way down: NaN and infinity become None, lone surrogates "?".

    Surrogates come from file names that are no UTF-8 (Chinese names packed under GBK).
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def document(record: Any) -> dict[str, Any]:
    """The record as plain JSON values with its schema name first. Raises AttributeError without SCHEMA."""
    return {"schema": type(record).SCHEMA, **_plain(msgspec.to_builtins(record))}


def encode(record: Any, *, indent: int = 2) -> bytes:
    """The record as UTF-8 JSON text."""
    return msgspec.json.format(msgspec.json.encode(document(record)), indent=indent)


def decode(data: bytes, record: type[Record], *, name: str) -> Record:
    """Read a document back. Raises InputError that names ``name`` and the field when it does not fit."""
    expected = record.SCHEMA  # type: ignore[attr-defined]
    try:
        plain = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise InputError("codec.not_json", name=name, reason=str(error)) from error
    found = plain.pop("schema", None) if isinstance(plain, dict) else None
    if found != expected:
        raise InputError("codec.wrong_schema", name=name, expected=expected, found=str(found))
    try:
        return msgspec.convert(plain, record)
    except msgspec.ValidationError as error:
        raise InputError("codec.bad_field", name=name, reason=str(error)) from error
