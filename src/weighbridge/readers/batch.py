"""Rows into the column batches that readers yield: a cell that a row does not name is unknown (None).

Knows neither a format nor the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weighbridge.readers.base import Samples, Steps
from weighbridge.schema.columns import Cell

BATCH_ROWS: Final = 4096


class Batch:
    """A fixed set of columns that fills up row by row and is handed on when it is ``full``."""

    def __init__(self, names: Sequence[str], size: int = BATCH_ROWS) -> None:
        self._columns: dict[str, list[Cell]] = {name: [] for name in names}
        self._size = size
        self.rows = 0
        # Rows ever added, those handed on included.
        self.total = 0

    def add(self, cells: Mapping[str, Cell]) -> None:
        for name, column in self._columns.items():
            column.append(cells.get(name))
        self.rows += 1
        self.total += 1

    @property
    def full(self) -> bool:
        return self.rows >= self._size

    def steps(self, *, rest: bool = False) -> Iterator[Steps]:
        """The batch as Steps if it is full, or whatever it holds when ``rest`` is asked for."""
        if self.full or (rest and self.rows):
            rows = self.rows
            yield Steps(self._take(), rows)

    def samples(self, *, rest: bool = False) -> Iterator[Samples]:
        """The batch as Samples if it is full, or whatever it holds when ``rest`` is asked for."""
        if self.full or (rest and self.rows):
            rows = self.rows
            yield Samples(self._take(), rows)

    def _take(self) -> dict[str, list[Cell]]:
        taken = self._columns
        self._columns = {name: [] for name in taken}
        self.rows = 0
        return taken
