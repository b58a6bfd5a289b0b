"""Build small runs in a real store, so that diagnose is tested on what it will meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weighbridge.schema.event import Event
from weighbridge.schema.run import Run, Source
from weighbridge.store import RunView, Workspace

Build = Callable[..., RunView]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """``build(steps={column: values}, samples=..., events=..., **run fields) -> open view``."""
    workspace = Workspace.create(tmp_path / "workspace")
    views: list[RunView] = []

    def make(
        steps: dict[str, Sequence[Any]] | None = None,
        samples: dict[str, Sequence[Any]] | None = None,
        events: Sequence[Event] = (),
        **fields: Any,
    ) -> RunView:
        writer = workspace.writer()
        if steps:
            rows = max(len(values) for values in steps.values())
            defaults = {"phase": ["train"] * rows, "segment": [0] * rows, "source": [0] * rows}
            lines = {"line": list(range(1, rows + 1)), "steps": [50] * rows}
            writer.steps({**defaults, **lines, **steps}, rows)
        if samples:
            writer.samples(samples, len(next(iter(samples.values()))))
        writer.events(list(events))
        run = Run(id=f"run-{len(views)}", sources=(Source(name="train.log", reader="test"),))
        closed, _ = writer.close(replace(run, **fields))
        views.append(workspace.open(closed.id))
        return views[-1]

    yield make
    for view in views:
        view.close()
