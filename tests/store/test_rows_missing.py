"""A run that lost rows after it was closed is refused, never answered from what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from weighbridge.errors import WorkspaceError
from weighbridge.schema.run import Run
from weighbridge.store import Workspace


def test_a_table_that_is_gone_is_told_instead_of_an_empty_answer(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "workspace")
    writer = workspace.writer()
    writer.steps({"phase": ["train"] * 3, "step_seconds": [1.0, 2.0, 3.0]}, 3)
    run, _ = writer.close(Run(id="a"))
    (table,) = (workspace.root / "runs" / run.id).rglob("steps-*.parquet")
    table.unlink()
    with workspace.open(run.id) as view, pytest.raises(WorkspaceError) as caught:
        view.windows()
    assert caught.value.code == "store.rows_missing"
    assert (caught.value.params["stated"], caught.value.params["found"]) == (3, 0)
