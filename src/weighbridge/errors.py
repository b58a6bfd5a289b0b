"""The error tree and the exit codes. Nothing here prints and nothing here knows a language.

    WeighbridgeError            something the user can act on; carries a message code and its parameters
    |-- UsageError              the command was put wrongly                                   exit 2
    |-- InputError              a file, a line or a field is not what it should be            exit 2
    |   |-- UnknownFormat       no reader recognises the file
    |   `-- NothingToRead       the file is empty, a directory without logs, or holds no record
    |-- WorkspaceError          the workspace cannot be read or written (full disk, permission) exit 2
    |-- MissingExtra            an optional part is not installed; says the line that adds it  exit 2
    `-- CannotMeasure           the question cannot be answered or measured here               exit 3

"The answer is no" (exit 1) is a result, never an exception. Sentences live in ``i18n``; an error says
which sentence and with which values, so that both languages say the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

EXIT_OK = 0
EXIT_NO = 1
EXIT_BAD_INPUT = 2
EXIT_CANNOT_SAY = 3

# Set by i18n when it is imported, so that ``str(error)`` reads as a sentence for library users
# without this lowest room importing a higher one.
speaker: Callable[[str, dict[str, object]], str] | None = None


class WeighbridgeError(Exception):
    """An error with a catalogue code and parameters; ``exit_code`` is what the CLI returns."""

    exit_code: ClassVar[int] = EXIT_BAD_INPUT

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code)
        self.code = code
        self.params = params

    def __str__(self) -> str:
        if speaker is not None:
            return speaker(self.code, self.params)
        values = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{self.code}({values})"


class UsageError(WeighbridgeError):
    """The command was put wrongly."""


class InputError(WeighbridgeError):
    """A file, a line or a field is not what it should be."""


class UnknownFormat(InputError):
    """No reader recognises the file."""


class NothingToRead(InputError):
    """The file is empty or holds no record."""


class WorkspaceError(WeighbridgeError):
    """The workspace cannot be read or written."""


class MissingExtra(WeighbridgeError):
    """An optional part is not installed."""


class CannotMeasure(WeighbridgeError):
    """The question cannot be answered or measured here."""

    exit_code: ClassVar[int] = EXIT_CANNOT_SAY
