"""Read a fixture or a public log of a language-model or GPU-sample reader; its pieces as plain rows."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weighbridge.readers.base import Events, Facts, Reader, Samples, Steps
from weighbridge.readers.text import read_head
from weighbridge.schema.event import Event
from weighbridge.schema.run import Problem

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass
class Pieces:
    """Everything one file gave, in its order."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows or self.samples]

    def known(self, name: str) -> list[Any]:
        return [value for value in self.column(name) if value is not None]

    def median(self, name: str) -> float:
        return statistics.median(self.known(name))

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]

    def detail(self, name: str) -> Any:
        return self.facts.get(f"details.{name}")

    @property
    def trouble(self) -> dict[str, int]:
        return {problem.code.rpartition(".")[2]: problem.count for problem in self.problems}


def read(reader: Reader, data: bytes, name: str = "log.txt") -> Pieces:
    pieces = Pieces()
    for piece in reader.read(io.BytesIO(data), name):
        match piece:
            case Steps() | Samples():
                target = pieces.rows if isinstance(piece, Steps) else pieces.samples
                names, columns = list(piece.columns), list(piece.columns.values())
                target += [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
            case Events():
                pieces.events += piece.events
            case Facts():
                pieces.facts |= {key: value for key, value in piece.values.items() if value is not None}
            case Problem():
                pieces.problems.append(piece)
    return pieces


def data_of(reader: Reader, name: str) -> bytes:
    (path,) = (FIXTURES / reader.name).rglob(f"{name}.*")
    return path.read_bytes()


def fixture(reader: Reader, name: str) -> Pieces:
    return read(reader, data_of(reader, name), name)


def sniff(reader: Reader, data: bytes, name: str = "log.txt") -> float:
    return reader.sniff(read_head(io.BytesIO(data), name))


def public(shared: Path, reader: Reader, log_format: str) -> Iterator[tuple[str, dict[str, Any], Pieces]]:
    """Name, facts (the core vocabulary among them) and pieces of every public log of a format."""
    with (shared / "logs" / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            path = shared / "logs" / row["file"]
            if row["format"] == log_format and path.is_file():
                facts = json.loads(row["facts"]) | json.loads(row["core"] or "{}")
                yield row["file"], facts, read(reader, path.read_bytes(), row["file"])


def hold(name: str, facts: dict[str, Any], found: dict[str, Callable[[], Any]]) -> set[str]:
    """Compare every fact that ``found`` can compute: numbers within 1 per cent or their last printed digit,
    counts and everything else exactly. Returns the facts that were compared."""
    compared = set(facts) & set(found)
    for key in compared:
        expected, value = facts[key], found[key]()
        if isinstance(expected, float):
            digits = len(repr(expected).partition(".")[2]) if "e" not in repr(expected) else 0
            allowed = max(0.01 * abs(expected), 0.51 * 10.0**-digits)
            assert value is not None, (name, key)
            assert abs(value - expected) <= allowed, (name, key, value, expected)
        else:
            assert value == expected, (name, key, value, expected)
    return compared
