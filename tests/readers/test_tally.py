"""Counters that stay small however long a log is."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from weighbridge.readers.tally import MEDIAN_VALUES, Median, Troubles


def test_a_kind_of_trouble_is_one_problem_with_its_first_line_and_a_count() -> None:
    troubles = Troubles()
    for line in (7, 8, 9):
        troubles.add("readers.one", line, word="x")
    troubles.add("readers.two", None)
    one, two = troubles.problems()
    assert (one.code, one.line, one.count, one.params) == ("readers.one", 7, 3, {"word": "x"})
    assert (two.line, two.count) == (None, 1)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_the_median_of_a_short_series_is_exact(values: list[float]) -> None:
    median = Median()
    for value in values:
        median.add(value)
    assert median.value == statistics.median(values)


def test_the_median_of_a_long_series_is_near_and_bounded() -> None:
    median = Median()
    for value in range(5 * MEDIAN_VALUES):
        median.add(float(value))
    assert len(median._values) < MEDIAN_VALUES
    assert median.value is not None
    assert abs(median.value / (2.5 * MEDIAN_VALUES) - 1) < 0.01


def test_no_values_have_no_median() -> None:
    assert Median().value is None
