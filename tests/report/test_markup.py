"""Markup: text stays text whatever it holds."""

from __future__ import annotations

import pages
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.report.markup import Markup, element, escape, join, number, one_line, printable

NASTY = st.text(alphabet="<>&\"'/=;! abc\u4e2d\n\u202e\x00\x1b", max_size=30)


@given(NASTY)
def test_text_in_an_element_is_read_back_as_the_same_text(text: str) -> None:
    page = pages.read(element("p", text))

    assert [item.tag for item in page.elements] == ["p"]
    assert page.elements[0].text == printable(text)


@given(NASTY)
def test_text_in_an_attribute_is_read_back_as_the_same_text(text: str) -> None:
    page = pages.read(element("p", title=text))

    assert page.elements[0].attributes == {"title": printable(text)}


def test_markup_is_not_escaped_again() -> None:
    assert element("p", element("b", "a & b")) == "<p><b>a &amp; b</b></p>"


def test_none_is_neither_a_child_nor_an_attribute() -> None:
    assert element("p", None, class_=None, hidden=False, lang="en") == '<p lang="en"></p>'


def test_attribute_names_lose_their_last_underscore_and_take_dashes() -> None:
    assert (
        element("input", for_="x", aria_label="y", checked=True) == '<input for="x" aria-label="y" checked>'
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred", "a\ufffd[31mred"),
        ("log\u202egpj.exe", "log\ufffdgpj.exe"),
        ("bad\udce9name", "bad\ufffdname"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_what_a_terminal_or_page_would_obey_is_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_one_line_has_no_line_breaks() -> None:
    assert one_line(" a\r\nb\tc ") == "a b c"


def test_escaped_text_can_be_written_as_utf_8_even_from_a_broken_file_name() -> None:
    assert escape("\udcff").encode() == "\ufffd".encode()


def test_join_escapes_what_is_not_markup() -> None:
    assert join(["<", Markup("<br>"), None], " ") == "&lt; <br>"


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (1.25, "1.2"), (-0.01, "0"), (120.0, "120")])
def test_coordinates_are_printed_to_a_tenth(value: float, text: str) -> None:
    assert number(value) == text
