"""Time stamps of loggers, read as if they were UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.readers.stamp import find_stamp, first_stamp

NOON = 1714557600.0  # 2024-05-01 10:00:00


@pytest.mark.parametrize(
    ("line", "at"),
    [
        (b"[2024-05-01 10:00:00,250] [INFO]", NOON + 0.25),
        (b"[2024-05-01 10:00:00,250000][I]", NOON + 0.25),
        (b"2024/05/01 10:00:00.250, 0", NOON + 0.25),
        (b"2024-05-01T10:00:00", NOON),
        (b"2024-05-01T12:00:00.5+02:00", NOON + 0.5),
        (b"2024-05-01T08:00:00-0200", NOON),
        (b"2024-02-30 10:00:00", None),
        (b"no clock", None),
    ],
)
def test_stamps_are_read(line: bytes, at: float | None) -> None:
    assert first_stamp(line) == at


def test_of_several_stamps_the_last_one_before_the_mark_counts() -> None:
    line = b"[2024-05-01 09:00:00,000] bar [2024-05-01 10:00:00,000] time (ms) | 2024-05-01 11:00:00"
    assert find_stamp(line, line.index(b"time (ms)")) == NOON
    assert first_stamp(line) == NOON - 3600


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)))
def test_any_moment_comes_back(moment: datetime) -> None:
    text = moment.strftime("%Y-%m-%d %H:%M:%S,%f").encode()
    assert first_stamp(text) == pytest.approx(moment.replace(tzinfo=UTC).timestamp(), abs=1e-5)
