"""The step timeline by hand-worked positions."""

from __future__ import annotations

import pytest
from samples import point

from weighbridge.report.charts.timeline import (
    axis_along,
    event_coordinate,
    timeline_geometry,
    timeline_svg,
    visible_top,
)
from weighbridge.schema.event import Event


def test_a_point_stands_at_its_step_and_at_its_seconds() -> None:
    step = [point(0, 1.0, 0.8, 1.2, step=0), point(1, 1.5, 1.0, 2.0, step=100)]

    place = timeline_geometry(step, [], width=400, height=100)

    # The highest value, 2.0 s, is the last tick, so a second is 50 pixels high.
    bottom = place.frame.bottom
    assert (place.y_axis.high, bottom - place.frame.top) == (2.0, 100)
    assert place.mean == ((place.frame.left, bottom - 50), (place.frame.right, bottom - 75))
    assert place.upper[1] == (place.frame.right, bottom - 100)
    assert place.lower[0] == (place.frame.left, bottom - 40)


def test_the_wait_lies_in_the_same_coordinates() -> None:
    step = [point(0, 2.0, step=0), point(1, 2.0, step=10), point(2, 2.0, step=20)]
    wait = [point(0, 1.0, step=0), point(2, 1.5, step=20)]

    place = timeline_geometry(step, wait, width=400, height=100)

    assert place.wait == (
        (place.frame.left, place.frame.bottom - 50),
        (place.frame.right, place.frame.bottom - 75),
    )


def test_steps_that_go_back_are_drawn_along_the_records() -> None:
    step = [point(0, 1.0, step=10), point(1, 1.0, step=20), point(2, 1.0, step=15)]

    assert axis_along(step) == "row"
    assert axis_along(step[:2]) == "step"


def test_a_point_without_a_step_is_drawn_along_the_records() -> None:
    assert axis_along([point(0, 1.0, step=1), point(1, 1.0)]) == "row"


def test_a_point_of_many_rows_stands_in_their_middle() -> None:
    step = [point(0, 1.0, rows=10), point(1, 1.0, rows=10)]

    place = timeline_geometry(step, [], width=400, height=100)

    assert (place.x_axis.low, place.x_axis.high) == (4.5, 14.5)


def test_one_cold_step_does_not_flatten_the_rest() -> None:
    step = [point(0, 60.0, step=1), *(point(index, 1.0, step=index + 1) for index in range(1, 50))]

    place = timeline_geometry(step, [], width=400, height=100)

    # The usual highest is 1 s; 1.15 s in at most five pieces is three of half a second.
    assert place.y_axis.high == 1.5
    assert place.cut == (place.frame.left,)
    assert place.highest_seconds == 60.0


def test_many_slow_steps_are_the_run_and_are_not_cut() -> None:
    step = [point(index, 5.0 if index % 4 == 0 else 1.0, step=index) for index in range(40)]

    assert visible_top(step) == 5.0


def test_mean_of_the_run_is_weighted_by_rows() -> None:
    step = [point(0, 1.0, rows=3, step=3), point(1, 2.0, rows=1, step=4)]

    assert timeline_geometry(step, []).mean_seconds == pytest.approx(1.25)


def test_an_event_stands_at_its_step() -> None:
    step = [point(0, 1.0, step=0), point(1, 1.0, step=100)]
    events = [
        Event(kind="evaluation", step=50),
        Event(kind="checkpoint", step=50),
        Event(kind="epoch", step=50),
    ]

    place = timeline_geometry(step, [], events, width=400)

    middle = round((place.frame.left + place.frame.right) / 2)
    assert place.markers == {"evaluation": (middle,), "checkpoint": (middle,)}


def test_a_restart_is_found_by_clock_or_by_line() -> None:
    step = [
        point(index, 1.0, step=step, at=100.0 + index, line=10 * index)
        for index, step in enumerate([1, 2, 1, 2])
    ]

    assert event_coordinate(Event(kind="restart", at_seconds=101.5), step, "row") == 2
    assert event_coordinate(Event(kind="restart", line=15), step, "row") == 2
    assert event_coordinate(Event(kind="restart", line=999), step, "row") == 3
    assert event_coordinate(Event(kind="restart"), step, "row") is None


def test_an_event_outside_the_series_is_not_drawn() -> None:
    step = [point(0, 1.0, step=100), point(1, 1.0, step=200)]

    assert timeline_geometry(step, [], [Event(kind="evaluation", step=5)]).markers == {}


def test_many_events_on_one_pixel_are_one_mark() -> None:
    step = [point(0, 1.0, step=0), point(1, 1.0, step=1_000_000)]
    events = [Event(kind="evaluation", step=500_000 + index) for index in range(50)]

    assert len(timeline_geometry(step, [], events, width=400).markers["evaluation"]) == 1


def test_nothing_is_drawn_from_nothing() -> None:
    with pytest.raises(ValueError, match="at least one point"):
        timeline_geometry([], [])


def test_the_legend_names_only_what_is_drawn() -> None:
    step = [point(0, 1.0, step=0), point(1, 1.0, step=1)]

    drawn = timeline_svg(step, [], language="en", identity="t")

    assert "mean" in drawn
    assert "waiting for data</text>" not in drawn
    assert "lowest to highest" not in drawn
