"""Memory of one card: the peak of each counter against what the card has, and its course over the run.

The counters are never mixed: *allocated* and *reserved* are the framework's, *device* is the driver's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from weighbridge.i18n import Language, say_quantity, speak
from weighbridge.report.charts import draw
from weighbridge.report.charts.draw import Frame
from weighbridge.report.charts.scale import Axis, bytes_axis
from weighbridge.report.markup import Markup, join
from weighbridge.schema.diagnosis import MemoryUse
from weighbridge.units import format_bytes, format_share

ROW_HEIGHT: Final = 44.0
BAR_HEIGHT: Final = 16.0
# Above this share of the card there is no room for a larger batch or for fragmentation.
TIGHT_SHARE: Final = 0.92


@dataclass(frozen=True, slots=True)
class MemoryBars:
    """Bars from the left edge to each peak, and where the card ends (None when it is unknown)."""

    axis: Axis
    frame: Frame
    peaks: tuple[float | None, ...]
    card_x: float | None


def memory_geometry(uses: Sequence[MemoryUse], width: float) -> MemoryBars:
    """Place the peaks. The axis reaches to the card, or to a larger peak (a wrong counter: show it)."""
    cards = [use.card.value for use in uses if use.card.value is not None]
    peaks = [use.peak.value for use in uses]
    axis = bytes_axis(
        max([*cards, *(peak for peak in peaks if peak is not None), 1.0]), 4 if width < 500 else 6
    )
    frame = Frame(8, 4, width - 24, 4 + ROW_HEIGHT * len(uses))
    return MemoryBars(
        axis=axis,
        frame=frame,
        peaks=tuple(
            axis.position(peak, frame.left, frame.right) if peak is not None else None for peak in peaks
        ),
        card_x=axis.position(max(cards), frame.left, frame.right) if cards else None,
    )


def memory_svg(
    uses: Sequence[MemoryUse], *, language: Language, identity: str, width: float = 760.0
) -> Markup:
    """One row for each counter. Raises ValueError without a counter."""
    place = memory_geometry(uses, width)
    texts = [_words(use, language) for use in uses]
    body: list[Markup] = []
    for index, (use, text, peak_x) in enumerate(zip(uses, texts, place.peaks, strict=True)):
        top = place.frame.top + index * ROW_HEIGHT
        body.append(draw.label(place.frame.left, top + 12, text))
        end = place.card_x if place.card_x is not None else place.frame.right
        body.append(draw.rectangle(place.frame.left, top + 18, end - place.frame.left, BAR_HEIGHT, "track"))
        if peak_x is not None:
            role = "alarm" if (use.share or 0.0) >= TIGHT_SHARE else "compute"
            body.append(
                draw.rectangle(place.frame.left, top + 18, peak_x - place.frame.left, BAR_HEIGHT, role)
            )
    if place.card_x is not None:
        top, bottom = place.frame.top + 16, place.frame.bottom
        body.append(draw.line(place.card_x, top, place.card_x, bottom, "ink", width=2))
    unit = speak("chart.memory_axis", language, unit=place.axis.unit)
    body.append(draw.bottom_axis(place.axis, place.frame, unit))
    return draw.drawing(
        join(body),
        width=width,
        height=place.frame.bottom + 40,
        title=speak("chart.memory_title", language),
        description="; ".join(texts),
        identity=identity,
        language=language,
    )


def _words(use: MemoryUse, language: Language) -> str:
    counter = speak(f"memory.{use.counter}", language)
    peak = say_quantity(use.peak, language)
    if use.card.value is None:
        return speak("chart.memory_without_card", language, counter=counter, peak=peak)
    share = format_share(use.share) if use.share is not None else speak("value.unknown", language)
    card = format_bytes(use.card.value)
    return speak("chart.memory_with_card", language, counter=counter, peak=peak, card=card, share=share)
