"""Every chart as a drawing: well-formed, described, without script, and with text that stays text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.i18n import LANGUAGES, Language
from weighbridge.report.charts import (
    Bar,
    Strip,
    bar_svg,
    breakdown_svg,
    busy_svg,
    line_svg,
    memory_svg,
    standalone,
    timeline_svg,
)
from weighbridge.report.charts.scale import bytes_axis, count_axis, duration_axis
from weighbridge.report.markup import Markup, printable
from weighbridge.schema.diagnosis import Breakdown, Part

SVG = "{http://www.w3.org/2000/svg}"


def timeline(language: Language, width: float) -> Markup:
    _, _, view = samples.data_bound()
    series = view.step_series
    return timeline_svg(
        series["step_seconds"],
        series["data_wait_seconds"],
        view.happened,
        language=language,
        identity="a",
        width=width,
    )


def breakdown(language: Language, width: float) -> Markup:
    _, diagnosis, _ = samples.compute_bound()
    assert diagnosis.step is not None
    return breakdown_svg(diagnosis.step, title="<b>", language=language, identity="a", width=width)


def memory(language: Language, width: float) -> Markup:
    return memory_svg(samples.compute_bound()[1].memory, language=language, identity="a", width=width)


def busy(language: Language, width: float) -> Markup:
    points = samples.compute_bound()[2].samples[0]
    return busy_svg([Strip("<gpu>", 0.5, points)], language=language, identity="a", width=width)


def line(language: Language, width: float) -> Markup:
    return line_svg(
        samples.data_bound()[2].step_series["allocated_bytes"],
        x_axis=count_axis(0, 28_000),
        y_axis=bytes_axis(5e10),
        x_title="&",
        y_title="<",
        title="<t>",
        description="\"'",
        language=language,
        identity="a",
        reference=4e10,
        reference_words="<card>",
        width=width,
    )


def bars(language: Language, width: float) -> Markup:
    return bar_svg(
        [Bar("<a>", 1.0, "&", 0.5, 2.0), Bar("b", None, "")],
        axis=duration_axis(2.0),
        axis_title="s",
        title="t",
        language=language,
        identity="a",
        width=width,
    )


CHARTS: list[Callable[[Language, float], Markup]] = [timeline, breakdown, memory, busy, line, bars]


@pytest.fixture(params=CHARTS, ids=lambda chart: chart.__name__)
def root(request: pytest.FixtureRequest) -> ElementTree.Element:
    return ElementTree.fromstring(standalone(request.param("zh", 760.0)))


def test_a_drawing_is_an_image_with_title_and_description(root: ElementTree.Element) -> None:
    names = (root.get("aria-labelledby") or "").split()
    texts = {node.get("id"): node.text for node in root.iter() if node.tag in (f"{SVG}title", f"{SVG}desc")}

    assert root.get("role") == "img"
    assert len(names) == 2
    assert all(texts[name] for name in names)


def test_a_drawing_has_no_script_no_link_and_no_inline_style(root: ElementTree.Element) -> None:
    for node in root.iter():
        assert node.tag.removeprefix(SVG) not in ("script", "a", "image", "use", "foreignObject")
        assert not [name for name in node.attrib if name.startswith("on") or name in ("style", "href")]


def test_every_reference_of_a_drawing_is_to_itself(root: ElementTree.Element) -> None:
    known = {node.get("id") for node in root.iter() if node.get("id")}
    used = [value for node in root.iter() for value in node.attrib.values() if value.startswith("url(")]

    assert all(value.startswith("url(#") and value[5:-1] in known for value in used)


def test_every_number_of_a_drawing_is_finite_and_inside_it(root: ElementTree.Element) -> None:
    width = float(root.get("width") or 0)
    for node in root.iter(f"{SVG}rect"):
        x, wide = float(node.get("x") or 0), float(node.get("width") or 0)
        assert -1 <= x <= x + wide <= width + 1


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.__name__)
@pytest.mark.parametrize("language", LANGUAGES)
def test_text_starts_inside_a_narrow_drawing(
    chart: Callable[[Language, float], Markup], language: Language
) -> None:
    root = ElementTree.fromstring(standalone(chart(language, 346.0)))

    for node in root.iter(f"{SVG}text"):
        assert 0 <= float(node.get("x") or 0) <= 346


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="<>&\"'/! a\u4e2d\x00\x1b", max_size=20))
def test_a_hostile_name_stays_text(text: str) -> None:
    record = Breakdown(total=samples.imported(1.0), parts=(Part(name="x", seconds=samples.imported(1.0)),))
    strip = Strip(text, None, [samples.point(0, 0.5), samples.point(1, 0.5)])
    for drawn in (
        breakdown_svg(record, title=text, language="en", identity="a"),
        busy_svg([strip], language="en", identity="a"),
    ):
        root = ElementTree.fromstring(standalone(drawn))
        shown = "".join(root.itertext())
        assert printable(text).strip() in shown
        assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
            "svg",
            "style",
            "title",
            "desc",
            "defs",
            "pattern",
            "rect",
            "path",
            "text",
            "line",
        }
