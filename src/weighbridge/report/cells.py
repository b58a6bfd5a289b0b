"""Text laid out in terminal cells, where a Chinese character takes two.

Chinese may break between any two characters but never before a closing mark; Latin words stay whole unless
one alone is wider than the line. Knows nothing of what the text says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from weighbridge.report.markup import one_line

if TYPE_CHECKING:
    from rich.text import Text

# Marks that may not begin a line, and marks that may not end one (GB/T 15834).
_CLOSING: Final = "\uff0c\u3002\u3001\uff1b\uff1a\uff1f\uff01\uff09\u300b\u3011\u201d\u2019\uff05"
_OPENING: Final = "\uff08\u300a\u3010\u201c\u2018"
# Where a long path or command may be cut.
_BREAK_AFTER: Final = ",/\\_-=&"
# A column keeps room for two Chinese characters.
LEAST_WIDTH: Final = 4
_PARTIAL: Final = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text of a table with its style (a rich style, or empty); made harmless and one line on the way in."""

    text: str
    style: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", one_line(self.text))


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is laid: ``width`` in cells or None for what it needs; ``keep`` is never made narrower."""

    align: Literal["left", "right"] = "left"
    width: int | None = None
    keep: bool = False


def cell_length(text: str) -> int:
    """Cells that a terminal gives the text."""
    from rich.cells import cell_len

    return cell_len(text)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _units(text: str) -> Iterator[str]:
    """Pieces that stay together: a Latin word, a Chinese character with its marks, a space."""
    pending = ""
    for piece in re.findall(r"\s+|[^\s]", text):
        if piece.isspace():
            if pending:
                yield pending
            pending = ""
            yield " "
            continue
        glue = (
            not pending
            or piece in _CLOSING
            or pending[-1] in _OPENING
            or not (_is_wide(piece) or _is_wide(pending[-1]) or piece in _OPENING)
        )
        if glue:
            pending += piece
        else:
            yield pending
            pending = piece
    if pending:
        yield pending


def _chop(unit: str, width: int) -> Iterator[str]:
    """Cut a word that is wider than a line, after a separator where one is near (paths, commands)."""
    part = ""
    for character in unit:
        if part and cell_length(part + character) > width:
            near = max(part.rfind(mark) for mark in _BREAK_AFTER) + 1
            cut = near if near > len(part) // 2 else len(part)
            yield part[:cut]
            part = part[cut:]
        part += character
    if part:
        yield part


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` cells (2 at least, so that one Chinese character fits)."""
    width = max(width, 2)
    lines = [""]
    for unit in _units(text):
        if cell_length(lines[-1]) + cell_length(unit) <= width:
            if unit != " " or lines[-1]:
                lines[-1] += unit
            continue
        if unit == " ":
            lines.append("")
            continue
        lines[-1] = lines[-1].rstrip()
        if cell_length(unit) <= width:
            lines.append(unit)
        else:
            lines.extend(_chop(unit, width))
    return [line.rstrip() for line in lines if line.strip()] or [""]


def pad(text: str, width: int, align: str = "left") -> str:
    """The text filled with spaces to ``width`` cells."""
    space = " " * max(width - cell_length(text), 0)
    return space + text if align == "right" else text + space


def column_widths(
    rows: Sequence[Sequence[Cell]], columns: Sequence[Column], width: int, gap: int
) -> list[int]:
    """What each column needs; where that is too much, the widest give way first, those to keep never."""
    widths = [
        column.width
        if column.width is not None
        else max((cell_length(row[index].text) for row in rows), default=0)
        for index, column in enumerate(columns)
    ]
    yielding = [index for index, column in enumerate(columns) if not column.keep and column.width is None]
    over = sum(widths) + gap * (len(columns) - 1) - width
    while over > 0 and yielding:
        widest = max(yielding, key=lambda index: widths[index])
        if widths[widest] <= LEAST_WIDTH:
            break
        widths[widest] -= 1
        over -= 1
    return widths


def table_rows(
    rows: Sequence[Sequence[Cell]], columns: Sequence[Column], width: int, *, indent: int = 2, gap: int = 2
) -> list[list[Text]]:
    """The lines of each row; a cell that does not fit goes on under itself."""
    widths = column_widths(rows, columns, width - indent, gap)
    return [_row(row, columns, widths, indent, gap) for row in rows]


def _row(
    row: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], indent: int, gap: int
) -> list[Text]:
    from rich.text import Text

    wrapped = [wrap(cell.text, widths[index]) for index, cell in enumerate(row)]
    lines = []
    for number in range(max(len(parts) for parts in wrapped)):
        line = Text(" " * indent)
        for index, parts in enumerate(wrapped):
            text = parts[number] if number < len(parts) else ""
            line.append(pad(text, widths[index], columns[index].align), style=row[index].style)
            line.append(" " * gap if index < len(row) - 1 else "")
        line.rstrip()
        lines.append(line)
    return lines


def table(
    rows: Sequence[Sequence[Cell]], columns: Sequence[Column], width: int, *, indent: int = 2, gap: int = 2
) -> list[Text]:
    """All rows as lines."""
    return [line for lines in table_rows(rows, columns, width, indent=indent, gap=gap) for line in lines]


def paragraph(text: str, width: int, *, style: str = "", first: str = "", indent: int = 0) -> list[Text]:
    """A sentence with a mark in front; further lines hang under its first word."""
    from rich.text import Text

    hang = indent + cell_length(first)
    lines = []
    for number, part in enumerate(wrap(one_line(text), width - hang)):
        line = Text(" " * indent + first if number == 0 else " " * hang)
        line.append(part, style=style)
        lines.append(line)
    return lines


def bar(share: float, width: int, *, unattributed: bool = False, blocks: bool = True) -> str:
    """A bar of ``share`` (0..1) of ``width`` cells; what nobody accounts for is shaded, not solid."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0 and eighths == 0:
        eighths = 1
    whole, rest = divmod(eighths, 8)
    if not blocks or unattributed:
        filled = whole + (1 if rest >= 4 or whole == 0 < rest else 0)
        return (("\u2591" if blocks else ".") if unattributed else "#") * filled
    return "\u2588" * whole + (_PARTIAL[rest] if rest else "")
