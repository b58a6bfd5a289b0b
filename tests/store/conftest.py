"""Builders for the store's tests."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from weighbridge.schema.columns import Cell
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.store import RunView, Workspace

NOBODY = 65534


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace")


Store = Callable[..., Run]


@pytest.fixture
def store(workspace: Workspace) -> Store:
    """Store one run: step columns by keyword, ``samples`` and ``events`` beside them."""

    def build(
        run: Run | str = "run-1",
        *,
        samples: dict[str, Sequence[Cell]] | None = None,
        events: Sequence[Event] = (),
        **steps: Sequence[Cell],
    ) -> Run:
        with workspace.writer() as writer:
            if steps:
                writer.steps(steps, len(next(iter(steps.values()))))
            if samples:
                writer.samples(samples, len(next(iter(samples.values()))))
            if events:
                writer.events(events)
            return writer.close(Run(id=run) if isinstance(run, str) else run)[0]

    return build


@pytest.fixture
def view_of(workspace: Workspace, store: Store) -> Iterator[Callable[..., RunView]]:
    """Store a run as ``store`` does and open it."""
    views: list[RunView] = []

    def build(*args: object, **columns: object) -> RunView:
        views.append(workspace.open(store(*args, **columns).id))
        return views[-1]

    yield build
    for view in views:
        view.close()


@contextmanager
def without_write_permission(folder: Path) -> Iterator[None]:
    """A folder that this process may read only; root would be let through, so root steps down meanwhile."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in (folder.parent, *folder.parent.parents):
        if not os.access(parent, os.R_OK | os.X_OK) or parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o055)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def files_no_larger_than(largest_bytes: int) -> Iterator[None]:
    """What a full disk does, by the kernel's own limit: writing beyond it fails with an OSError."""
    if sys.platform == "win32":
        pytest.skip("no file size limit on this system")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
