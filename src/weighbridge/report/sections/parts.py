"""What sections are made of: headings, tables that scroll inside, figures with their origin beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.markup import Child, Markup, element, join
from weighbridge.report.sections.material import SIZES, Material, Size
from weighbridge.units import Quantity


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell; ``number`` sets it to the right, ``rows`` lets it span, ``head`` makes it the row's header."""

    content: Child
    number: bool = False
    rows: int = 1
    head: bool = False


def identity(material: Material, language: Language, name: str) -> str:
    """An id that is unique in a page of several runs in two languages."""
    return f"{name}-{material.number}-{language}"


def section(material: Material, language: Language, name: str, *children: Child) -> Markup:
    """A section with its heading, which names it to a screen reader."""
    heading = identity(material, language, name)
    return element(
        "section",
        element("h2", speak(f"page.{name}", language), id=heading),
        *children,
        class_=name,
        aria_labelledby=heading,
    )


def note(text: str) -> Markup:
    """A sentence beside the figures."""
    return element("p", text, class_="note")


def table(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[TableCell]], language: Language,
    *, numbers: Sequence[int] = (), kind: str | None = None,
) -> Markup:  # fmt: skip
    """A table in a box of its own, so that a phone scrolls the table and not the page.

    ``columns`` are sentence codes; ``numbers`` the columns that are set to the right.
    """
    heads = [
        element("th", speak(code, language), scope="col", class_="number" if index in numbers else None)
        for index, code in enumerate(columns)
    ]
    body = [element("tr", *(_cell(cell) for cell in row)) for row in rows]
    drawn = element(
        "table",
        element("caption", name),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        class_=kind,
    )
    label = speak("page.scroll", language, name=name)
    return element("div", drawn, class_="scroll", role="region", tabindex="0", aria_label=label)


def _cell(cell: TableCell) -> Markup:
    span = str(cell.rows) if cell.rows > 1 else None
    kind = "number" if cell.number else None
    if cell.head:
        return element("th", cell.content, scope="rowgroup" if span else "row", rowspan=span, class_=kind)
    return element("td", cell.content, rowspan=span, class_=kind)


def figure(text: str, origin: str) -> Markup:
    """A figure with the word of its origin beside it."""
    word = join([" ", element("small", origin, class_="origin")]) if origin else None
    return join([element("span", text, class_="value"), word])


def figure_of(quantity: Quantity | None, language: Language, *, interval: bool = True) -> Markup:
    """A Quantity as a figure; None reads as not measured."""
    text = words.quantity_words(quantity, language, interval=interval)
    return figure(text, words.origin_word(quantity, language) if quantity is not None else "")


def drawings(draw: Callable[[Size], Markup], caption: Child = None) -> Markup:
    """The same drawing for a screen and for a phone; the style sheet shows the one that fits."""
    sizes = [element("div", draw(size), class_=f"drawing {size}") for size in SIZES]
    return element("figure", element("figcaption", caption) if caption else None, *sizes)


def listing(items: Sequence[Child]) -> Markup:
    """An unordered list."""
    return element("ul", *(element("li", item) for item in items))
