"""A stacked bar of an identity: what one step, or the occupied time, is made of.

The unattributed part is always there: hatched when it has a width, and named with its figure in any case. A
part that the source does not record is named as such and gets no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from weighbridge.i18n import Language, say_quantity, speak
from weighbridge.report.charts import draw
from weighbridge.report.charts.draw import LegendEntry
from weighbridge.report.markup import Markup, join
from weighbridge.report.words import phase_word, share_words
from weighbridge.schema.diagnosis import Breakdown
from weighbridge.units import format_share

BAR_HEIGHT: Final = 38.0
# A part that took time stays visible, however short.
LEAST_WIDTH: Final = 2.0


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the bar, in pixels; width 0 when the part took no time or is unknown."""

    name: str
    x: float
    width: float
    share: float | None


def shares(breakdown: Breakdown) -> list[float | None]:
    """Each part's share of the total as the record states it, or as its seconds give it."""
    total = breakdown.total.value
    found: list[float | None] = []
    for part in breakdown.parts:
        if part.share is not None:
            found.append(part.share)
        elif part.seconds.value is not None and total:
            found.append(part.seconds.value / total)
        else:
            found.append(None)
    return found


def breakdown_geometry(breakdown: Breakdown, width: float) -> tuple[Segment, ...]:
    """Segments from left to right that fill ``width`` exactly when the parts add up to the total.

    Parts that add up to more than the total are shrunk together; short parts keep LEAST_WIDTH, taken from
    the longest one.
    """
    known = [max(share or 0.0, 0.0) for share in shares(breakdown)]
    whole = max(sum(known), 1.0)
    widths = [share / whole * width for share in known]
    for index, share in enumerate(known):
        if share > 0 and widths[index] < LEAST_WIDTH:
            longest = widths.index(max(widths))
            widths[longest] -= LEAST_WIDTH - widths[index]
            widths[index] = LEAST_WIDTH
    segments = []
    x = 0.0
    for part, share_or_none, part_width in zip(breakdown.parts, shares(breakdown), widths, strict=True):
        segments.append(Segment(part.name, x, part_width, share_or_none))
        x += part_width
    return tuple(segments)


def breakdown_svg(
    breakdown: Breakdown, *, title: str, language: Language, identity: str, width: float = 760.0
) -> Markup:
    """The bar with a row of words for each part under it, in columns where there is room."""
    segments = breakdown_geometry(breakdown, width)
    rows = _legend(breakdown, segments, width, identity, language)
    body = [draw.hatch(identity), draw.rectangle(0, 0, width, BAR_HEIGHT, "track", rx=3)]
    for segment in segments:
        body.append(_segment(segment, identity))
    body.extend(markup for markup, _ in rows)
    return draw.drawing(
        join(body),
        width=width,
        height=max(bottom for _, bottom in rows) + 6,
        title=title,
        description="; ".join(_words(breakdown, index, language) for index in range(len(segments))),
        identity=identity,
        language=language,
    )


def _segment(segment: Segment, identity: str) -> Markup:
    if segment.width <= 0:
        return Markup("")
    gap = 1.0 if segment.width > 3 else 0.0
    if segment.name in draw.HATCHED:
        return draw.hatched(segment.x + 0.5, 0.5, segment.width - 1, BAR_HEIGHT - 1, segment.name, identity)
    box = draw.rectangle(segment.x, 0, segment.width - gap, BAR_HEIGHT, segment.name)
    text = format_share(segment.share or 0.0)
    if segment.width < draw.text_width(text) + 8:
        return box
    middle = segment.x + segment.width / 2
    return join([box, draw.label_on(middle, BAR_HEIGHT / 2 + 4.5, text, segment.name)])


def _words(breakdown: Breakdown, index: int, language: Language) -> str:
    part = breakdown.parts[index]
    share = shares(breakdown)[index]
    seconds = say_quantity(part.seconds, language, interval=False)
    figures = f"{seconds} \u00b7 {share_words(share, language)}" if share is not None else seconds
    return speak("chart.part", language, name=phase_word(part.name, language), figures=figures)


def _legend(
    breakdown: Breakdown, segments: Sequence[Segment], width: float, identity: str, language: Language
) -> list[tuple[Markup, float]]:
    texts = [_words(breakdown, index, language) for index in range(len(segments))]
    widest = max(draw.text_width(text) for text in texts) + 22 + 24
    columns = max(1, min(len(texts), int((width + 24) // widest)))
    rows = []
    for index, (segment, text) in enumerate(zip(segments, texts, strict=True)):
        x = (index % columns) * (width / columns)
        y = BAR_HEIGHT + 10 + (index // columns) * 20
        swatch = draw.swatch(LegendEntry(text, segment.name), x, y + 2, identity)
        rows.append((join([swatch, draw.label(x + 20, y + 12, text)]), y + 16))
    return rows
