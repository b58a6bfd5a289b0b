"""The training load brief: the figures a supplier needs and no name of anybody or anything."""

from __future__ import annotations

from dataclasses import replace

import pages
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FakeView, imported

from weighbridge import codec
from weighbridge.i18n import LANGUAGES, Language
from weighbridge.report.brief import (
    brief_from,
    brief_page,
    epoch_seconds,
    full_run_seconds,
    letter,
    recorded_seconds,
    unbroken_seconds,
)
from weighbridge.schema.brief import Brief, BriefItem
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.units import Quantity

FORBIDDEN = ("exp002", "7424", "faster-rcnn", "node-17", "train.log", "gpu.csv", "ppyoloe", "results", ".out")


def values(brief: Brief) -> dict[str, float | str | None]:
    return {item.code: item.word if item.quantity is None else item.quantity.value for item in brief.items}


def test_a_brief_holds_the_figures_of_the_run() -> None:
    found = values(brief_from(*samples.data_bound()))

    assert found["memory_allocated"] == 8872 * 2**20
    assert found["card_memory"] == 48 * 2**30
    assert found["step_seconds"] == 1.4076
    assert found["epoch_seconds"] == 4950.0
    assert found["data_wait_share"] == 0.829
    assert found["run_seconds"] == 41_000.0
    assert found["full_run_seconds"] == pytest.approx(80_615 * 1.41)
    assert (found["gpu_name"], found["gpus"], found["batch_per_device"]) == ("NVIDIA L40", 1, 4)


def test_what_the_log_does_not_hold_is_unknown_and_never_zero() -> None:
    found = values(brief_from(*samples.cannot_say()))

    assert found["memory_device"] is None
    assert found["data_bytes"] is None
    assert found["gpus"] is None
    assert found["step_seconds"] is None


@pytest.mark.parametrize("make", samples.ALL.values(), ids=samples.ALL)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_name_of_a_file_a_host_or_a_run_is_on_the_page(make: object, language: Language) -> None:
    brief = brief_from(*make())  # type: ignore[operator]

    for text in (brief_page([brief], language), codec.encode(brief).decode()):
        assert not [name for name in FORBIDDEN if name in text]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["/home/", "C:\\Users\\", "zhang@gpu-3:", "<img", "\\\\nas\\"]),
    st.text("abc\u4e2d/", max_size=9),
)
def test_what_looks_like_a_path_never_gets_into_a_brief(start: str, rest: str) -> None:
    brief = brief_from(*samples.hostile(start + rest))

    assert start not in codec.encode(brief).decode().replace("\\\\", "\\")
    assert start not in brief_page([brief], "en")


@pytest.mark.parametrize(
    "word", ["/data/x", "a\\b", "user@host", "host:8080", "<b>", "", "x" * 60, "\u5f20\u4e09"]
)
def test_a_word_that_could_name_somebody_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="may not look like this"):
        BriefItem(code="gpu_name", group="memory", word=word)


def test_a_quantity_that_names_its_source_is_refused() -> None:
    with pytest.raises(ValueError, match="may not name its source"):
        BriefItem(
            code="x",
            group="time",
            quantity=Quantity(value=1.0, unit="seconds", origin="measured", source="a.log"),
        )


def test_a_brief_is_read_back_as_it_was_written() -> None:
    brief = brief_from(*samples.compute_bound())

    assert codec.decode(codec.encode(brief), Brief, name="brief") == brief


def run_of(segments: int, **changes: object) -> Run:
    run, _, _ = samples.cannot_say()
    return replace(run, started_at_seconds=0.0, ended_at_seconds=1000.0, segments=segments, **changes)  # type: ignore[arg-type]


def test_a_run_without_a_restart_ran_without_a_break() -> None:
    run = run_of(1)

    assert unbroken_seconds(run, imported(1000.0), FakeView(run)) == imported(1000.0)


def test_the_longest_stretch_lies_between_two_starts_and_is_an_upper_end() -> None:
    run = run_of(3)
    view = FakeView(
        run, happened=[Event(kind="restart", at_seconds=100.0), Event(kind="restart", at_seconds=700.0)]
    )

    found = unbroken_seconds(run, imported(1000.0), view)

    assert found == Quantity(value=600.0, unit="seconds", origin="estimated", operator="<=")


def test_restarts_without_a_clock_leave_only_the_upper_end() -> None:
    run = run_of(2)

    found = unbroken_seconds(run, imported(1000.0), FakeView(run, happened=[Event(kind="restart", line=5)]))

    assert found is not None
    assert (found.value, found.high) == (None, 1000.0)


def test_an_epoch_that_the_log_does_not_time_is_worked_out_and_says_so() -> None:
    run, diagnosis, view = samples.data_bound()
    view.happened.clear()

    found = epoch_seconds(run, diagnosis, view)

    assert found is not None
    assert found.value == pytest.approx(3505 * 1.41)
    assert found.origin == "estimated"


def test_a_run_without_plan_or_clock_has_no_length() -> None:
    run, diagnosis, _ = samples.cannot_say()
    run = replace(run, stated_seconds=None)

    assert full_run_seconds(run, diagnosis) is None
    assert recorded_seconds(run, diagnosis) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_balanced_in_one_language_and_asks_nothing_of_the_network(language: Language) -> None:
    text = brief_page([brief_from(*samples.data_bound())], language)
    page = pages.read(text)

    assert page.all("html")[0].attributes["lang"] == {"zh": "zh-CN", "en": "en"}[language]
    assert page.all("input") == page.all("script") == []
    assert "http:" not in text
    assert "https:" not in text


def test_unknown_figures_are_printed_as_not_measured() -> None:
    page = pages.read(brief_page([brief_from(*samples.cannot_say())], "zh"))

    assert {element.text for element in page.all("span", class_="unknown")} == {"\u672a\u6d4b"}


def test_every_figure_has_its_origin_beside_it() -> None:
    page = pages.read(brief_page([brief_from(*samples.data_bound())], "en"))

    assert len(page.all("span", class_="value")) == len(page.all("small", class_="origin"))


def test_tasks_stand_beside_one_another_and_their_logs_are_counted_on() -> None:
    briefs = [brief_from(*make()) for make in samples.ALL.values()]
    page = pages.read(brief_page(briefs, "en"))

    heads = [element.text for element in page.all("th", scope="col")]
    assert heads == ["Item", "Task A (log A)", "Task B (log B\u2013C)", "Task C (log D)"]


def test_a_fourth_task_begins_a_new_page() -> None:
    brief = brief_from(*samples.cannot_say())

    assert len(pages.read(brief_page([brief] * 4, "en")).all("article")) == 2


def test_growth_is_left_for_the_customer() -> None:
    page = pages.read(brief_page([brief_from(*samples.data_bound())], "en"))

    # The task's name and two lines of growth, each with a blank for the figure and one for the remark.
    assert len(page.all("td", class_="blank")) == 6


def test_no_task_is_no_page() -> None:
    with pytest.raises(ValueError, match="at least one task"):
        brief_page([], "en")


@pytest.mark.parametrize(("index", "text"), [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB")])
def test_letters_go_on_after_z(index: int, text: str) -> None:
    assert letter(index) == text
