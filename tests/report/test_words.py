"""Words that reports share."""

from __future__ import annotations

import pytest
import samples
from samples import between

from weighbridge.report import words
from weighbridge.schema.diagnosis import Counterfactual
from weighbridge.schema.finding import Evidence, Finding
from weighbridge.schema.run import Problem
from weighbridge.units import Quantity


@pytest.mark.parametrize(
    ("speed_up", "text"),
    [
        (between(1.0, 1.0), "\u00d71.00"),
        (between(1.0, 5.85), "\u00d71.00 \u2013 \u00d75.85"),
        (between(1.3, None), "at least \u00d71.30"),
        (between(None, 2.0), "up to \u00d72.00"),
        (
            Quantity(value=1.7, unit="times", origin="estimated", low=1.5, high=1.9),
            "\u00d71.70 (\u00d71.50 \u2013 \u00d71.90)",
        ),
        (Quantity(value=5.9, unit="times", origin="estimated", operator="<="), "up to \u00d75.90"),
        (Quantity(value=None, unit="times", origin="estimated"), "not measured"),
    ],
)
def test_a_speed_up_is_said_as_far_as_it_is_known(speed_up: Quantity, text: str) -> None:
    assert words.speed_up_words(speed_up, "en") == text


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (None, None, ""),
        (0.0, None, "1970-01-01 00:00:00 UTC"),
        (0.0, 60.0, "1970-01-01 00:00:00 \u2013 00:01:00 UTC"),
        (0.0, 90_000.0, "1970-01-01 00:00:00 \u2013 1970-01-02 01:00:00 UTC"),
        (1e30, None, ""),
    ],
)
def test_a_span_says_its_date_once(first: float | None, last: float | None, text: str) -> None:
    evidence = Evidence(source="a", at_first_seconds=first, at_last_seconds=last)

    assert words.span_words(evidence, "utc", "en") == text


def test_a_local_clock_is_printed_as_the_log_printed_it_and_says_so() -> None:
    evidence = Evidence(source="a", at_first_seconds=3600.0)

    assert words.span_words(evidence, "local", "en") == "1970-01-01 01:00:00 (log's local time)"
    assert words.span_words(evidence, "none", "en") == ""


def test_a_place_reads_as_compilers_write_it() -> None:
    assert words.place_words(Evidence(source="a.log", line_first=3, line_last=9)) == "a.log:3-9"
    assert words.place_words(Evidence(source="a.log", line_first=3, line_last=3)) == "a.log:3"
    assert words.place_words(Evidence(source="a\x1b[2J\n.log")) == "a\ufffd[2J .log"


def test_a_code_without_a_sentence_is_shown_and_does_not_fail() -> None:
    assert (
        words.finding_words(Finding(code="diagnose.not_written_yet", severity="note"), "en")
        == "diagnose.not_written_yet"
    )


def test_a_problem_names_its_place_and_how_often() -> None:
    run, _, _ = samples.data_bound()
    problem = Problem(code="x.y", line=7, count=3)

    assert words.problem_words(problem, run, "en") == "x.y (exp002_7424.out:7 \u00d73)"


def test_a_problem_of_an_unknown_source_is_still_said() -> None:
    run, _, _ = samples.data_bound()

    assert words.problem_words(Problem(code="x.y", source=9), run, "en") == "x.y"


def test_what_a_change_assumes_is_said_whole() -> None:
    change = Counterfactual(
        code="counterfactual.twice_the_gpus",
        speed_up=between(1.0, 1.0),
        tier="bound",
        scope="occupied",
        scaling="weak",
        brings="in_a_second_box",
    )

    assert words.assumption_words(change, "en") == [
        "same batch per GPU",
        "in a second box with its own cores, memory and disks",
        "of the occupied time",
    ]


@pytest.mark.parametrize(
    ("costs", "word"), [(True, "costs money"), (False, "free"), (None, "free or bought")]
)
def test_cost_has_three_answers(costs: bool | None, word: str) -> None:
    change = Counterfactual(
        code="x.y", speed_up=between(1.0, 1.0), tier="bound", scope="step", costs_money=costs
    )

    assert words.cost_word(change, "en") == word


def test_what_a_run_cannot_answer_is_named_in_the_order_shown_to_people() -> None:
    _, diagnosis, _ = samples.compute_bound()

    assert words.unanswerable(diagnosis, "en") == [
        "epoch time",
        "loader's time per batch",
        "evaluation time",
        "memory (reserved)",
        "bytes read",
    ]


def test_a_figure_that_is_not_there_has_no_origin() -> None:
    assert words.origin_word(Quantity(value=None, unit="seconds", origin="measured"), "en") == ""
    assert words.origin_word(Quantity(value=1.0, unit="seconds", origin="measured"), "en") == "measured"
