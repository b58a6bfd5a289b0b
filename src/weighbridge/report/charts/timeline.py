"""Step time over the run: range per pixel, mean line, data wait under it, and what happened when.

``timeline_geometry`` places the numbers, ``timeline_svg`` draws them. A series is never drawn whole: it comes
with lowest, mean and highest value per pixel. A rare very slow step does not flatten the rest: it is cut at
the top, marked, and named with its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from weighbridge.i18n import Language, speak
from weighbridge.report.charts import draw
from weighbridge.report.charts.draw import Frame, LegendEntry, Point
from weighbridge.report.charts.scale import Axis, count_axis, duration_axis
from weighbridge.report.markup import Markup, join
from weighbridge.schema.event import Event
from weighbridge.store.shapes import SeriesPoint
from weighbridge.units import format_seconds

Along = Literal["step", "row"]

# A highest value this many times the 98th percentile is cut, to this many times the percentile.
CUT_FROM: Final = 3.0
CUT_AT: Final = 1.15
LANE_KINDS: Final = ("evaluation", "checkpoint")
RULE_KINDS: Final = ("restart", "out_of_memory")
LANE_HEIGHT: Final = 11.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where everything of a step timeline lies, in pixels."""

    width: float
    height: float
    frame: Frame
    along: Along
    x_axis: Axis
    y_axis: Axis
    upper: tuple[Point, ...]
    lower: tuple[Point, ...]
    mean: tuple[Point, ...]
    wait: tuple[Point, ...]
    cut: tuple[float, ...]
    markers: Mapping[str, tuple[float, ...]]
    lowest_seconds: float
    mean_seconds: float
    highest_seconds: float
    legend_top: float


def axis_along(points: Sequence[SeriesPoint]) -> Along:
    """Steps where every point has one and they never go back (a restart does); else the log's own rows."""
    steps = [point.step_last for point in points]
    known = [step for step in steps if step is not None]
    forward = all(early <= late for early, late in pairwise(known))
    return "step" if len(known) == len(steps) and forward and len(set(known)) > 1 else "row"


def coordinate(point: SeriesPoint, along: Along) -> float:
    """Where a point stands on the axis: the last step, or the middle of its rows."""
    if along == "step" and point.step_last is not None:
        return float(point.step_last)
    return point.first_row + (point.rows - 1) / 2


def visible_top(points: Sequence[SeriesPoint]) -> float:
    """The value up to which the plot reaches: the highest, unless a few values dwarf the rest."""
    highs = sorted(point.high for point in points)
    usual = highs[int(0.98 * (len(highs) - 1))]
    return usual * CUT_AT if usual > 0 and highs[-1] > CUT_FROM * usual else highs[-1]


def event_coordinate(event: Event, points: Sequence[SeriesPoint], along: Along) -> float | None:
    """Where an event stands on the axis; by step, else by clock, else by line; None when nothing tells."""
    if along == "step" and event.step is not None:
        return float(event.step)
    for point in points:
        by_clock = event.at_seconds is not None and point.at_last_seconds is not None
        if by_clock and point.at_last_seconds >= event.at_seconds:  # type: ignore[operator]
            return coordinate(point, along)
        if not by_clock and event.line is not None and (point.line_last or 0) >= event.line:
            return coordinate(point, along)
    return coordinate(points[-1], along) if event.at_seconds is not None or event.line is not None else None


def series_axis(points: Sequence[SeriesPoint], width: float) -> Axis:
    """The horizontal axis of a series, from its first point to its last."""
    along = axis_along(points)
    places = [coordinate(point, along) for point in points]
    ticks = 4 if width < 500 else 8
    return count_axis(min(places), max(places), ticks)


def place_markers(
    events: Sequence[Event], points: Sequence[SeriesPoint], along: Along, axis: Axis, frame: Frame
) -> dict[str, tuple[float, ...]]:
    """Pixels of each kind of event, one for each pixel however many events fall on it."""
    found: dict[str, set[float]] = {}
    for event in events:
        if event.kind not in LANE_KINDS and event.kind not in RULE_KINDS:
            continue
        at = event_coordinate(event, points, along)
        if at is not None and axis.low <= at <= axis.high:
            found.setdefault(event.kind, set()).add(round(axis.position(at, frame.left, frame.right)))
    return {kind: tuple(sorted(found[kind])) for kind in (*LANE_KINDS, *RULE_KINDS) if kind in found}


def timeline_geometry(
    step: Sequence[SeriesPoint],
    wait: Sequence[SeriesPoint],
    events: Sequence[Event] = (),
    *,
    width: float = 760.0,
    height: float = 250.0,
    legend_lines: int = 1,
) -> Timeline:
    """Place the series. ``height`` is that of the plot alone; axes, lanes and legend come on top.

    Raises ValueError without a single point: then there is nothing to draw and the page says so.
    """
    if not step:
        raise ValueError("a timeline needs at least one point")
    along = axis_along(step)
    y_axis = duration_axis(visible_top(step), 5)
    x_axis = series_axis(step, width)
    left = 12 + max(draw.text_width(tick.label, 11) for tick in y_axis.ticks)
    lanes = sum(any(event.kind == kind for event in events) for kind in LANE_KINDS)
    legend_top = 18.0
    top = legend_top + legend_lines * draw.LINE_HEIGHT + 8 + lanes * LANE_HEIGHT
    frame = Frame(left, top, width - 8, top + height)

    def place(point: SeriesPoint, value: float) -> Point:
        x = x_axis.position(coordinate(point, along), frame.left, frame.right)
        return (x, y_axis.position(value, frame.bottom, frame.top))

    rows = sum(point.rows for point in step)
    return Timeline(
        width=width,
        height=frame.bottom + 42,
        frame=frame,
        along=along,
        x_axis=x_axis,
        y_axis=y_axis,
        upper=tuple(place(point, point.high) for point in step),
        lower=tuple(place(point, point.low) for point in step),
        mean=tuple(place(point, point.mean) for point in step),
        wait=tuple(place(point, point.mean) for point in wait),
        cut=tuple(place(point, point.high)[0] for point in step if point.high > y_axis.high),
        markers=place_markers(events, step, along, x_axis, frame),
        lowest_seconds=min(point.low for point in step),
        mean_seconds=sum(point.mean * point.rows for point in step) / rows,
        highest_seconds=max(point.high for point in step),
        legend_top=legend_top,
    )


def legend_entries(
    band: bool, wait: bool, kinds: Sequence[str], cut: str | None, language: Language
) -> list[LegendEntry]:
    """The words of what is drawn, and nothing that is not."""
    entries = [LegendEntry(speak("chart.step_mean", language), "step", "line")]
    if band:
        entries.append(LegendEntry(speak("chart.range", language), "band"))
    if wait:
        entries.append(LegendEntry(speak("phase.data_wait", language), "data_wait"))
    for kind in kinds:
        shape: Literal["mark", "dash"] = "mark" if kind in LANE_KINDS else "dash"
        entries.append(LegendEntry(speak(f"event.{kind}", language), kind, shape))
    if cut:
        entries.append(LegendEntry(speak("chart.cut", language, highest=cut), "alarm", "cut"))
    return entries


def timeline_svg(
    step: Sequence[SeriesPoint],
    wait: Sequence[SeriesPoint],
    events: Sequence[Event] = (),
    *,
    language: Language,
    identity: str,
    width: float = 760.0,
    height: float = 250.0,
) -> Markup:
    """The timeline as SVG. Raises ValueError without a point."""
    place = timeline_geometry(step, wait, events, width=width, height=height)
    cut = format_seconds(place.highest_seconds) if place.cut else None
    entries = legend_entries(place.upper != place.lower, len(wait) > 1, list(place.markers), cut, language)
    _, legend_height = draw.legend_rows(entries, width - 8)
    lines = round(legend_height / draw.LINE_HEIGHT)
    if lines > 1:
        place = timeline_geometry(step, wait, events, width=width, height=height, legend_lines=lines)
    axis_words = speak(f"chart.along_{place.along}", language, unit=place.x_axis.unit)
    body = [
        draw.label(0, 11, speak("chart.step_axis", language, unit=place.y_axis.unit), role="quiet", size=11),
        draw.legend(entries, 0, place.legend_top, width - 8, identity),
        draw.value_axis(place.y_axis, place.frame),
        _curves(place),
        _marks(place),
        draw.bottom_axis(place.x_axis, place.frame, axis_words),
    ]
    return draw.drawing(
        join(body),
        width=width,
        height=place.height,
        title=speak("chart.timeline_title", language),
        description=speak(
            "chart.timeline_description",
            language,
            lowest=place.lowest_seconds,
            mean=place.mean_seconds,
            highest=place.highest_seconds,
        ),
        identity=identity,
        language=language,
    )


def _curves(place: Timeline) -> Markup:
    parts = []
    if len(place.mean) > 1 and place.upper != place.lower:
        parts.append(draw.area_path(place.upper, place.lower, "band"))
    if len(place.wait) > 1:
        bottom = place.frame.bottom
        floor = ((place.wait[0][0], bottom), (place.wait[-1][0], bottom))
        parts.append(draw.area_path(place.wait, floor, "data_wait", 0.6))
    parts.append(draw.line_path(place.mean, "step", 1.5))
    return join(parts)


def _marks(place: Timeline) -> Markup:
    parts = []
    lane = place.frame.top - 4
    for kind in reversed(LANE_KINDS):
        if kind in place.markers:
            for x in place.markers[kind]:
                parts.append(draw.rectangle(x - 1, lane - LANE_HEIGHT + 3, 2, LANE_HEIGHT - 3, kind))
            lane -= LANE_HEIGHT
    for kind in RULE_KINDS:
        for x in place.markers.get(kind, ()):
            parts.append(
                draw.line(x, place.frame.top - 4, x, place.frame.bottom, kind, width=1.5, dashes="4 3")
            )
    top = place.frame.top
    for x in place.cut:
        parts.append(draw.triangle(x, top, "alarm"))
    return join(parts)
