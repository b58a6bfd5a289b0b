"""Cold windows and data wait: by hand, and as properties that must hold for every log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weighbridge.weigh.loader import loader_wait
from weighbridge.weigh.windows import Window, cold_windows

windows_of_any_log = some.lists(
    some.builds(
        Window,
        step_seconds=some.floats(1e-4, 1e4),
        steps=some.integers(1, 500),
        wait_seconds=some.one_of(some.none(), some.floats(0, 2e4)),
        rank=some.one_of(some.none(), some.integers(0, 3)),
        segment=some.integers(0, 2),
    ),
    max_size=60,
)


def steady(count: int, step: float = 1.0, wait: float | None = 0.1) -> list[Window]:
    return [Window(step_seconds=step, steps=10, wait_seconds=wait) for _ in range(count)]


def test_a_first_window_far_slower_than_the_rest_is_cold() -> None:
    assert cold_windows([Window(step_seconds=6.4), *steady(6, 0.17)]) == [True] + [False] * 6


def test_a_first_window_a_tenth_slower_is_part_of_the_run() -> None:
    assert cold_windows([Window(step_seconds=1.1), *steady(9)]) == [False] * 10


def test_a_slow_window_in_the_middle_is_not_start_up() -> None:
    rows = [*steady(4), Window(step_seconds=9.0), *steady(4)]
    assert not any(cold_windows(rows))


def test_every_restart_has_its_own_cold_window() -> None:
    first = [Window(step_seconds=5.0, segment=0), *steady(5)]
    second = [Window(step_seconds=5.0, segment=1)]
    second += [Window(step_seconds=1.0, segment=1) for _ in range(5)]
    assert cold_windows(first + second) == [True, *[False] * 5, True, *[False] * 5]


def test_two_windows_cannot_show_what_is_normal() -> None:
    assert cold_windows([Window(step_seconds=9.0), Window(step_seconds=1.0)]) == [False, False]


def test_the_cold_window_is_left_out_of_the_share_and_told_beside_it() -> None:
    # Cold: 100 s with 90 s of waiting. Warm: nine windows of 10 s with 0.5 s of waiting each.
    rows = [Window(step_seconds=10.0, steps=10, wait_seconds=9.0)]
    rows += [Window(step_seconds=1.0, steps=10, wait_seconds=0.05) for _ in range(9)]
    wait = loader_wait(rows)
    assert wait is not None
    assert wait.share == pytest.approx(0.05)
    assert wait.share_with_cold == pytest.approx((90 + 4.5) / (100 + 90))
    assert (wait.cold, wait.windows) == (1, 9)


def test_the_rank_that_waits_longest_speaks_for_all() -> None:
    rows = [Window(step_seconds=1.0, wait_seconds=wait, rank=rank) for rank, wait in ((0, 0.1), (1, 0.4)) * 5]
    wait = loader_wait(rows)
    assert wait is not None
    assert (wait.rank, wait.share) == (1, pytest.approx(0.4))


def test_waiting_in_nine_windows_of_ten_is_steady_and_in_half_of_them_bimodal() -> None:
    waits, idles = steady(9, wait=0.5), steady(1, wait=0.0)
    mostly, half = loader_wait(waits + idles), loader_wait(steady(5, wait=0.5) + steady(5, wait=0.0))
    assert mostly is not None
    assert half is not None
    assert (mostly.steady, mostly.bimodal) == (True, False)
    assert (half.steady, half.bimodal) == (False, True)


def test_a_log_without_waits_has_no_wait_instead_of_a_zero() -> None:
    assert loader_wait(steady(5, wait=None)) is None


@given(windows_of_any_log)
def test_a_share_is_a_share(rows: list[Window]) -> None:
    wait = loader_wait(rows)
    assert wait is None or (0 <= wait.share <= 1 + 1e-9 and 0 <= wait.share_with_cold <= 1 + 1e-9)


@given(windows_of_any_log, some.floats(1e-3, 1e3))
def test_scaling_all_times_changes_no_share(rows: list[Window], factor: float) -> None:
    scaled = [
        Window(
            step_seconds=row.step_seconds * factor,
            steps=row.steps,
            wait_seconds=None if row.wait_seconds is None else row.wait_seconds * factor,
            rank=row.rank,
            segment=row.segment,
        )
        for row in rows
    ]
    before, after = loader_wait(rows), loader_wait(scaled)
    assert (before is None) == (after is None)
    if before is not None and after is not None and cold_windows(rows) == cold_windows(scaled):
        assert after.share == pytest.approx(before.share, rel=1e-6, abs=1e-9)
