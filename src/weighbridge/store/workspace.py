"""Workspace: the folder that holds one team's records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weighbridge.schema.run import Run
from weighbridge.store.view import RunView
from weighbridge.store.writer import RunWriter


class Workspace:
    """A folder of closed runs and their sources."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> Workspace:
        raise NotImplementedError

    @classmethod
    def find(cls, explicit: Path | None, *, start: Path | None = None) -> Workspace | None:
        raise NotImplementedError

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator[Workspace]:
        raise NotImplementedError
        yield

    def runs(self) -> list[Run]:
        raise NotImplementedError

    def damaged(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def has(self, run_id: str) -> bool:
        raise NotImplementedError

    def resolve(self, text: str) -> str:
        raise NotImplementedError

    def open(self, run_id: str) -> RunView:
        raise NotImplementedError

    def writer(self) -> RunWriter:
        raise NotImplementedError

    def keep_source(self, path: Path) -> tuple[str, int]:
        raise NotImplementedError
