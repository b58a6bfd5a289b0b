"""The language of one command line, and click's own words in it.

Chosen once before the command tree is built, because click takes help texts when commands are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import PurePath

import click

from weighbridge.i18n import Language, catalogue, choose_language, speak

_current: Language | None = None


def current() -> Language:
    """The language in force."""
    return _current or choose_language(None)


def set_from(arguments: Sequence[str]) -> None:
    """Take ``--lang zh`` or ``--lang=zh`` from wherever it stands on the command line."""
    asked = None
    for place, argument in enumerate(arguments):
        if argument == "--lang" and place + 1 < len(arguments):
            asked = arguments[place + 1]
        elif argument.startswith("--lang="):
            asked = argument.partition("=")[2]
    use(choose_language(asked))


def use(chosen: Language) -> None:
    """Speak this language from now on, click's own messages included."""
    global _current
    _current = chosen
    _teach_click(chosen)


def text(code: str, **params: object) -> str:
    """The sentence in the language in force, on one line and with nothing in it that a terminal would obey.

    Names and reasons come from outside; line breaks of the sentence itself stay.
    """
    from weighbridge.report.markup import one_line

    shown = {
        name: one_line(str(value)) if isinstance(value, str | PurePath) else value
        for name, value in params.items()
    }
    return speak(code, current(), **shown)


@cache
def _click_words() -> dict[str, str]:
    return {texts["en"]: texts["zh"] for code, texts in catalogue().items() if code.startswith("click.")}


def _teach_click(chosen: Language) -> None:
    """Click looks its words up through ``_`` and ``ngettext`` in its modules; answer from our catalogue.

    Its other way, a compiled gettext file found through the process's locale, depends on the machine.
    """
    words = _click_words() if chosen == "zh" else {}

    def look_up(message: str) -> str:
        return words.get(message, message)

    def look_up_number(singular: str, plural: str, number: int) -> str:
        return words.get(singular if number == 1 else plural, singular if number == 1 else plural)

    for module in (
        click.core,
        click.exceptions,
        click.formatting,
        click.parser,
        click.types,
        click.decorators,
    ):
        names = vars(module)
        names.update({"_": look_up} if "_" in names else {})
        names.update({"ngettext": look_up_number} if "ngettext" in names else {})


def what_readers_look_for() -> str:
    """One line per reader: what it looked for in a file that none of them knew."""
    from weighbridge.readers.table import READERS

    return "\n".join(
        text("cli.reader_looked_for", name=reader.name, title=reader.title, looks_for=text(reader.looks_for))
        for reader in READERS
    )
