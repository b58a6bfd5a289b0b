"""Build HTML and SVG so that text cannot become markup.

``element`` escapes every child and attribute that is not already ``Markup``; nothing else in the room makes
markup out of a string that it was given. Knows no page and no chart.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

VOID_TAGS: Final = frozenset(
    {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
)

# Control characters (a terminal would obey them), bidirectional overrides (they make one file name look like
# another) and lone surrogates (undecodable bytes of a file name, which UTF-8 cannot carry).
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Markup(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


Child: TypeAlias = str | None
Attribute: TypeAlias = str | int | float | bool | None


def printable(text: str) -> str:
    """The text with everything that a terminal or a page might obey made visible as U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """``printable`` without line breaks and tabs, for table cells of a terminal."""
    return printable(" ".join(text.split()))


def number(value: float) -> str:
    """A coordinate: one decimal is a tenth of a pixel; no trailing zero."""
    text = f"{value:.1f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text


def escape(text: str) -> Markup:
    """Text as markup; Markup stays as it is."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(printable(text), quote=True))


def join(children: Iterable[Child], separator: str = "") -> Markup:
    """Children one after another, each escaped unless it is Markup; None is nothing."""
    return Markup(separator.join(escape(child) for child in children if child is not None))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = value if isinstance(value, str) else number(value)
    return f' {name}="{escape(str(text) if not isinstance(text, Markup) else text)}"'


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """``<tag ...>children</tag>``; in attribute names "_" becomes "-" and a last "_" goes (``class_``)."""
    opening = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID_TAGS:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(children)}</{tag}>")
