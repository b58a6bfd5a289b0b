"""Clock alignment by hand-made spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weighbridge.readers.base import Samples
from weighbridge.readers.join import Span, find_offset, same_gpu, within

HOUR = 3600.0


def test_equal_clocks_that_overlap_need_no_shift() -> None:
    assert find_offset(Span(0, HOUR, 0, "local"), Span(60, HOUR, 60, "local")) == 0.0


@given(some.integers(-56, 56), some.floats(0, 1e9))
def test_any_time_zone_is_found_from_where_activity_begins(quarters: int, start: float) -> None:
    zone = quarters * 900.0
    run = Span(start, start + HOUR, start, "local")
    samples = Span(start - zone - 30, start - zone + HOUR, start - zone + 5, "utc")
    assert find_offset(run, samples) == pytest.approx(zone)


def test_two_local_clocks_hours_apart_are_not_joined() -> None:
    assert find_offset(Span(0, HOUR, 0, "local"), Span(9 * HOUR, 10 * HOUR, None, "local")) is None


def test_a_log_without_a_year_meets_samples_with_one() -> None:
    day = 86_400.0
    # 21 October of 1970 and of 2025: days 293 and 20382 since 1970.
    run = Span(293 * day, 293 * day + HOUR, 293 * day, "local", year_known=False)
    samples = Span(20_382 * day + 10, 20_382 * day + HOUR, 20_382 * day + 10, "local")
    assert find_offset(run, samples) == pytest.approx(-(20_382 - 293) * day)


def test_a_log_without_a_year_does_not_meet_samples_of_another_day() -> None:
    day = 86_400.0
    run = Span(293 * day, 293 * day + HOUR, 293 * day, "local", year_known=False)
    samples = Span(20_415 * day, 20_415 * day + HOUR, 20_415 * day, "local")
    assert find_offset(run, samples) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("NVIDIA L40", "NVIDIA RTX A6000", False),
        ("NVIDIA GeForce RTX 3090", "GeForce RTX 3090", True),
        ("NVIDIA A100-SXM4-80GB", "A100", True),
        (None, "NVIDIA L40", True),
    ],
)
def test_two_names_of_one_gpu_are_told_from_two_gpus(one: str | None, other: str | None, same: bool) -> None:
    assert same_gpu(one, other) is same


def test_only_rows_inside_the_run_are_taken() -> None:
    piece = Samples({"at_seconds": [1.0, 2.0, None, 9.0], "device": [0, 1, 2, 3]}, 4)
    assert within(piece, 1.5, 8.0) == Samples({"at_seconds": [2.0], "device": [1]}, 1)
