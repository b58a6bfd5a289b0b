"""Plain line and bar charts, for any series and any list of labelled figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weighbridge.i18n import Language
from weighbridge.report.charts import draw
from weighbridge.report.charts.draw import Frame, Point
from weighbridge.report.charts.scale import Axis
from weighbridge.report.charts.timeline import Along, axis_along, coordinate
from weighbridge.report.markup import Markup, join
from weighbridge.store.shapes import SeriesPoint


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A placed series: its range, its mean line, and a reference line where one was asked for."""

    frame: Frame
    along: Along
    upper: tuple[Point, ...]
    lower: tuple[Point, ...]
    mean: tuple[Point, ...]
    reference_y: float | None


def line_geometry(
    points: Sequence[SeriesPoint], x_axis: Axis, y_axis: Axis, frame: Frame, reference: float | None = None
) -> LinePlot:
    """Place a series on two axes."""
    along = axis_along(points)

    def place(point: SeriesPoint, value: float) -> Point:
        x = x_axis.position(coordinate(point, along), frame.left, frame.right)
        return (x, y_axis.position(value, frame.bottom, frame.top))

    return LinePlot(
        frame=frame,
        along=along,
        upper=tuple(place(point, point.high) for point in points),
        lower=tuple(place(point, point.low) for point in points),
        mean=tuple(place(point, point.mean) for point in points),
        reference_y=None if reference is None else y_axis.position(reference, frame.bottom, frame.top),
    )


def line_svg(
    points: Sequence[SeriesPoint], *, x_axis: Axis, y_axis: Axis, x_title: str, y_title: str, title: str,
    description: str, language: Language, identity: str, name: str = "compute",
    reference: float | None = None, reference_words: str = "", width: float = 760.0, height: float = 130.0,
) -> Markup:  # fmt: skip
    """A series with range and mean line; ``reference`` is drawn across, with its words above it."""
    left = 12 + max(draw.text_width(tick.label, 11) for tick in y_axis.ticks)
    frame = Frame(left, 24, width - 8, 24 + height)
    place = line_geometry(points, x_axis, y_axis, frame, reference)
    body = [draw.label(0, 11, y_title, role="quiet", size=11), draw.value_axis(y_axis, frame)]
    if len(place.mean) > 1 and place.upper != place.lower:
        body.append(draw.area_path(place.upper, place.lower, "band"))
    body.append(draw.line_path(place.mean, name, 1.8))
    if place.reference_y is not None:
        body.append(
            draw.line(frame.left, place.reference_y, frame.right, place.reference_y, "ink", width=1.5)
        )
        below = place.reference_y - frame.top < 16
        y = place.reference_y + (14 if below else -5)
        body.append(draw.label(frame.right - 4, y, reference_words, anchor="end", size=11))
    body.append(draw.bottom_axis(x_axis, frame, x_title))
    return draw.drawing(
        join(body), width=width, height=frame.bottom + 42, title=title, description=description,
        identity=identity, language=language,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """One labelled figure, with its interval where it has one; ``value`` None is drawn as unknown."""

    label: str
    value: float | None
    text: str
    low: float | None = None
    high: float | None = None
    name: str = "compute"


@dataclass(frozen=True, slots=True)
class PlacedBar:
    y: float
    end: float | None
    low: float | None
    high: float | None


def bar_geometry(bars: Sequence[Bar], axis: Axis, frame: Frame, row_height: float) -> tuple[PlacedBar, ...]:
    """Rows from the top; ends and interval in pixels."""

    def place(value: float | None) -> float | None:
        return None if value is None else axis.position(value, frame.left, frame.right)

    return tuple(
        PlacedBar(frame.top + index * row_height, place(bar.value), place(bar.low), place(bar.high))
        for index, bar in enumerate(bars)
    )


def bar_svg(
    bars: Sequence[Bar], *, axis: Axis, axis_title: str, title: str, language: Language, identity: str,
    width: float = 760.0,
) -> Markup:  # fmt: skip
    """Horizontal bars, each under its label; an interval is a thin line with ends."""
    row_height = 42.0
    frame = Frame(8, 4, width - 24, 4 + row_height * len(bars))
    body: list[Markup] = []
    for bar, place in zip(bars, bar_geometry(bars, axis, frame, row_height), strict=True):
        body.append(draw.label(frame.left, place.y + 12, f"{bar.label}  {bar.text}"))
        top = place.y + 18
        body.append(draw.rectangle(frame.left, top, frame.right - frame.left, 14, "track"))
        if place.end is not None:
            body.append(draw.rectangle(frame.left, top, place.end - frame.left, 14, bar.name))
        if place.low is not None and place.high is not None:
            middle = top + 7
            body.append(draw.line(place.low, middle, place.high, middle, "ink", width=2))
            for x in (place.low, place.high):
                body.append(draw.line(x, middle - 5, x, middle + 5, "ink", width=2))
    body.append(draw.bottom_axis(axis, frame, axis_title))
    described = "; ".join(f"{bar.label} {bar.text}" for bar in bars)
    return draw.drawing(
        join(body), width=width, height=frame.bottom + 40, title=title, description=described,
        identity=identity, language=language,
    )  # fmt: skip
