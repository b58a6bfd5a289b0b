"""Time stamps as Python's logging and nvidia-smi print them.

Read as if they were UTC: a stamp without a zone is some local time, and Run.clock has to say so.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

STAMP: Final = re.compile(
    rb"(\d{4}[-/]\d{1,2}[-/]\d{1,2})[ T](\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
)


@lru_cache(maxsize=64)
def _midnight(date: bytes) -> float | None:
    year, month, day = (int(part) for part in re.split(rb"[-/]", date))
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def stamp_seconds(match: re.Match[bytes]) -> float | None:
    """Unix seconds of a match of STAMP, its zone counted where it has one; None for a day that is none."""
    date, hours, minutes, seconds, fraction, zone = match.groups()
    midnight = _midnight(date)
    if midnight is None:
        return None
    at = midnight + int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    if fraction:
        at += int(fraction) / 10 ** len(fraction)
    if zone and zone != b"Z":
        shift = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        at += shift if zone.startswith(b"-") else -shift
    return at


def find_stamp(line: bytes, end: int | None = None) -> float | None:
    """The last stamp before ``end`` (progress bars are often glued in front of a log line), or None."""
    last = None
    for match in STAMP.finditer(line, 0, len(line) if end is None else end):
        last = match
    return stamp_seconds(last) if last else None


def first_stamp(line: bytes) -> float | None:
    """The first stamp of the line, or None."""
    found = STAMP.search(line)
    return stamp_seconds(found) if found else None
