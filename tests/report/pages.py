"""Read a page or a drawing as a strict parser would, for the tests of what is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    language: str | None
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Elements in order with their own text; raises AssertionError for a tag that does not balance."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> says an attribute twice: {names}"
        outer = self._open[-1].language if self._open else None
        element = Element(tag, dict(attrs), dict(attrs).get("lang") or outer)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        return [
            element
            for element in self.elements
            if element.tag == tag
            and all(element.attributes.get(name.rstrip("_")) == value for name, value in attributes.items())
        ]


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert not page._open, f"left open: {[element.tag for element in page._open]}"
    return page
