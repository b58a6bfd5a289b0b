"""The training load of one Run as a supplier may see it: figures, and words of a closed shape.

Desensitised by shape: there is no field for a host, a path, a user, a file or a run's name. ``word`` holds a
product name or a version and nothing that looks like a path; where a figure stands is a number of a log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from weighbridge.units import Quantity

BriefGroup = Literal["memory", "time", "data", "layout", "environment", "growth"]
GROUPS: Final[tuple[BriefGroup, ...]] = ("memory", "time", "data", "layout", "environment", "growth")

# A product name or a version: no slash, backslash, colon, at sign, quote or bracket, and not long.
WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,+()_-]{0,47}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefItem:
    """One row: a figure, or a word, or a line for the customer to fill in.

    ``code`` names the row, ``log`` counts the logs of the Run from 0. Raises ValueError for a word that is
    not of the closed shape and for a Quantity that names a source.
    """

    code: str
    group: BriefGroup
    quantity: Quantity | None = None
    word: str | None = None
    log: int | None = None
    fill_in: bool = False

    def __post_init__(self) -> None:
        if self.word is not None and not WORD.fullmatch(self.word):
            raise ValueError(f"{self.code}: a word of a brief may not look like this: {self.word!r}")
        if self.quantity is not None and self.quantity.source is not None:
            raise ValueError(f"{self.code}: a quantity of a brief may not name its source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What one task asks of a machine. ``logs`` is how many logs it was taken from."""

    SCHEMA: ClassVar[str] = "weighbridge.brief/1"

    items: tuple[BriefItem, ...]
    logs: int
