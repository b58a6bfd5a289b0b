"""Bounds worked out by hand and as properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weighbridge.weigh.bounds import more_gpus_in_another_box, more_gpus_in_this_box, without

shares = some.floats(0, 1)
numbers = some.floats(1, 64)


def test_removing_four_fifths_of_the_time_gives_at_most_five_times() -> None:
    bound = without(0.8)
    assert (bound.low, bound.high) == (1.0, pytest.approx(5.0))


def test_halving_a_tenth_gives_at_most_a_nineteenth_more() -> None:
    assert without(0.1, 0.5).high == pytest.approx(1 / 0.95)


def test_removing_everything_has_no_upper_end() -> None:
    assert math.isinf(without(1.0).high)


@pytest.mark.parametrize(("share", "part"), [(-0.1, 1.0), (1.1, 1.0), (0.5, -1.0), (0.5, 2.0)])
def test_shares_outside_the_whole_are_refused(share: float, part: float) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        without(share, part)


def test_a_loader_that_paces_the_job_makes_more_gpus_useless_in_this_box() -> None:
    bound = more_gpus_in_this_box(0.83, 2, loader_paces=True)
    assert (bound.low, bound.high) == (1.0, 1.0)


def test_the_same_loader_with_a_copy_of_the_data_in_a_second_box_may_double() -> None:
    bound = more_gpus_in_another_box(0.83, 2, loader_paces=True)
    assert (bound.low, bound.high) == (1.0, 2)


def test_an_unsteady_quarter_of_waiting_leaves_one_to_one_point_six() -> None:
    # T = 1, wait 0.25 stays, compute 0.75 halves: 1 / (0.25 + 0.375) = 1.6
    assert more_gpus_in_this_box(0.25, 2, loader_paces=False).high == pytest.approx(1.6)


def test_an_unknown_wait_leaves_everything_open() -> None:
    bound = more_gpus_in_this_box(None, 4, loader_paces=False)
    assert (bound.low, bound.high) == (1.0, 4)


@given(shares, numbers)
def test_more_gpus_never_promise_more_than_their_number(share: float, times: float) -> None:
    here = more_gpus_in_this_box(share, times, loader_paces=False)
    there = more_gpus_in_another_box(share, times, loader_paces=False)
    assert 1.0 <= here.high <= times * (1 + 1e-12)
    assert here.high <= there.high * (1 + 1e-12)


@given(shares, shares, numbers)
def test_a_longer_wait_never_raises_what_more_gpus_give(one: float, other: float, times: float) -> None:
    low, high = sorted((one, other))
    assert (
        more_gpus_in_this_box(high, times, loader_paces=False).high
        <= more_gpus_in_this_box(low, times, loader_paces=False).high + 1e-9
    )
