"""Axes by hand-worked ticks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.report.charts.scale import (
    Axis,
    bytes_axis,
    count_axis,
    duration_axis,
    elapsed_axis,
    nice_step,
    share_axis,
)
from weighbridge.units import GIB, MIB


def labels(axis: Axis) -> list[str]:
    return [tick.label for tick in axis.ticks]


@pytest.mark.parametrize(
    ("span", "count", "step"),
    [(10, 5, 2), (11, 5, 5), (2.5, 5, 0.5), (0.09, 4, 0.05), (1, 10, 0.1), (7, 1, 10), (0, 5, 1)],
)
def test_a_step_is_one_two_or_five_times_a_power_of_ten(span: float, count: int, step: float) -> None:
    assert nice_step(span, count) == pytest.approx(step)


@given(st.floats(1e-6, 1e12), st.integers(1, 12))
def test_a_step_is_the_smallest_that_gives_no_more_pieces_than_asked(span: float, count: int) -> None:
    step = nice_step(span, count)

    # The next smaller step is a half or two fifths of this one.
    assert span / step <= count * 1.000001
    assert span / (step / 2.5) >= count * 0.999999


@pytest.mark.parametrize(
    ("high", "unit", "expected"),
    [
        (1.41, "s", ["0.0", "0.5", "1.0", "1.5"]),
        (0.47, "ms", ["0", "100", "200", "300", "400", "500"]),
        (170.0, "s", ["0", "50", "100", "150", "200"]),
        (600.0, "min", ["0", "2", "4", "6", "8", "10"]),
        (4e-5, "\u00b5s", ["0", "10", "20", "30", "40"]),
        (0.0, "s", ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
    ],
)
def test_a_duration_axis_starts_at_zero_and_covers_the_highest_value(
    high: float, unit: str, expected: list[str]
) -> None:
    axis = duration_axis(high, 5)

    assert (axis.unit, labels(axis)) == (unit, expected)
    assert axis.high >= high * 0.999999


def test_bytes_are_labelled_in_binary_units() -> None:
    card = bytes_axis(48 * GIB, 6)

    assert (card.unit, labels(card)) == ("GiB", ["0", "10", "20", "30", "40", "50"])
    assert card.ticks[1].value == 10 * GIB
    assert bytes_axis(300 * MIB, 4).unit == "MiB"


def test_a_share_axis_has_quarters() -> None:
    assert labels(share_axis()) == ["0", "25", "50", "75", "100"]


def test_a_count_axis_keeps_its_ends_and_ticks_inside() -> None:
    axis = count_axis(50, 28_000, 8)

    assert (axis.low, axis.high) == (50, 28_000)
    assert labels(axis) == ["5,000", "10,000", "15,000", "20,000", "25,000"]


def test_a_count_axis_of_few_records_has_whole_ticks() -> None:
    assert labels(count_axis(0, 3, 6)) == ["0", "1", "2", "3"]


def test_elapsed_time_is_labelled_in_the_unit_of_its_span() -> None:
    axis = elapsed_axis(0, 4 * 3600, 4)

    assert (axis.unit, labels(axis)) == ("h", ["0", "1", "2", "3", "4"])


def test_a_position_is_linear_and_held_inside() -> None:
    axis = duration_axis(10.0, 5)

    assert axis.position(5.0, 0, 100) == 50
    assert axis.position(5.0, 100, 0) == 50
    assert (axis.position(-1.0, 0, 100), axis.position(99.0, 0, 100)) == (0, 100)
