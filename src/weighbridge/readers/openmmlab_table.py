"""The fast way through an OpenMMLab text log: a block of lines parsed at once into columns.

Takes in rows of the usual form only, and says None where it may have seen less than there is; the caller then
goes line by line. Written for speed: numbers leave the pattern as text of a whole column and become numbers
in one call. Knows nothing of runs, events or clocks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from operator import ne
from typing import Any, Final

import msgspec

from weighbridge.readers.text import Block
from weighbridge.units import MIB

# One line of a block: a row (three groups), or anything else (the fourth). Loops run over single characters
# that are not in the row before the next literal and never step back, which is what makes it fast. So they
# may run past the end of a line, a group may hold anything, and a row may swallow a second one that is glued
# to it: ``read_table`` counts lines and brackets, and the groups have to read as numbers.
_ROW_OR_LINE: Final = re.compile(
    rb"(.{5,10} ..:..:..(?:,...)?) -(?:[^-]*+-)? INFO - "
    rb"([EI][pt][^\[]*+\[[^\]]*+(?:\]\[[^\]]*+)?)\][^t]*+ta: [^t]*+"
    rb"time: ([^d]*+data_time: [0-9.]++(?:,? ++memory: [0-9]++)?)(?=[ ,\n]).*+\n"
    rb"|(.++\n?|\n)"
)
_GROUPS: Final = 4
# A larger figure is damage; the product of two counts has to fit into the record.
LARGEST_COUNT: Final = 10**9

# "Epoch(train)  [1][ 50/900" becomes "1,1,50,900", "Iter(val) [50/79" becomes "21,50,79": the kind of row is
# written in digits, one for E or I and one for the v of val or the s of test.
_PROGRESS: Final = bytes.maketrans(b"EIvs[/", b"1212,,")
_PROGRESS_DROPPED: Final = b"pochterainl() ]"
_EPOCH_KINDS: Final = {1, 11, 12}
_ITERATION_KINDS: Final = {2, 21, 22}
EVALUATION_BY_KIND: Final = {1: False, 11: True, 12: True, 2: False, 21: True, 22: True}
# "0.41  data_time: 0.14  memory: 5939" becomes "0.41,0.14,5939": d and y occur once each in what must go.
_MEASURED: Final = bytes.maketrans(b"dy", b",,")
_MEASURED_DROPPED: Final = b"atime_: mor,"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows column-wise; ``lines`` are their line numbers, ``others`` the lines that are no rows.

    ``kinds`` are the keys of EVALUATION_BY_KIND; ``epochs`` is None where rows name no epoch;
    ``allocated_bytes`` is None throughout where memory is not logged.
    """

    stamps: Sequence[bytes]
    kinds: list[int]
    epochs: list[int] | None
    iterations: list[int]
    totals: list[int]
    step_seconds: Sequence[float | None]
    data_wait_seconds: Sequence[float | None]
    allocated_bytes: Sequence[float | None]
    lines: list[int]
    others: Others

    def parts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Begin and end of the rows between ``begin`` and ``end`` that share kind, epoch and total."""
        columns = [self.kinds, self.totals] if self.epochs is None else [self.kinds, self.totals, self.epochs]
        columns = [column[begin:end] for column in columns]
        if all(column.count(column[0]) == end - begin for column in columns):
            yield begin, end
            return
        changes = zip(*(map(ne, column[1:], column) for column in columns), strict=True)
        yield from pairwise([begin, *compress(range(begin + 1, end), map(any, changes)), end])


class Others:
    """The lines of a block that are no rows, with their numbers; finds words in all of them at once."""

    def __init__(self, numbers: list[int], lines: list[bytes], text: bytes) -> None:
        self._numbers = numbers
        self._lines = lines
        self._text = text
        self._ends = list(accumulate(map(len, lines)))

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return zip(self._numbers, self._lines, strict=True)

    def hold(self, words: Iterable[bytes]) -> bool:
        return any(word in self._text for word in words)

    def holding(self, words: Iterable[bytes]) -> list[tuple[int, bytes]]:
        """Those that hold one of the words, in their order."""
        found: set[int] = set()
        for word in words:
            at = self._text.find(word)
            while at >= 0:
                index = bisect_right(self._ends, at)
                found.add(index)
                at = self._text.find(word, self._ends[index])
        return [(self._numbers[index], self._lines[index]) for index in sorted(found)]


def read_table(block: Block) -> Table | None:
    """The block as a table, or None: no row in it, or something that the pattern may have misread."""
    text = block.data
    if b"\r" in text:
        return None
    # Splitting gives the groups of all lines in one flat list, without a tuple per line.
    parts = _ROW_OR_LINE.split(text)
    stamps, progress, numbers, others = (parts[group :: _GROUPS + 1] for group in range(1, _GROUPS + 1))
    if len(others) != block.last_line - block.first_line + 1 or not any(stamps):
        return None
    lines = range(block.first_line, block.last_line + 1)
    other_lines = list(compress(others, others))
    rest = b"".join(other_lines)
    steps = b"/".join(compress(progress, stamps))
    # One more bracket than rows have before their iteration may be a second record in the tail of a row.
    if text.count(b"[") != steps.count(b"[") + rest.count(b"["):
        return None
    row_stamps = list(compress(stamps, stamps))
    try:
        kinds, epochs, iterations, totals = _progress(steps, len(row_stamps))
        seconds, waits, memory = _measured(list(compress(numbers, stamps)))
    except ValueError:
        return None
    return Table(
        stamps=row_stamps,
        kinds=kinds,
        epochs=epochs,
        iterations=iterations,
        totals=totals,
        step_seconds=seconds,
        data_wait_seconds=waits,
        allocated_bytes=memory,
        lines=list(compress(lines, stamps)),
        others=Others(list(compress(lines, others)), other_lines, rest),
    )


def _progress(text: bytes, rows: int) -> tuple[list[int], list[int] | None, list[int], list[int]]:
    """Kinds, epochs, iterations and totals of "Epoch [1][50/900/Epoch [1][100/900". Raises ValueError."""
    numbers: list[int] = _decode(text.translate(_PROGRESS, _PROGRESS_DROPPED), list[int])
    if max(numbers) >= LARGEST_COUNT:
        raise ValueError(max(numbers))
    if len(numbers) == 4 * rows and set(numbers[::4]) <= _EPOCH_KINDS:
        return numbers[::4], numbers[1::4], numbers[2::4], numbers[3::4]
    if len(numbers) == 3 * rows and set(numbers[::3]) <= _ITERATION_KINDS:
        return numbers[::3], None, numbers[1::3], numbers[2::3]
    raise ValueError(len(numbers))


def _measured(column: Sequence[bytes]) -> tuple[Sequence[float | None], ...]:
    """Times, waits and memory of texts like "0.41, data_time: 0.14, memory: 5939". Raises ValueError."""
    text = b"d".join(column)
    numbers: list[float] = _decode(text.translate(_MEASURED, _MEASURED_DROPPED), list[float])
    if max(numbers) >= LARGEST_COUNT:
        raise ValueError(max(numbers))
    with_memory = text.count(b"y")
    if with_memory == 0 and len(numbers) == 2 * len(column):
        return numbers[::2], numbers[1::2], [None] * len(column)
    if with_memory != len(column) or len(numbers) != 3 * len(column):
        raise ValueError(with_memory)
    return numbers[::3], numbers[1::3], list(map(float(MIB).__mul__, numbers[2::3]))


def _decode(numbers: bytes, form: Any) -> Any:
    """Numbers between commas, correctly rounded, five times faster than one call each."""
    return msgspec.json.decode(b"[%s]" % numbers, type=form)
