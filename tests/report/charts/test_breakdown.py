"""The stacked bar by hand-worked widths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import imported

from weighbridge.report.charts.breakdown import LEAST_WIDTH, breakdown_geometry, breakdown_svg
from weighbridge.schema.diagnosis import Breakdown, Part


def breakdown(total: float, **parts: float | None) -> Breakdown:
    return Breakdown(
        total=imported(total),
        parts=tuple(Part(name=name, seconds=imported(value)) for name, value in parts.items()),
    )


def test_parts_fill_the_bar_from_left_to_right() -> None:
    segments = breakdown_geometry(breakdown(2.0, data_wait=1.0, compute=0.8, unattributed=0.2), 100)

    assert [segment.x for segment in segments] == pytest.approx([0, 50, 90])
    assert [segment.width for segment in segments] == pytest.approx([50, 40, 10])


def test_a_stated_share_is_used_as_it_stands() -> None:
    record = Breakdown(
        total=imported(None), parts=(Part(name="data_wait", seconds=imported(None), share=0.25),)
    )

    assert breakdown_geometry(record, 200)[0].width == pytest.approx(50)


def test_an_unknown_part_has_no_width_and_no_share() -> None:
    segment = breakdown_geometry(breakdown(1.0, host_to_device=None, compute=1.0), 100)[0]

    assert (segment.width, segment.share) == (0, None)


def test_parts_that_exceed_the_total_are_shrunk_together() -> None:
    segments = breakdown_geometry(breakdown(1.0, data_wait=1.0, compute=1.0), 100)

    assert [segment.width for segment in segments] == pytest.approx([50, 50])


def test_a_short_part_stays_visible() -> None:
    segments = breakdown_geometry(breakdown(1000.0, data_wait=999.9, unattributed=0.1), 100)

    assert [segment.width for segment in segments] == pytest.approx([100 - LEAST_WIDTH, LEAST_WIDTH])


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.floats(50, 2000))
def test_segments_touch_and_never_leave_the_bar(values: list[float], width: float) -> None:
    record = Breakdown(
        total=imported(sum(values)),
        parts=tuple(Part(name=str(index), seconds=imported(value)) for index, value in enumerate(values)),
    )
    segments = breakdown_geometry(record, width)

    ends = [segment.x + segment.width for segment in segments]
    assert [segment.x for segment in segments[1:]] == pytest.approx(ends[:-1])
    assert ends[-1] <= width * 1.000001


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3])
def test_the_unattributed_part_is_always_named(share: float) -> None:
    record = breakdown(1.0, compute=1.0 - share, unattributed=share)

    drawn = breakdown_svg(record, title="x", language="en", identity="b")

    assert "unattributed" in drawn
    assert "url(#b-hatch)" in drawn


def test_compute_that_the_log_does_not_divide_is_striped() -> None:
    record = breakdown(1.0, data_wait=0.5, compute_undivided=0.5)

    assert "url(#b-mixed)" in breakdown_svg(record, title="x", language="zh", identity="b")
