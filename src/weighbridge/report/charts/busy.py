"""A strip for each GPU: how busy it was over the run, as the driver sampled it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from weighbridge.i18n import Language, speak
from weighbridge.report.charts import draw
from weighbridge.report.charts.draw import Frame, Point
from weighbridge.report.charts.scale import Axis, count_axis, elapsed_axis
from weighbridge.report.markup import Markup, join
from weighbridge.report.words import share_words
from weighbridge.store.shapes import SeriesPoint

STRIP_HEIGHT: Final = 30.0
ROW_HEIGHT: Final = 54.0


@dataclass(frozen=True, slots=True)
class Strip:
    """One device: its name, its mean busy share, and the series."""

    name: str
    busy_share: float | None
    points: Sequence[SeriesPoint]


@dataclass(frozen=True, slots=True)
class PlacedStrip:
    """The strip of one device in pixels: 100 % at ``frame.top``, 0 at ``frame.bottom``."""

    frame: Frame
    mean: tuple[Point, ...]


def strips_axis(strips: Sequence[Strip], width: float) -> Axis:
    """Time since the first sample where the samples have a clock, else their number."""
    points = [point for strip in strips for point in strip.points]
    count = 4 if width < 500 else 8
    clocks = [point.at_last_seconds for point in points if point.at_last_seconds is not None]
    if points and len(clocks) == len(points) and max(clocks) > min(clocks):
        return elapsed_axis(0.0, max(clocks) - min(clocks), count)
    longest = max((len(strip.points) for strip in strips), default=1)
    return count_axis(0, max(longest - 1, 1), count)


def strip_geometry(strips: Sequence[Strip], axis: Axis, width: float) -> tuple[PlacedStrip, ...]:
    """Place the strips one under another on a common time axis."""
    clocks = [point.at_last_seconds for strip in strips for point in strip.points]
    start = min((clock for clock in clocks if clock is not None), default=0.0)
    placed = []
    for row, strip in enumerate(strips):
        top = 4 + row * ROW_HEIGHT + 18
        frame = Frame(8, top, width - 8, top + STRIP_HEIGHT)

        mean = []
        for index, point in enumerate(strip.points):
            clocked = axis.unit != "" and point.at_last_seconds is not None
            along = point.at_last_seconds - start if clocked else float(index)  # type: ignore[operator]
            busy = min(max(point.mean, 0.0), 1.0)
            mean.append((axis.position(along, frame.left, frame.right), frame.bottom - STRIP_HEIGHT * busy))
        placed.append(PlacedStrip(frame, tuple(mean)))
    return tuple(placed)


def busy_svg(strips: Sequence[Strip], *, language: Language, identity: str, width: float = 760.0) -> Markup:
    """The strips over one time axis. Raises ValueError without a strip."""
    if not strips:
        raise ValueError("a busy strip needs at least one device")
    axis = strips_axis(strips, width)
    placed = strip_geometry(strips, axis, width)
    body: list[Markup] = []
    texts = []
    for strip, place in zip(strips, placed, strict=True):
        share = share_words(strip.busy_share, language)
        text = speak("chart.busy_row", language, name=strip.name, share=share)
        texts.append(text)
        frame = place.frame
        body.append(draw.label(frame.left, frame.top - 5, text))
        body.append(draw.rectangle(frame.left, frame.top, frame.right - frame.left, STRIP_HEIGHT, "track"))
        if len(place.mean) > 1:
            floor = ((place.mean[0][0], frame.bottom), (place.mean[-1][0], frame.bottom))
            body.append(draw.area_path(place.mean, floor, "compute"))
    last = placed[-1].frame
    along = speak("chart.along_clock" if axis.unit else "chart.along_sample", language, unit=axis.unit)
    body.append(draw.bottom_axis(axis, last, along))
    return draw.drawing(
        join(body),
        width=width,
        height=last.bottom + 40,
        title=speak("chart.busy_title", language),
        description="; ".join(texts),
        identity=identity,
        language=language,
    )
