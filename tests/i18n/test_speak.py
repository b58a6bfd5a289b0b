"""How a sentence is filled in: units, intervals, lists, and what is unknown."""

from __future__ import annotations

import sys

import pytest

from weighbridge.i18n import catalogue, choose_language, has, say_quantity, speak
from weighbridge.units import Quantity

# The package exports a function of the same name as the module.
MODULE = sys.modules["weighbridge.i18n.speak"]


@pytest.fixture(autouse=True)
def sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few sentences of the test's own beside the real ones."""
    texts = {
        "test.wait": {"en": "waits {wait:seconds} ({share:share})", "zh": "{share:share} {wait:seconds}"},
        "test.files": {"en": "files: {names}", "zh": "{names}"},
        "test.because": {"en": "stopped: {why:code}", "zh": "{why:code}"},
        "test.full": {"en": "the disk is full", "zh": "full"},
    }
    whole = catalogue() | texts
    monkeypatch.setattr(MODULE, "catalogue", lambda: whole)


def test_values_are_printed_in_the_unit_that_the_sentence_names() -> None:
    assert speak("test.wait", "en", wait=185, share=0.83) == "waits 3 min 05 s (83 %)"
    assert speak("test.wait", "zh", wait=185, share=0.83) == "83 % 3 分 05 秒"


def test_an_unknown_value_is_said_to_be_unknown_and_never_printed_as_none_or_zero() -> None:
    assert speak("test.wait", "en", wait=None, share=0) == "waits not measured (0.0 %)"
    assert speak("test.wait", "en") == "waits not measured (not measured)"


def test_a_quantity_brings_its_own_unit_and_interval() -> None:
    wait = Quantity(value=None, unit="seconds", origin="estimated", low=1.2, high=1.5)

    assert speak("test.wait", "en", wait=wait, share=0.5) == "waits 1.20 s \u2013 1.50 s (50 %)"


def test_a_list_is_joined_as_each_language_joins_it() -> None:
    assert speak("test.files", "en", names=["a.log", "b.csv"]) == "files: a.log, b.csv"
    assert speak("test.files", "zh", names=["a.log", "b.csv"]) == "a.log\u3001b.csv"


def test_a_code_inside_a_sentence_becomes_a_sentence() -> None:
    assert speak("test.because", "en", why="test.full") == "stopped: the disk is full"


def test_braces_in_a_file_name_are_only_text() -> None:
    assert speak("test.files", "en", names="{0.__class__}") == "files: {0.__class__}"


def test_a_code_without_a_sentence_is_an_error_of_ours() -> None:
    assert not has("test.nobody_wrote_this")
    with pytest.raises(KeyError):
        speak("test.nobody_wrote_this", "en")


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Quantity(value=1.33, unit="times", origin="estimated", low=1.0, high=5.88),
         "\u00d71.33 (\u00d71.00 \u2013 \u00d75.88)"),
        (Quantity(value=None, unit="times", origin="estimated", high=1.5), "\u2264 \u00d71.50"),
        (Quantity(value=None, unit="times", origin="estimated", low=2.0), "\u2265 \u00d72.00"),
        (Quantity(value=700.0, unit="watts", origin="agreed", operator="<="), "\u2264 700 W"),
        (Quantity(value=None, unit="bytes", origin="imported", missing="not_printed"), "not in this log"),
        (Quantity(value=float("nan"), unit="bytes", origin="measured"), "not measured"),
    ],
)  # fmt: skip
def test_a_quantity_says_how_sure_it_is(quantity: Quantity, text: str) -> None:
    assert say_quantity(quantity, "en") == text


@pytest.mark.parametrize(
    ("asked", "variable", "locale", "language"),
    [
        ("zh", "en", "en_US.UTF-8", "zh"),
        (None, "zh", "en_US.UTF-8", "zh"),
        (None, None, "zh_CN.UTF-8", "zh"),
        (None, None, "C", "en"),
        (None, None, None, "en"),
        (None, "fr", "zh_CN.GBK", "zh"),
    ],
)
def test_the_language_is_the_one_asked_for_then_the_variable_then_the_locale(
    monkeypatch: pytest.MonkeyPatch,
    asked: str | None,
    variable: str | None,
    locale: str | None,
    language: str,
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "WEIGHBRIDGE_LANG"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv("WEIGHBRIDGE_LANG", variable)
    if locale:
        monkeypatch.setenv("LANG", locale)

    assert choose_language(asked) == language
