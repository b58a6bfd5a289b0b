"""The diagnosis page: self-contained, both languages alike, hostile text harmless."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable

import pages
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FakeView

from weighbridge.i18n import LANGUAGES, Language
from weighbridge.report.html import SECTIONS, diagnosis_page
from weighbridge.report.markup import printable
from weighbridge.schema.diagnosis import Diagnosis
from weighbridge.schema.run import Run

Make = Callable[[], tuple[Run, Diagnosis, FakeView]]
EVERY = pytest.mark.parametrize("make", samples.ALL.values(), ids=samples.ALL)


def page_of(*makes: Make, language: Language = "zh") -> str:
    return diagnosis_page([make() for make in makes], language=language)


@EVERY
def test_the_page_is_balanced_and_every_id_is_its_own(make: Make) -> None:
    page = pages.read(page_of(make))

    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))


def test_ids_stay_apart_with_several_runs() -> None:
    page = pages.read(page_of(*samples.ALL.values()))

    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))


@EVERY
def test_nothing_is_asked_of_the_network(make: Make) -> None:
    text = page_of(make)
    page = pages.read(text)

    for element in page.elements:
        assert element.tag not in (
            "img",
            "link",
            "iframe",
            "object",
            "embed",
            "audio",
            "video",
            "form",
            "base",
        )
        for name in ("src", "href", "action", "data", "srcset", "poster", "style"):
            assert (element.attributes.get(name) or "#").startswith("#")
        assert not [name for name in element.attributes if name.startswith("on")]
    assert "http:" not in text
    assert "https:" not in text
    assert not re.search(r"@import|url\((?!#)", text)


@EVERY
def test_the_policy_allows_this_style_and_this_script_and_nothing_else(make: Make) -> None:
    page = pages.read(page_of(make))
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0].attributes["content"] or ""
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def hashed(tag: str) -> str:
        (element,) = page.all(tag)
        return f"'sha256-{base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "style-src": hashed("style"),
        "script-src": hashed("script"),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


@EVERY
def test_both_languages_have_the_same_sections_tables_and_drawings(make: Make) -> None:
    page = pages.read(page_of(make))

    chinese, english = (
        [item.tag for item in page.elements if item.language == language] for language in ("zh-CN", "en")
    )
    assert chinese.count("section") == english.count("section") == len(SECTIONS)
    for tag in ("table", "svg", "tr", "th", "td", "h2", "li"):
        assert chinese.count(tag) == english.count(tag)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_opens_in_the_language_asked_for(language: Language) -> None:
    page = pages.read(page_of(samples.data_bound, language=language))
    checked = [element.attributes["id"] for element in page.all("input") if "checked" in element.attributes]

    assert page.all("html")[0].attributes["lang"] == {"zh": "zh-CN", "en": "en"}[language]
    assert checked == [f"show-{language}"]
    assert (
        page.all("title")[0].text
        == {
            "zh": "\u8bad\u7ec3\u8bca\u65ad\uff1afaster-rcnn_raw",
            "en": "Training diagnosis: faster-rcnn_raw",
        }[language]
    )


def test_the_switch_needs_no_script() -> None:
    text = page_of(samples.data_bound)

    assert "#show-en:checked ~ .language.zh" in text
    assert "#show-zh:checked ~ .language.en" in text


def test_chinese_text_is_not_marked_as_english() -> None:
    page = pages.read(page_of(samples.compute_bound))

    assert not [
        element.text
        for element in page.elements
        if element.language == "en" and re.search("[\u4e00-\u9fff]", element.text)
    ]


def test_every_table_has_a_name_and_headers_and_can_be_reached_by_keyboard() -> None:
    page = pages.read(page_of(samples.compute_bound))

    assert len(page.all("caption")) == len(page.all("table")) == len(page.all("div", class_="scroll"))
    for box in page.all("div", class_="scroll"):
        assert (box.attributes["tabindex"], box.attributes["role"]) == ("0", "region")
        assert box.attributes["aria-label"]
    assert all(cell.attributes["scope"] in ("col", "row", "rowgroup") for cell in page.all("th"))


def test_every_section_is_named_by_its_heading() -> None:
    page = pages.read(page_of(samples.data_bound))
    headings = {element.attributes.get("id") for element in page.all("h2")}

    assert all(section.attributes["aria-labelledby"] in headings for section in page.all("section"))


@EVERY
def test_a_page_of_one_run_is_small(make: Make) -> None:
    assert len(page_of(make).encode()) < 300_000


def test_the_signer_sees_the_verdict_and_the_figures_with_their_origin() -> None:
    page = pages.read(page_of(samples.data_bound, language="en"))
    texts = [element.text.strip() for element in page.elements if element.language == "en"]
    tiles = [element.text for element in page.all("span", class_="value") if element.language == "en"][:5]

    assert "Waiting for data" in texts
    assert tiles == ["1.41 s", "83 %", "8.66 GiB", "\u00d71.00 \u2013 \u00d75.85", "\u00d71.00"]
    assert "from the log" in texts
    assert "catalogue" in texts


def test_a_log_that_cannot_say_still_fills_every_section() -> None:
    page = pages.read(page_of(samples.cannot_say, language="en"))
    notes = [element.text for element in page.all("p", class_="note") if element.language == "en"]

    assert "This log does not record step times." in notes
    assert "This log does not record GPU memory." in notes
    assert "No change can be weighed from this log alone." in notes
    assert page.all("svg") == []


def test_several_runs_get_an_overview_that_leads_to_each() -> None:
    page = pages.read(page_of(samples.data_bound, samples.cannot_say, language="en"))
    links = [element.attributes["href"] for element in page.all("a") if element.language == "en"]
    ids = {element.attributes.get("id") for element in page.all("h1")}

    assert links == ["#run-1-en", "#run-2-en"]
    assert {link[1:] for link in links if link} <= ids


def test_no_run_is_no_page() -> None:
    with pytest.raises(ValueError, match="at least one"):
        diagnosis_page([])


@settings(max_examples=15, deadline=None)
@given(st.text(alphabet="<>&\"'/=! \x00\x1b\u202ea\u4e2d\udcff", min_size=1, max_size=25))
def test_hostile_text_stays_text_wherever_a_log_can_put_it(text: str) -> None:
    harmless = pages.read(diagnosis_page([samples.hostile("x")], language="en"))
    page = pages.read(diagnosis_page([samples.hostile(text)], language="en"))

    assert [element.tag for element in page.elements] == [element.tag for element in harmless.elements]
    assert [sorted(element.attributes) for element in page.elements] == [
        sorted(element.attributes) for element in harmless.elements
    ]
    assert any(printable(text) in element.text for element in page.all("td"))


def test_a_script_in_a_file_name_is_shown_and_not_run() -> None:
    name = "</title></style></script><script>alert(1)</script>"
    text = diagnosis_page([samples.hostile(name)], language="en")
    page = pages.read(text)

    assert len(page.all("script")) == 1
    assert "<script>alert" not in text
    assert any(element.text == name for element in page.all("td"))
