"""What an import did with each file it was given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from weighbridge.schema.run import Problem, Run, Scalar

FileState = Literal["imported", "already_there", "joined", "failed", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """One file: what it was taken for, the runs it gave, or why it gave none.

    ``reason`` is a sentence code with ``params`` for the states failed and unknown, and a note otherwise.
    """

    name: str
    state: FileState
    reader: str | None = None
    runs: tuple[str, ...] = ()
    reason: str | None = None
    params: dict[str, Scalar] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """Files in the order given and the runs that now stand in the workspace because of them."""

    SCHEMA: ClassVar[str] = "weighbridge.import/1"

    files: tuple[ImportedFile, ...]
    runs: tuple[Run, ...]
    workspace: str | None = None
    skipped_files: int = 0
