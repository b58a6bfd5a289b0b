"""Memory, busy strips, lines and bars by hand-worked positions."""

from __future__ import annotations

import pytest
from samples import imported, point

from weighbridge.report.charts.busy import STRIP_HEIGHT, Strip, busy_svg, strip_geometry, strips_axis
from weighbridge.report.charts.draw import Frame, LegendEntry, legend_rows, text_width
from weighbridge.report.charts.lines import Bar, bar_geometry, bar_svg, line_geometry
from weighbridge.report.charts.memory import memory_geometry, memory_svg
from weighbridge.report.charts.scale import bytes_axis, count_axis, duration_axis
from weighbridge.schema.diagnosis import MemoryUse
from weighbridge.units import GIB


def use(peak: float | None, card: float | None, share: float | None = None) -> MemoryUse:
    return MemoryUse(
        counter="device", peak=imported(peak, "bytes"), card=imported(card, "bytes"), share=share
    )


def test_a_peak_ends_where_the_axis_says() -> None:
    place = memory_geometry([use(20 * GIB, 80 * GIB)], 400)

    inner = place.frame.right - place.frame.left
    assert place.axis.high == 80 * GIB
    assert place.card_x == place.frame.right
    assert place.peaks == (place.frame.left + inner / 4,)


def test_without_a_card_the_axis_reaches_to_the_largest_peak() -> None:
    place = memory_geometry([use(7 * GIB, None), use(None, None)], 400)

    assert (place.axis.high, place.card_x, place.peaks[1]) == (8 * GIB, None, None)


def test_a_full_card_is_drawn_in_the_colour_of_alarm() -> None:
    assert "wb-f-alarm" in memory_svg([use(79 * GIB, 80 * GIB, 0.99)], language="en", identity="m")
    assert "wb-f-alarm" not in memory_svg([use(20 * GIB, 80 * GIB, 0.25)], language="en", identity="m")


def test_a_strip_is_full_height_when_the_gpu_is_busy_all_the_time() -> None:
    strips = [Strip("a", 1.0, [point(0, 1.0, at=1000.0), point(1, 0.25, at=1060.0)])]
    axis = strips_axis(strips, 800)
    place = strip_geometry(strips, axis, 800)[0]

    assert (axis.low, axis.high, axis.unit) == (0, 60, "s")
    assert place.mean == (
        (place.frame.left, place.frame.bottom - STRIP_HEIGHT),
        (place.frame.right, place.frame.bottom - STRIP_HEIGHT / 4),
    )


def test_strips_share_one_time_axis() -> None:
    early = Strip("a", None, [point(0, 0.5, at=0.0), point(1, 0.5, at=100.0)])
    late = Strip("b", None, [point(0, 0.5, at=50.0), point(1, 0.5, at=100.0)])

    placed = strip_geometry([early, late], strips_axis([early, late], 800), 800)

    frame = placed[1].frame
    assert placed[1].mean[0][0] == (frame.left + frame.right) / 2


def test_samples_without_a_clock_are_counted() -> None:
    strips = [Strip("a", None, [point(index, 0.5) for index in range(3)])]

    assert strips_axis(strips, 800).unit == ""
    assert [x for x, _ in strip_geometry(strips, strips_axis(strips, 800), 800)[0].mean] == [8, 400, 792]


def test_a_busy_chart_needs_a_device() -> None:
    with pytest.raises(ValueError, match="at least one device"):
        busy_svg([], language="en", identity="b")


def test_a_line_and_its_reference_stand_on_the_axes() -> None:
    frame = Frame(0, 0, 100, 100)
    points = [point(0, 10.0 * GIB, step=0), point(1, 40.0 * GIB, step=10)]

    place = line_geometry(points, count_axis(0, 10), bytes_axis(50 * GIB, 5), frame, reference=25 * GIB)

    assert list(place.mean) == [(0, 80), (100, 20)]
    assert place.reference_y == 50


def test_a_bar_ends_at_its_value_and_carries_its_interval() -> None:
    bars = [Bar("a", 5.0, "5 s", low=2.0, high=8.0), Bar("b", None, "?")]

    placed = bar_geometry(bars, duration_axis(10.0), Frame(0, 10, 100, 90), 40)

    assert (placed[0].y, placed[0].end, placed[0].low, placed[0].high) == (10, 50, 20, 80)
    assert (placed[1].y, placed[1].end) == (50, None)


def test_bars_are_described_in_words() -> None:
    drawn = bar_svg(
        [Bar("a", 5.0, "5 s")],
        axis=duration_axis(10.0),
        axis_title="s",
        title="t",
        language="en",
        identity="x",
    )

    assert '<desc id="x-desc">a 5 s</desc>' in drawn


def test_a_chinese_character_is_taken_as_wide_as_high() -> None:
    assert text_width("\u663e\u5b58", 10) == 20
    assert text_width("ab", 10) == pytest.approx(11.6)


def test_a_legend_breaks_where_the_next_entry_does_not_fit() -> None:
    entries = [LegendEntry("\u4e2d" * 10, "step"), LegendEntry("\u4e2d" * 10, "band")]

    assert legend_rows(entries, 400)[0] == ((0, 0), (156, 0))
    assert legend_rows(entries, 200) == (((0, 0), (0, 18)), 36)
