"""Running means are undone to within what their printed digits allow, or not at all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.readers.running_mean import RunningMean, half_unit

SECONDS = st.floats(min_value=0.001, max_value=100.0)
SHARES = st.floats(min_value=0.0, max_value=1.0)


@pytest.mark.parametrize(
    ("printed", "expected"), [(b"0.344", 0.0005), (b"23.1", 0.05), (b"7", 0.5), (b"0.0001", 0.00005)]
)
def test_half_a_unit_is_of_the_last_printed_digit(printed: bytes, expected: float) -> None:
    assert half_unit(printed) == pytest.approx(expected)


def test_a_cold_first_step_does_not_haunt_the_later_ones() -> None:
    means = RunningMean()
    means.add(1, 10.0, 8.0, 0.0005, 0.02)
    stretch = means.add(11, (10.0 + 10 * 0.5) / 11, (8.0 + 10 * 0.1) / 11, 0.0, 0.02)
    assert stretch is not None
    assert stretch.steps == 10
    assert stretch.step_seconds == pytest.approx(0.5)
    assert stretch.data_wait_seconds == pytest.approx(0.1)


def test_a_longer_stretch_is_taken_where_the_digits_are_too_few() -> None:
    # 1000 steps of 0.3 s, printed every 50 with three digits: one window is only sure to 0.02 s.
    means = RunningMean()
    stretches = [means.add(count, 0.3, 0.0, 0.0005, 0.006) for count in range(50, 1001, 50)]
    assert stretches[0] is not None
    assert stretches[0].steps == 50
    assert stretches[-1] is not None
    assert stretches[-1].steps > 100
    assert stretches[-1].step_seconds == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("step", "data"),
    [(0.1, 0.05), (0.9, 0.1), (0.6, 0.6)],
    ids=["negative step", "negative data wait", "more data wait than step"],
)
def test_figures_that_contradict_a_running_mean_are_not_undone(step: float, data: float) -> None:
    means = RunningMean()
    means.add(10, 0.8, 0.3, 0.0, 0.1)
    assert means.add(20, step, data, 0.0, 0.1) is None


def test_a_count_that_does_not_go_on_gives_nothing() -> None:
    means = RunningMean()
    means.add(5, 1.0, None, 0.0, 0.1)
    assert means.add(5, 1.0, None, 0.0, 0.1) is None


@settings(deadline=None)
@given(st.lists(st.tuples(SECONDS, SHARES), min_size=1, max_size=60), st.integers(1, 7), st.integers(2, 5))
def test_every_stretch_is_the_true_mean_of_its_steps_within_rounding(
    steps: list[tuple[float, float]], every: int, digits: int
) -> None:
    times = [time for time, _ in steps]
    waits = [time * share for time, share in steps]
    half = 0.5 * 10.0**-digits
    means = RunningMean()
    for count in range(every, len(steps) + 1, every):
        mean, wait = sum(times[:count]) / count, sum(waits[:count]) / count
        tolerance = 0.05 * mean
        stretch = means.add(count, round(mean, digits), round(wait, digits), half, tolerance)
        if stretch is None:
            # Only where the digits are too few even for the mean over everything.
            assert half > tolerance * 0.999
            continue
        part = slice(count - stretch.steps, count)
        true_step, true_wait = sum(times[part]) / stretch.steps, sum(waits[part]) / stretch.steps
        assert abs(stretch.step_seconds - true_step) <= tolerance * 1.001 + 1e-9
        assert stretch.data_wait_seconds is not None
        assert abs(stretch.data_wait_seconds - true_wait) <= 2 * tolerance + 1e-9
        assert 0 <= stretch.data_wait_seconds <= stretch.step_seconds


def test_memory_stays_bounded_and_the_means_right_over_a_long_epoch() -> None:
    means = RunningMean()
    last = None
    for count in itertools.islice(itertools.count(1), 20_000):
        last = means.add(count, 0.5, 0.1, 0.00005, 0.01)
    assert len(means.anchors) <= 600
    assert last is not None
    assert last.step_seconds == pytest.approx(0.5)
