"""Small counters with bounded memory for readers: troubles by kind, and medians of long series."""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Iterator
from typing import Final

from weighbridge.schema.run import Problem, Scalar

MEDIAN_VALUES: Final = 1 << 16


class Troubles:
    """One Problem per kind of trouble, with the first line and a count, however many lines have it."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[int | None, dict[str, Scalar]]] = {}
        self._count: dict[str, int] = {}

    def add(self, code: str, line: int | None, **params: Scalar) -> None:
        self._first.setdefault(code, (line, params))
        self._count[code] = self._count.get(code, 0) + 1

    def problems(self) -> Iterator[Problem]:
        for code, (line, params) in self._first.items():
            yield Problem(code=code, line=line, count=self._count[code], params=params)


class Median:
    """The median of a series, exact up to MEDIAN_VALUES values, then of every second, fourth, ... value."""

    def __init__(self) -> None:
        self._values = array("d")
        self._stride = 1
        self._seen = 0

    def add(self, value: float) -> None:
        if self._seen % self._stride == 0:
            self._values.append(value)
            if len(self._values) >= MEDIAN_VALUES:
                self._values = self._values[::2]
                self._stride *= 2
        self._seen += 1

    @property
    def value(self) -> float | None:
        return statistics.median(self._values) if self._values else None
