"""Read a fixture or a public log with one reader and hold what came out as plain rows, run by run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weighbridge.readers.base import Events, Facts, Reader, RunStart, Steps
from weighbridge.schema.event import Event
from weighbridge.schema.run import Problem

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass
class ReadRun:
    """One run of a source."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def column(self, name: str, phase: str | None = None) -> list[Any]:
        return [row.get(name) for row in self.rows if phase in (None, row["phase"])]

    def printed(self, name: str) -> list[float]:
        """What the log printed: the printed column where the figure was derived, else the figure."""
        values = [
            row.get(name) if row.get(f"printed_{name}") is None else row[f"printed_{name}"]
            for row in self.rows
        ]
        return [value for value in values if value is not None]

    def event_seconds(self, kind: str) -> list[float | None]:
        return [event.seconds for event in self.events if event.kind == kind]

    @property
    def trouble(self) -> dict[str, int]:
        return {problem.code.rpartition(".")[2]: problem.count for problem in self.problems}


def read_all(reader: Reader, data: bytes, name: str = "log.txt") -> list[ReadRun]:
    runs = [ReadRun()]
    for piece in reader.read(io.BytesIO(data), name):
        match piece:
            case RunStart():
                runs.append(ReadRun())
            case Steps():
                names = list(piece.columns)
                values = zip(*piece.columns.values(), strict=True)
                runs[-1].rows += [dict(zip(names, row, strict=True)) for row in values]
            case Events():
                runs[-1].events += piece.events
            case Facts():
                runs[-1].facts |= piece.values
            case Problem():
                runs[-1].problems.append(piece)
    return runs


def fixture(reader: Reader, name: str) -> ReadRun:
    """The only run of a fixture of this reader."""
    (run,) = fixture_runs(reader, name)
    return run


def fixture_runs(reader: Reader, name: str) -> list[ReadRun]:
    (path,) = (FIXTURES / reader.name).glob(f"{name}.*")
    return read_all(reader, path.read_bytes(), path.name)


def public_logs(shared: Path, log_format: str) -> Iterator[tuple[dict[str, Any], Path]]:
    """(facts with core, path) of every public log of a format."""
    with (shared / "logs" / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        for entry in csv.DictReader(file):
            if entry["format"] == log_format:
                facts = json.loads(entry["facts"]) | {"core": json.loads(entry["core"])}
                yield facts, shared / "logs" / entry["file"]


def together(runs: list[ReadRun]) -> ReadRun:
    """All rows of a file as if it were one run."""
    return ReadRun(
        rows=[row for run in runs for row in run.rows],
        events=[event for run in runs for event in run.events],
    )
