"""JSON objects of logs that write one per line, as they really are.

Two writers may glue lines together, a killed one leaves half an object, Python writes NaN and Infinity, which
are no JSON. What is whole is taken, what is not is told. Knows no log format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from weighbridge.readers.tally import Troubles
from weighbridge.readers.text import Head, Lines

# Far more objects than two or three writers glue into one line; more are not worth looking for.
_TRIES: Final = 64
_SNIFFED_LINES: Final = 20
# A reader of such logs hands its rows on after so many records.
FLUSH_EVERY: Final = 1024
# Larger figures are damage; a product of two counts still has to fit into the record.
_LARGEST: Final = 10**15
_LARGEST_COUNT: Final = 10**9
_DECODER: Final = json.JSONDecoder(strict=False)


def surest(head: Head, sureness: Callable[[dict[str, Any]], float]) -> float:
    """The best that ``sureness`` says of an object on the first lines of a file."""
    lines = head.data.split(b"\n", _SNIFFED_LINES)[:_SNIFFED_LINES]
    return max(
        (sureness(found) for line in lines for found in objects(line) if found is not None), default=0.0
    )


def records(lines: Lines, troubles: Troubles) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every whole object with its line; what is none is counted in ``troubles``."""
    for number_, line in lines:
        for record in objects(line):
            if record is None:
                troubles.add("readers.bad_json_line", number_)
            else:
                yield number_, record


def objects(line: bytes) -> Iterator[dict[str, Any] | None]:
    """The objects of a line; None for whatever else is in it. Nothing for an empty line."""
    try:
        record = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        yield from _one_by_one(line)
        return
    yield record if isinstance(record, dict) else None


def _one_by_one(line: bytes) -> Iterator[dict[str, Any] | None]:
    """Python's own forms too, and the objects of several writers in one line."""
    text = line.decode("utf-8", "replace")
    if not text.strip():
        return
    at, tries = text.find("{"), 0
    broken = at < 0 or bool(text[:at].strip())
    while at >= 0 and tries < _TRIES:
        tries += 1
        try:
            record, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            broken = True
            at = text.find('{"', at + 1)
            continue
        yield record
        at = text.find("{", end)
        broken = broken or bool(text[end : at if at >= 0 else len(text)].strip())
    if broken:
        yield None


def number(value: Any) -> float | None:
    """A finite figure, or None for text, NaN, infinity, and anything else."""
    if type(value) is not float and type(value) is not int:
        return None
    # NaN compares with nothing.
    return float(value) if -_LARGEST < value < _LARGEST else None


def count(value: Any) -> int | None:
    """A whole figure that is not negative, or None."""
    figure = number(value)
    whole = figure is not None and 0 <= figure < _LARGEST_COUNT and figure == int(figure)
    return int(figure) if figure is not None and whole else None
