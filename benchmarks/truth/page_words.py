"""Words and numbers of the validation page: one language's texts, cells and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Words:
    """One language; an unknown key is shown as it is, in code."""

    language: str
    texts: dict[str, dict[str, str]]

    def __call__(self, key: str, **values: object) -> str:
        return self.texts[key][self.language].format(**values)

    def missing(self, codes: str) -> str:
        known = [
            self(f"m.{code}") if f"m.{code}" in self.texts else f"`{code}`" for code in codes.split(", ")
        ]
        return self("and").join(known)


def words_file() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((HERE / "page_words.json").read_text(encoding="utf-8"))
    return found


def table(headings: Row, rows: Sequence[Row]) -> list[str]:
    cells = [list(headings), *[list(row) for row in rows]]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|" + "---|" * len(headings), *lines[1:]]


def share(value: float | None) -> str:
    return "\u2013" if value is None else f"{value * 100:.1f} %"


def signed(value: float | None) -> str:
    return "\u2013" if value is None else f"{value * 100:+.1f} %".replace("-", "\u2212")


def both(values: Sequence[float | None] | None) -> str:
    return "\u2013" if values is None or values[0] is None else f"{share(values[0])} / {share(values[1])}"
