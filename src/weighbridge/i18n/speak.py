"""Load the catalogue and fill sentences in."""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

from weighbridge import errors
from weighbridge.units import FORMATTERS, Quantity, format_value

Language = Literal["en", "zh"]
_LONG: Final = re.compile(r"\d (?:d|h|min)\b")
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """Every sentence by its code. Raises ValueError when two files claim one code."""
    sentences: dict[str, dict[str, str]] = {}
    folder = resources.files("weighbridge.i18n") / "messages"
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        if not file.name.endswith(".json"):
            continue
        for code, texts in json.loads(file.read_text(encoding="utf-8")).items():
            if code in sentences:
                raise ValueError(f"{file.name}: the code {code!r} is already in another file")
            sentences[code] = texts
    return sentences


class _Speaker(string.Formatter):
    def __init__(self, language: Language) -> None:
        self.language: Language = language

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return catalogue()["value.unknown"][self.language]
        if isinstance(value, Quantity):
            return say_quantity(value, self.language)
        if format_spec in FORMATTERS and isinstance(value, int | float):
            return say_number(value, format_spec, self.language)
        if format_spec == "code":
            return speak(str(value), self.language)
        if isinstance(value, list | tuple):
            separator = catalogue()["value.list_separator"][self.language]
            return separator.join(str(item) for item in value)
        return str(format(value, format_spec))

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key))


def has(code: str) -> bool:
    """Whether the catalogue knows ``code``."""
    return code in catalogue()


def speak(code: str, language: Language, **params: object) -> str:
    """The sentence of ``code`` in ``language``, ``params`` filled in. Raises KeyError for an unknown code."""
    return _Speaker(language).vformat(catalogue()[code][language], (), params)


def say_number(value: float, unit: str, language: Language) -> str:
    """Print a bare number in its unit; long durations in the words of the language (5 h 39 min)."""
    text = format_value(value, unit)
    if language == "en" or unit != "seconds" or not _LONG.search(text):
        return text
    for short, code in (("d", "day"), ("h", "hour"), ("min", "minute"), ("s", "second")):
        text = re.sub(rf"(\d+) {short}\b ?", rf"\g<1> {catalogue()[f'value.{code}'][language]} ", text)
    return text.strip()


def say_quantity(quantity: Quantity, language: Language, *, interval: bool = True) -> str:
    """Print a Quantity: its value with unit, its interval if it has one, or why it is unknown."""
    if quantity.value is None and quantity.low is None and quantity.high is None:
        return catalogue()[f"value.missing.{quantity.missing or 'not_read'}"][language]
    low, high = (
        None if end is None else say_number(end, quantity.unit, language)
        for end in (quantity.low, quantity.high)
    )
    bounds = None
    if low is not None and high is not None:
        bounds = f"{low} \u2013 {high}"
    elif high is not None:
        bounds = f"\u2264 {high}"
    elif low is not None:
        bounds = f"\u2265 {low}"
    if quantity.value is None:
        return bounds or ""
    text = say_number(quantity.value, quantity.unit, language)
    if quantity.operator == ">=":
        text = f"\u2265 {text}"
    elif quantity.operator == "<=":
        text = f"\u2264 {text}"
    return f"{text} ({bounds})" if bounds and interval else text


def choose_language(asked: str | None) -> Language:
    """The language asked for, else WEIGHBRIDGE_LANG, else the terminal's locale, else English."""
    for candidate in (asked, os.environ.get("WEIGHBRIDGE_LANG")):
        if candidate in LANGUAGES:
            return candidate
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


def _speak_error(code: str, params: dict[str, object]) -> str:
    return speak(code, choose_language(None), **params) if has(code) else f"{code} {params}"


errors.speaker = _speak_error
