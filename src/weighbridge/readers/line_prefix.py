"""What stands before a record on its line: the clock of a logger and the rank of a launcher.

Stamps without a year ("[07/28 22:26:37]") are put into an assumed year, stamps without a date
("[21:25:16.951899]") on an assumed day: differences are right, the date is not, and the facts say so.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from weighbridge.readers.stamp import STAMP, stamp_seconds
from weighbridge.schema.run import Scalar

# A leap year, so that 02/29 is a day; ``readers.join`` knows that a log may be whole years off.
ASSUMED_YEAR: Final = 1972
DAY_SECONDS: Final = 86_400
YEAR_SECONDS: Final = 366 * DAY_SECONDS
# 1972-01-01.
ASSUMED_DAY_SECONDS: Final = 2 * 365 * DAY_SECONDS
# A stamp stands at the beginning of a line; a date further on is part of a path or a message.
_WITHIN: Final = 120
# More nodes than anybody has: a stuck writer must not make streams for ever.
MAXIMUM_REPEATS: Final = 4095
# After so many lines without a single stamp the source is taken to have none.
_GIVE_UP: Final = 500

_YEARLESS = re.compile(rb"\[(\d\d/\d\d) (\d\d):(\d\d):(\d\d)(?:[.,]\d{1,6})?\]")
_DATELESS = re.compile(rb"\[(\d\d):(\d\d):(\d\d)\.(\d{1,9})\] ")
_GLOG = re.compile(rb"\b[IWE](\d{8}) (\d\d):(\d\d):(\d\d)")

_RANK = re.compile(
    rb"\s*(?:\[(?:rank|default)[ _]?(\d{1,6})\]:?|\[\d+,(\d{1,6})\]<std(?:out|err)>:?"
    rb"|[Rr](?:ank|ANK)[ _:=]?(\d{1,6})\b|(\d{1,6}): )"
)


@dataclass(slots=True)
class Stamps:
    """Reads the stamp of a line and remembers what kind of clock the source has."""

    seen: bool = False
    zoned: bool = False
    yearless: bool = False
    dateless: bool = False
    _misses: int = 0
    _last_seconds: float | None = None

    def at(self, line: bytes) -> float | None:
        """Seconds on the source's clock, or None where the line carries no stamp."""
        if self._misses > _GIVE_UP:
            return None
        at: float | None = None
        if not self.yearless and (match := STAMP.search(line, 0, _WITHIN)):
            at = stamp_seconds(match)
            self.zoned = self.zoned or match[6] is not None
        elif match := _YEARLESS.search(line, 0, _WITHIN):
            day, hours, minutes, seconds = match.groups()
            at = _midnight(b"%d/%s" % (ASSUMED_YEAR, day))
            if at is not None:
                self.yearless = True
                at = self._rolled(_time(at, hours, minutes, seconds), YEAR_SECONDS)
        elif match := _DATELESS.match(line):
            hours, minutes, seconds, fraction = match.groups()
            self.dateless = True
            at = _time(ASSUMED_DAY_SECONDS, hours, minutes, seconds) + int(fraction) / 10 ** len(fraction)
            at = self._rolled(at, DAY_SECONDS)
        elif match := _GLOG.search(line, 0, _WITHIN):
            day, hours, minutes, seconds = match.groups()
            at = _midnight(b"%s/%s/%s" % (day[:4], day[4:6], day[6:]))
            if at is not None:
                at = _time(at, hours, minutes, seconds)
        if at is not None:
            self.seen = True
        elif not self.seen:
            self._misses += 1
        return at

    def facts(self) -> dict[str, Scalar]:
        """What the Run has to say about its clock."""
        if not self.seen:
            return {}
        facts: dict[str, Scalar] = {"clock": "utc" if self.zoned else "local"}
        if self.yearless:
            facts["details.clock_without_year"] = True
        if self.dateless:
            facts["details.clock_without_date"] = True
        return facts

    def _rolled(self, at: float, period: float) -> float:
        """New Year without years, midnight without dates: a stamp is the one nearest to the stamp before."""
        if self._last_seconds is not None:
            at += round((self._last_seconds - at) / period) * period
        self._last_seconds = at
        return at


@dataclass(slots=True)
class Repeats:
    """Several nodes print the same line without a prefix: the n-th repeat of a place is the n-th stream."""

    place: object = None
    count: int = 0

    def see(self, place: object) -> int:
        """How often ``place`` was seen directly before."""
        self.count = min(self.count + 1, MAXIMUM_REPEATS) if place == self.place else 0
        self.place = place
        return self.count


@lru_cache(maxsize=64)
def _midnight(date: bytes) -> float | None:
    year, month, day = (int(part) for part in date.split(b"/"))
    if not (1970 <= year <= 9000 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    return float(calendar.timegm((year, month, day, 0, 0, 0)))


def _time(day_seconds: float, hours: bytes, minutes: bytes, seconds: bytes) -> float:
    return day_seconds + int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def rank_of(prefix: bytes) -> int | None:
    """The rank that a launcher put before the line: [rank3]:, [default3]:, [1,3]<stdout>:, "3: "."""
    match = _RANK.match(prefix)
    if match is None:
        return None
    return int(next(group for group in match.groups() if group is not None))
