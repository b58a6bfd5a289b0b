"""Reports made from a run that really lies in a workspace, diagnosed as a user's would be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pages
import pytest

from weighbridge.diagnose import diagnose
from weighbridge.report.brief import brief_from, brief_page
from weighbridge.report.html import diagnosis_page
from weighbridge.report.sections.material import POINTS, gather
from weighbridge.report.terminal import diagnosis_lines
from weighbridge.schema.event import Event
from weighbridge.schema.run import Hardware, Run, Source
from weighbridge.store import RunView, Workspace

ROWS = 5000


@pytest.fixture
def view(tmp_path: Path) -> Iterator[RunView]:
    """5000 steps of one second, of which 0.6 s are waiting, with two GPUs sampled beside them."""
    workspace = Workspace.create(tmp_path / "workspace")
    with workspace.writer() as writer:
        writer.steps(
            {
                "phase": ["train"] * ROWS,
                "step": list(range(1, ROWS + 1)),
                "steps": [1] * ROWS,
                "at_seconds": [1000.0 + index for index in range(ROWS)],
                "step_seconds": [1.0 if index % 100 else 2.0 for index in range(ROWS)],
                "data_wait_seconds": [0.6 if index % 100 else 1.6 for index in range(ROWS)],
                "allocated_bytes": [2.0**33] * ROWS,
                "source": [0] * ROWS,
                "line": list(range(1, ROWS + 1)),
            },
            ROWS,
        )
        writer.samples(
            {
                "at_seconds": [1000.0 + index // 2 for index in range(ROWS)],
                "device": [index % 2 for index in range(ROWS)],
                "gpu_busy_share": [0.4 if index % 2 else 0.0 for index in range(ROWS)],
            },
            ROWS,
        )
        writer.events([Event(kind="checkpoint", step=2500, at_seconds=3500.0)])
        run, _ = writer.close(
            Run(
                id="run-1",
                sources=(Source(name="secret-project/train.log", reader="toy"),),
                clock="utc",
                hardware=Hardware(gpu_name="NVIDIA L40", gpus=2),
                train_rows=ROWS,
                sample_rows=ROWS,
                answerable=("step_time", "data_wait", "compute", "allocated_memory", "gpu_busy"),
            )
        )
    with workspace.open(run.id) as opened:
        yield opened


def test_a_series_comes_bounded_and_keeps_its_peaks(view: RunView) -> None:
    material = gather(1, view.run, diagnose(view), view)

    assert len(material.step["wide"]) <= POINTS["wide"]
    assert len(material.step["narrow"]) <= POINTS["narrow"]
    assert {point.high for point in material.step["wide"] if point.high > 1} == {2.0}
    assert list(material.busy) == [0, 1]
    assert [use.gpu_busy_share for use in material.devices] == [0.0, pytest.approx(0.4)]


def test_the_page_draws_what_the_store_holds(view: RunView) -> None:
    text = diagnosis_page([(view.run, diagnose(view), view)], language="en")
    page = pages.read(text)

    titles = [element.text for element in page.all("title") if element.language == "en"]
    assert "Step time over the run" in titles
    assert "How busy each GPU was" in titles
    assert len(text.encode()) < 300_000


def test_the_terminal_names_the_cause_and_the_place(view: RunView) -> None:
    text = "\n".join(line.plain for line in diagnosis_lines(diagnose(view), view.run, "en", width=120))

    assert "[Waiting for data]" in text
    assert "secret-project/train.log:1-5000" in text


def test_the_brief_does_not_name_the_project(view: RunView) -> None:
    brief = brief_from(view.run, diagnose(view), view)

    assert "secret" not in brief_page([brief], "zh")
    assert {item.code for item in brief.items if item.quantity and item.quantity.value} >= {
        "memory_allocated", "step_seconds", "data_wait_share", "gpus",
    }  # fmt: skip
