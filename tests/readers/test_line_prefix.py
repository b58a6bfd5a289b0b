"""Stamps of loggers and ranks of launchers in front of a record."""

from __future__ import annotations

import pytest

from weighbridge.readers.line_prefix import Repeats, Stamps, rank_of


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b"2021-09-01 10:00:05,250 [INFO] x", 1630490405.25),
        (b"[2021/09/01 10:00:05] ppseg INFO: x", 1630490405.0),
        (b"I20210901 10:00:05 4711 dinov2 helpers.py:103] x", 1630490405.0),
        (b"2021-09-01T12:00:05+02:00 x", 1630490405.0),
        (b"no stamp here", None),
        (b"[99/99 10:00:05] no such day", None),
        (b"x" * 200 + b"2021-09-01 10:00:05", None),
    ],
)
def test_the_stamp_of_a_logger_is_read(line: bytes, seconds: float | None) -> None:
    assert Stamps().at(line) == seconds


def test_a_clock_without_a_year_says_so_and_gets_over_new_year_and_back() -> None:
    stamps = Stamps()
    eve = stamps.at(b"[12/31 23:59:50] a")
    new_year = stamps.at(b"[01/01 00:00:10] b")
    quoted = stamps.at(b"[12/31 23:59:55] c")
    assert eve is not None
    assert new_year == eve + 20
    assert quoted == eve + 5
    assert stamps.facts() == {"clock": "local", "details.clock_without_year": True}


def test_a_leap_day_is_a_day_in_a_clock_without_a_year() -> None:
    stamps = Stamps()
    leap = stamps.at(b"[02/29 12:00:00] a")
    assert leap is not None
    assert stamps.at(b"[03/01 12:00:00] b") == leap + 86_400


def test_a_clock_without_a_date_gets_over_midnight() -> None:
    stamps = Stamps()
    late = stamps.at(b"[23:59:50.500000] a")
    assert late is not None
    assert stamps.at(b"[00:00:10.500000] b") == late + 20
    assert stamps.facts() == {"clock": "local", "details.clock_without_date": True}


def test_the_kind_of_clock_is_stated() -> None:
    stamps = Stamps()
    assert stamps.facts() == {}
    stamps.at(b"2021-09-01T12:00:05Z x")
    assert stamps.facts() == {"clock": "utc"}


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [
        (b"[rank3]: ", 3),
        (b"[default5]:", 5),
        (b"[1,2]<stdout>:", 2),
        (b"7: ", 7),
        (b"Rank 4 ", 4),
        (b"", None),
        (b"[07/28 22:26:37] ", None),
        (b"2021-09-01 10:00:05 ", None),
    ],
)
def test_the_rank_of_a_launcher_is_read(prefix: bytes, rank: int | None) -> None:
    assert rank_of(prefix) == rank


def test_repeats_of_one_place_are_counted_until_another_comes() -> None:
    repeats = Repeats()
    assert [repeats.see(place) for place in ("a", "a", "a", "b", "a")] == [0, 1, 2, 0, 0]
