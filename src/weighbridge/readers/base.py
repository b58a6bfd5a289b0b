"""What a reader is: the Protocol, the pieces it yields, and what it is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from weighbridge.readers.text import Head
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import Columns
from weighbridge.schema.event import Event
from weighbridge.schema.run import Problem, Scalar


@dataclass(frozen=True, slots=True)
class RunStart:
    """The source begins another run here. Rows, events and facts that follow belong to it.

    A reader yields one where the source starts from scratch again (a new header, or the first step again);
    a step number that merely goes back is a restart inside the run and needs nothing from the reader: the
    importer sees it in ``step``.
    """

    line: int | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """Rows of the steps table: equally long lists by the names of ``schema.columns.STEP_COLUMNS``.

    ``segment`` and ``source`` are filled in by the importer. ``rows`` is the common length.
    """

    columns: Columns
    rows: int


@dataclass(frozen=True, slots=True)
class Samples:
    """Rows of the samples table: equally long lists by the names of ``schema.columns.SAMPLE_COLUMNS``."""

    columns: Columns
    rows: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What the source says of the run as a whole.

    Keys are dotted paths into ``schema.run.Run``: "name", "clock", "step_statistic", "stated_seconds",
    "environment.torch", "hardware.gpu_name", "planned.epochs", "layout.micro_batch" and so on; a key under
    "details." keeps a fact in the source's own words. A later value of the same key replaces the earlier
    one; None replaces nothing.
    """

    values: dict[str, Scalar]


@dataclass(frozen=True, slots=True)
class Events:
    """Events in the order of the source; ``source`` is filled in by the importer."""

    events: tuple[Event, ...]


Piece = RunStart | Steps | Samples | Events | Facts | Problem


class Reader(Protocol):
    """One log format. ``name`` is stable (it is stored in records); the other attributes feed the docs page.

    ``looks_for`` is the code of the sentence that says which line or field the reader looks for: it is shown
    when no reader recognises a file. ``counts`` is the code of the sentence that says what one row of the
    source stands for. ``answers`` is what a typical file of this format supports.
    """

    name: str
    title: str
    looks_for: str
    counts: str
    answers: tuple[Answerable, ...]
    example: str

    def sniff(self, head: Head) -> float:
        """How sure the reader is that the file is its: 0 no, 0.5 plausible, 0.9 its own words are there."""

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        """Stream the pieces of the file. Never raises for bad content: yields Problem and goes on."""
