"""The clock of OpenMMLab text logs: local time, by version with or without a year.

MMCV prints "2021-08-17 16:49:31,759", MMEngine "10/21 11:32:07" (most versions) or "2023/06/05 11:32:07".
A stamp is read as if it were UTC. Where it has no year, the year comes from what names the run
("..._20251021_113204"); without that it is ASSUMED_YEAR: differences are right, the date is not. A stamp that
jumps by half a year belongs to the neighbouring year, so New Year does not go backwards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from weighbridge.readers.line_prefix import ASSUMED_YEAR

# Group 1 is what ``RunClock`` takes.
STAMP: Final = re.compile(rb"((?:\d{4}[-/])?\d\d[-/]\d\d \d\d:\d\d:\d\d(?:,\d{3})?)(?:\.\d+)? - ")

_PARTS: Final = re.compile(rb"(?:(\d{4})[-/])?(\d\d)[-/](\d\d) (\d\d):(\d\d):(\d\d)(?:,(\d{3}))?$")
_RUN_TIME: Final = re.compile(rb"(?<!\d)(20\d\d)(\d\d)(\d\d)_\d{6}(?!\d)")
_YEARLESS: Final = re.compile(rb"(?<![\d/-])(\d\d)/(\d\d) \d\d:\d\d:\d\d - ")
_EXPERIMENT: Final = re.compile(rb"Exp name: .*")
_HALF_YEAR_MONTHS: Final = 6
# Banners are shorter; only "Exp name" may come later.
_BEGINNING_BYTES: Final = 128 << 10
# A long log names one hour after the other; the cache must not grow with it.
_CACHED_HOURS: Final = 4096

# How many digits a stamp of each length has; the longest one has milliseconds.
_DIGITS: Final = {14: 10, 19: 14, 23: 17}
_MILLISECONDS_LENGTH: Final = 23
_SEPARATORS: Final = b"/-: ,"
_NEW_LINE_TO_COMMA: Final = bytes.maketrans(b"\n", b",")
# Seconds in the hour by minutes and seconds written as one number; None where there is no such time.
_SECONDS: Final = [
    float(number // 100 * 60 + number % 100) if number < 6000 and number % 100 < 60 else None
    for number in range(10_000)
]


class _Hours(dict[int, float | None]):
    """Where each hour (1 and its digits: 1102111 for "10/21 11") begins, worked out when first asked for."""

    def __init__(self, clock: RunClock) -> None:
        super().__init__()
        self._clock = clock

    def __missing__(self, hour: int) -> float | None:
        if len(self) >= _CACHED_HOURS:
            self.clear()
        start = self._clock.start_of(str(hour)[1:])
        self[hour] = start
        return start


class RunClock:
    """Turns stamps into seconds. ``seen`` and ``year_assumed`` say what kind of clock the source has."""

    def __init__(self) -> None:
        self.seen = False
        self.year_assumed = False
        self._year = ASSUMED_YEAR
        self._month: int | None = None
        self._hours = _Hours(self)

    def look_for_year(self, name: str, text: bytes) -> None:
        """Find the year in the file's name or in its beginning, for stamps that have none."""
        first = _YEARLESS.search(text, 0, _BEGINNING_BYTES)
        if first is None:
            return
        month, day = int(first[1]), int(first[2])
        experiment = _EXPERIMENT.search(text)
        for place in (name.encode("utf-8", "replace"), experiment[0] if experiment else b""):
            found = _RUN_TIME.search(place)
            if found:
                # The run was named when it began; a stamp earlier in the year is from the next one.
                self._year = int(found[1]) + ((month, day) < (int(found[2]), int(found[3])))
                self._month = month
                return
        for found in _RUN_TIME.finditer(text, 0, _BEGINNING_BYTES):
            if (int(found[2]), int(found[3])) == (month, day):
                self._year, self._month = int(found[1]), month
                return
        self.year_assumed = True

    def at(self, stamp: bytes) -> float | None:
        """Seconds of one stamp; None for a day or a time that does not exist."""
        found = _PARTS.search(stamp)
        if found is None:
            return None
        hour = int(b"1%s%s%s%s" % (found[1] or b"", found[2], found[3], found[4]))
        start, seconds = self._hours[hour], _SECONDS[int(found[5] + found[6])]
        if start is None or seconds is None:
            return None
        self.seen = True
        return start + seconds + int(found[7] or b"0") / 1000.0

    def column(self, stamps: Sequence[bytes]) -> list[float | None]:
        """``at`` for many stamps in their order; written for speed, it runs once per row of a log."""
        lengths = set(map(len, stamps))
        try:
            clock = self._even(stamps, lengths.pop()) if len(lengths) == 1 else None
        except (ValueError, TypeError):
            # Not digits where digits belong, or a time that does not exist.
            clock = None
        if clock is None:
            return [self.at(stamp) for stamp in stamps]
        self.seen = True
        return clock

    def _even(self, stamps: Sequence[bytes], length: int) -> list[float | None] | None:
        """Stamps of one length: their digits as one number each, with a 1 in front against leading zeros."""
        if length not in _DIGITS or not all(map(_PARTS.match, (stamps[0], stamps[-1]))):
            return None
        text = b"[1%s]" % b"\n1".join(stamps)
        numbers: list[int] = msgspec.json.decode(
            text.translate(_NEW_LINE_TO_COMMA, _SEPARATORS), type=list[int]
        )
        one = 10 ** _DIGITS[length]
        if not one <= min(numbers) <= max(numbers) < 2 * one:
            return None
        hours = self._hours
        # An hour or a second that does not exist is None, and adding it a TypeError.
        if length == _MILLISECONDS_LENGTH:
            return [
                hours[n // 10_000_000] + _SECONDS[n // 1000 % 10_000] + n % 1000 / 1000.0  # type: ignore[operator]
                for n in numbers
            ]
        return [hours[n // 10_000] + _SECONDS[n % 10_000] for n in numbers]  # type: ignore[operator]

    def start_of(self, digits: str) -> float | None:
        """Seconds of the hour "102111" or "2025102111"; None where there is no such hour."""
        month, day, hour = int(digits[-6:-4]), int(digits[-4:-2]), int(digits[-2:])
        if not (1 <= month <= 12 and day >= 1 and hour < 24):
            return None
        year = int(digits[:-6]) if len(digits) > 6 else self._year_of(month)
        try:
            date = datetime(year, month, 1, tzinfo=UTC) + timedelta(days=day - 1)
        except (ValueError, OverflowError):
            return None
        return date.timestamp() + hour * 3600.0 if date.month == month else None

    def _year_of(self, month: int) -> int:
        """The year that puts this month nearest to the one before; entering it forgets cached hours."""
        if self._month is not None and month - self._month < -_HALF_YEAR_MONTHS:
            self._year += 1
            self._hours.clear()
        elif self._month is not None and month - self._month > _HALF_YEAR_MONTHS:
            return self._year - 1
        self._month = month
        return self._year
