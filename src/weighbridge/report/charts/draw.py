"""What every chart is drawn with: the root element, axes, paths, legends, the hatch.

Positions come in as pixels; nothing here looks at data. Text stays text, so that it can be searched, read
aloud and copied; a reader without a Chinese font in the list gets his system's own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from weighbridge.report.charts.palette import PHASES, chart_css, colour_of, role_of, text_on
from weighbridge.report.charts.scale import Axis
from weighbridge.report.markup import Markup, element, join, number

FONTS: Final = (
    "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', "
    "'Noto Sans CJK SC', 'Source Han Sans SC', sans-serif"
)
FONT_SIZE: Final = 12.0
LINE_HEIGHT: Final = 18.0
Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """The rectangle of a plot inside its drawing, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """A safe guess: a Chinese character is as wide as high, a Latin one a little over half of that."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (wide + 0.58 * (len(text) - wide))


def fill(name: str) -> dict[str, str]:
    """Attributes that fill a shape with the colour of a phase or role."""
    return {"class_": f"wb-f-{role_of(name)}", "fill": colour_of(name).light}


def stroke(name: str, width: float = 1.0) -> dict[str, str | float]:
    """Attributes that draw a line in the colour of a phase or role."""
    return {
        "class_": f"wb-s-{role_of(name)}",
        "stroke": colour_of(name).light,
        "stroke_width": width,
        "fill": "none",
    }


def label(
    x: float, y: float, text: str, *, anchor: Anchor = "start", role: str = "ink", size: float = FONT_SIZE,
    bold: bool = False,
) -> Markup:  # fmt: skip
    """Text with its baseline at ``y``."""
    return element(
        "text",
        text,
        x=x,
        y=y,
        text_anchor=None if anchor == "start" else anchor,
        font_size=None if size == FONT_SIZE else size,
        font_weight="600" if bold else None,
        **fill(role),
    )


def label_on(x: float, y: float, text: str, phase: str) -> Markup:
    """Text in the middle of a filled part, black or white as the fill asks."""
    role = role_of(phase)
    name = role if role in PHASES else "unattributed"
    return element(
        "text", text, x=x, y=y, text_anchor="middle", font_weight="600",
        class_=f"wb-o-{name}", fill=text_on(PHASES[name].light),
    )  # fmt: skip


def rectangle(x: float, y: float, width: float, height: float, name: str, **extra: str | float) -> Markup:
    """A filled rectangle."""
    return element("rect", x=x, y=y, width=max(width, 0.0), height=height, **fill(name), **extra)


def line(
    x1: float, y1: float, x2: float, y2: float, name: str, *, width: float = 1.0, dashes: str | None = None
) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_dasharray=dashes, **stroke(name, width))


# Parts that hold time which nobody accounts for: drawn with stripes, never solid.
HATCHED: Final = {"unattributed": "hatch", "undivided": "hatch", "compute_undivided": "mixed"}


def hatch(identity: str) -> Markup:
    """The two patterns: nobody knows (grey stripes), and compute with what nobody knows inside it.

    ``identity`` keeps them apart from those of other drawings of the page.
    """
    unknown = _stripes(f"{identity}-hatch", "track", "unattributed")
    mixed = _stripes(f"{identity}-mixed", "compute", "unattributed")
    return element("defs", unknown, mixed)


def _stripes(identity: str, ground: str, stripe: str) -> Markup:
    return element(
        "pattern", rectangle(0, 0, 8, 8, ground), element("path", d="M0 0V8", **stroke(stripe, 3.0)),
        id=identity, width=8, height=8, patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
    )  # fmt: skip


def line_path(points: Sequence[Point], name: str, width: float = 1.5) -> Markup:
    """A line through points; a single point becomes a short dash."""
    if len(points) == 1:
        points = ((points[0][0] - 3, points[0][1]), (points[0][0] + 3, points[0][1]))
    return element("path", d=_path(points), stroke_linejoin="round", **stroke(name, width))


def area_path(upper: Sequence[Point], lower: Sequence[Point], name: str, opacity: float = 1.0) -> Markup:
    """The area between two lines that run in the same direction."""
    outline = [*upper, *reversed(lower)]
    return element(
        "path", d=_path(outline) + "Z", fill_opacity=None if opacity == 1.0 else f"{opacity:g}", **fill(name)
    )


def _path(points: Sequence[Point]) -> str:
    """Steps from point to point in tenths of a pixel: half as long as positions, and without drift."""
    x, y = round(points[0][0], 1), round(points[0][1], 1)
    start = f"M{number(x)} {number(y)}"
    steps = []
    for next_x, next_y in points[1:]:
        step = (round(next_x, 1) - x, round(next_y, 1) - y)
        x, y = round(next_x, 1), round(next_y, 1)
        steps.append(f"{_short(step[0])} {_short(step[1])}")
    return start + ("l" + " ".join(steps).replace(" -", "-") if steps else "")


def _short(value: float) -> str:
    text = number(value)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def value_axis(axis: Axis, frame: Frame) -> Markup:
    """Horizontal grid lines with their labels at the left."""
    parts = []
    for tick in axis.ticks:
        y = axis.position(tick.value, frame.bottom, frame.top)
        parts.append(
            line(frame.left, y, frame.right, y, "line", width=1.0 if tick.value == axis.low else 0.5)
        )
        parts.append(label(frame.left - 6, y + 4, tick.label, anchor="end", role="quiet", size=11))
    return join(parts)


def bottom_axis(axis: Axis, frame: Frame, title: str) -> Markup:
    """Ticks below the plot and what they count, right under them."""
    parts = []
    for tick in axis.ticks:
        x = axis.position(tick.value, frame.left, frame.right)
        half = text_width(tick.label, 11) / 2
        at = min(max(x, frame.left + half - 8), frame.right - half + 8)
        parts.append(line(x, frame.bottom, x, frame.bottom + 4, "line"))
        parts.append(label(at, frame.bottom + 16, tick.label, anchor="middle", role="quiet", size=11))
    middle = (frame.left + frame.right) / 2
    parts.append(label(middle, frame.bottom + 33, title, anchor="middle", role="quiet", size=11))
    return join(parts)


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A swatch and its words; ``shape`` is how the thing is drawn in the plot."""

    text: str
    name: str
    shape: Literal["box", "line", "mark", "dash", "cut"] = "box"


def legend_rows(entries: Sequence[LegendEntry], width: float) -> tuple[tuple[Point, ...], float]:
    """Where each entry starts (x, row's top) when they flow into ``width``, and the height they need."""
    x, y = 0.0, 0.0
    places = []
    for entry in entries:
        needed = 22 + text_width(entry.text) + 14
        if x > 0 and x + needed - 14 > width:
            x, y = 0.0, y + LINE_HEIGHT
        places.append((x, y))
        x += needed
    return tuple(places), (y + LINE_HEIGHT if entries else 0.0)


def legend(entries: Sequence[LegendEntry], left: float, top: float, width: float, identity: str) -> Markup:
    """The swatches with their words."""
    places, _ = legend_rows(entries, width)
    parts = []
    for entry, (x, y) in zip(entries, places, strict=True):
        parts.append(swatch(entry, left + x, top + y + 3, identity))
        parts.append(label(left + x + 20, top + y + 13, entry.text))
    return join(parts)


def swatch(entry: LegendEntry, x: float, y: float, identity: str) -> Markup:
    """A sample of how the thing is drawn, 14 x 12 pixels."""
    if entry.shape == "line":
        return line(x, y + 6, x + 14, y + 6, entry.name, width=2)
    if entry.shape == "dash":
        return line(x + 7, y, x + 7, y + 12, entry.name, width=1.5, dashes="3 2")
    if entry.shape == "cut":
        return triangle(x + 7, y + 2, entry.name)
    if entry.shape == "mark":
        return rectangle(x + 5, y + 1, 3, 10, entry.name)
    if entry.name in HATCHED:
        return hatched(x, y, 14, 12, entry.name, identity)
    return rectangle(x, y, 14, 12, entry.name, rx=2)


def triangle(x: float, top: float, name: str) -> Markup:
    """A small mark that points up: something goes on beyond the edge."""
    return element("path", d=f"M{number(x - 4)} {number(top + 7)}h8l-4-7z", **fill(name))


def hatched(x: float, y: float, width: float, height: float, name: str, identity: str) -> Markup:
    """A striped rectangle for a part of HATCHED."""
    return element(
        "rect", x=x, y=y, width=max(width, 0.0), height=height, fill=f"url(#{identity}-{HATCHED[name]})",
        stroke=colour_of(name).light, stroke_width=1, class_=f"wb-s-{role_of(name)}",
    )  # fmt: skip


def drawing(
    body: Markup, *, width: float, height: float, title: str, description: str, identity: str, language: str
) -> Markup:
    """The root element. ``identity`` must be unique in the page; it is the stem of the ids inside."""
    language_tag = "zh-CN" if language == "zh" else language
    return element(
        "svg",
        element("title", title, id=f"{identity}-title"),
        element("desc", description, id=f"{identity}-desc"),
        body,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        lang=language_tag,
        aria_labelledby=f"{identity}-title {identity}-desc",
        font_family=FONTS,
        font_size=FONT_SIZE,
    )


def standalone(svg: Markup) -> str:
    """The drawing as a file of its own: with its name space, and dark where the reader's screen is."""
    style = element("style", Markup(chart_css()))
    opening, rest = svg.split(">", 1)
    return f'{opening} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'
