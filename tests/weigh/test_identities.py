"""The identities: parts against their total."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weighbridge.weigh.identities import identity

seconds = some.floats(0, 1e7)


def test_what_is_left_over_is_stated() -> None:
    found = identity(3.4, {"compute": 2.0, "communication": 1.1, "data_wait": None})
    assert found.rest == pytest.approx(0.3)
    assert found.overlap_seconds == 0
    assert found.share("communication") == pytest.approx(1.1 / 3.4)


def test_a_part_that_was_not_recorded_has_no_share() -> None:
    assert identity(1.0, {"data_wait": None}).share("data_wait") is None


def test_parts_that_exceed_the_total_say_by_how_much() -> None:
    found = identity(1.0, {"compute": 1.2})
    assert (found.rest, found.overlap_seconds) == (0.0, pytest.approx(0.2))


def test_negative_times_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        identity(1.0, {"compute": -0.1})


@given(seconds, some.lists(some.one_of(some.none(), seconds), max_size=6))
def test_parts_and_rest_add_up_to_the_total(total: float, values: list[float | None]) -> None:
    found = identity(total, {str(place): value for place, value in enumerate(values)})
    known = sum(value for value in values if value is not None)
    assert known + found.rest - found.overlap_seconds == pytest.approx(total, rel=2e-6, abs=1e-6)
