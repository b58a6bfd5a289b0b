"""What goes into a run comes out again, and what close says of the whole."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from store.conftest import Store, files_no_larger_than
from weighbridge.errors import InputError, WorkspaceError
from weighbridge.schema.columns import SAMPLE_COLUMNS, STEP_COLUMNS, Cell, Column
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run, Source
from weighbridge.store import RunView, Workspace, files, spool

AWKWARD = 'it\'s "A100"\\\n\u4e2d\u6587 \U0001f600'
VALUES: dict[str, list[Cell]] = {
    "BIGINT": [2**63 - 1, None, -(2**63), 0],
    "DOUBLE": [0.1, None, -1.7976931348623157e308, 5e-324],
    "VARCHAR": [AWKWARD, None, "", "0x0000000000000004"],
}


def table(columns: tuple[Column, ...]) -> dict[str, list[Cell]]:
    """Four rows that differ in every column, with one unknown in each."""
    return {column.name: list(VALUES[column.type]) for column in columns}


def parquet(workspace: Workspace, run_id: str, name: str) -> dict[str, list[Cell]]:
    """A table as any other program reads it from disk."""
    with duckdb.connect() as connection:
        pattern = workspace.root / "runs" / run_id / "part=*" / f"{name}-*.parquet"
        rows = connection.execute(
            f"SELECT * EXCLUDE (part) FROM read_parquet('{pattern}') ORDER BY row"
        ).fetchall()
        names = [column[0] for column in connection.description or ()]
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def files_of(workspace: Workspace) -> list[str]:
    paths = workspace.root.rglob("*")
    return sorted(path.relative_to(workspace.root).as_posix() for path in paths if path.is_file())


def test_every_step_column_comes_back_with_its_unknown_values(view_of: Callable[..., RunView]) -> None:
    written = table(STEP_COLUMNS) | {"phase": ["train"] * 4}
    windows = view_of(**written).windows()
    assert windows.pop("line_first") == written["line"]
    assert windows == written


def test_every_sample_column_comes_back_with_its_unknown_values(workspace: Workspace, store: Store) -> None:
    written = table(SAMPLE_COLUMNS)
    store("r", samples=written)
    assert parquet(workspace, "r", "samples") == {"row": [0, 1, 2, 3], **written}


def test_events_come_back_in_order_and_by_kind(view_of: Callable[..., RunView]) -> None:
    events = [
        Event(kind="start", at_seconds=1.5),
        Event(kind="epoch", epoch=1.0, seconds=20.25, step=7, rank=3, source=1, line=44),
        Event(kind="checkpoint", elapsed_seconds=9.0),
        Event(kind="epoch", epoch=2.0),
    ]
    view = view_of(events=events)
    assert view.run.event_rows == 4
    assert view.events() == events
    assert view.events({"epoch"}) == [events[1], events[3]]
    assert view.events(limit=2) == events[:2]
    assert view.events(["epoch"], limit=1) == [events[1]]


def test_rows_keep_their_order_over_many_batches_and_files(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TURNOVER_BYTES", 20_000), ("_BUFFER_BYTES", 1000), ("BATCH_ROWS", 100)):
        monkeypatch.setattr(spool, name, value)
    numbers = random.Random(1).choices(range(10**9), k=9000)
    with workspace.writer() as writer:
        for start in range(0, 9000, 450):
            writer.steps({"step": numbers[start : start + 450]}, 450)
        writer.close(Run(id="long"))
    found = parquet(workspace, "long", "steps")
    assert found["row"] == list(range(9000))
    assert found["step"] == numbers
    assert len([name for name in files_of(workspace) if "/steps-" in name]) > 3
    with workspace.open("long") as view:
        assert view.windows()["step"] == numbers


def test_columns_may_come_and_go_between_batches(workspace: Workspace) -> None:
    with workspace.writer() as writer:
        writer.steps({"step": [1, 2]}, 2)
        writer.steps({"allocated_bytes": [5.0], "phase": ["evaluation"]}, 1)
        writer.steps({"phase": [None], "step": [3]}, 1)
        writer.close(Run(id="r"))
    found = parquet(workspace, "r", "steps")
    assert found["phase"] == ["train", "train", "evaluation", "train"]
    assert found["step"] == [1, 2, None, 3]
    assert found["allocated_bytes"] == [None, None, 5.0, None]


def test_nan_and_infinity_are_unknown(view_of: Callable[..., RunView]) -> None:
    windows = view_of(step_seconds=[1.0, float("nan"), float("inf"), float("-inf"), 10**400]).windows()
    assert windows["step_seconds"] == [1.0, None, None, None, None]


def test_values_that_fit_no_column_are_unknown_and_counted(view_of: Callable[..., RunView]) -> None:
    view = view_of(step=[1, 2**63, 3], line=[10**40, 5, 6], step_seconds=["fast", 0.5, 1.0])
    windows = view.windows()
    assert windows["step"] == [1, None, 3]
    assert windows["line"] == [None, 5, 6]
    assert windows["step_seconds"] == [None, 0.5, 1.0]
    assert [(problem.code, problem.count) for problem in view.run.problems] == [("store.unusable_values", 3)]


def test_text_that_is_no_utf_8_does_not_stop_the_import(workspace: Workspace, store: Store) -> None:
    store("r", samples={"host": ["\udcc4\udce3-7", "node"], "device": [0, 1]})
    assert parquet(workspace, "r", "samples")["host"] == ["??-7", "node"]


def test_a_file_name_that_is_no_utf_8_can_be_stored(workspace: Workspace, store: Store) -> None:
    store(Run(id="r", sources=(Source(name="\udcc4\udce3.log", reader="mmengine"),)))
    assert workspace.open("r").run.sources[0].name == "??.log"


@pytest.mark.parametrize("columns", [{"stride": [1, 2]}, {"step": [1]}])
def test_a_mistake_of_the_caller_is_raised_at_once(
    workspace: Workspace, columns: dict[str, list[Cell]]
) -> None:
    with workspace.writer() as writer, pytest.raises(ValueError, match=next(iter(columns))):
        writer.steps(columns, 2)


def test_close_counts_rows_restarts_and_repeated_steps(store: Store) -> None:
    # rank 0: 1 2 3 | 2 3 4, rank 1: 1 2 3 | 3; steps 2, 3 of rank 0 and 3 of rank 1 came twice.
    run = store(
        rank=[0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0],
        step=[1, 2, 1, 3, 2, 3, 2, 3, 4, 3, 3],
        segment=[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        phase=["train"] * 10 + ["evaluation"],
        samples={"device": [0, 1, 0]},
        events=[Event(kind="restart")],
    )
    assert (run.train_rows, run.evaluation_rows, run.sample_rows, run.event_rows) == (10, 1, 3, 1)
    assert (run.segments, run.duplicate_steps) == (2, 3)


def test_steps_without_a_number_are_never_repeated(store: Store) -> None:
    run = store(step=[None, None, None], segment=[None, None, None])
    assert (run.train_rows, run.segments, run.duplicate_steps) == (3, 1, 0)


def test_repeated_steps_are_counted_piece_by_piece_as_in_one_go(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weighbridge.store.closing._ROWS_AT_ONCE", 7)
    steps = [random.Random(4).randrange(-50, 50) for _ in range(3)] + random.Random(5).choices(
        range(400), k=300
    )
    assert store(step=steps).duplicate_steps == len(steps) - len(set(steps))


def test_begin_and_end_come_from_rows_and_events_unless_the_run_says_them(store: Store) -> None:
    rows = {"at_seconds": [110.0, None, 120.0], "samples": {"at_seconds": [50.0, 500.0]}}
    events = [Event(kind="start", at_seconds=100.0)]
    run = store("a", events=events, **rows)
    assert (run.started_at_seconds, run.ended_at_seconds) == (100.0, 120.0)
    stated = store(Run(id="b", started_at_seconds=1.0, ended_at_seconds=2.0), **rows)
    assert (stated.started_at_seconds, stated.ended_at_seconds) == (1.0, 2.0)
    only_samples = store("c", samples={"at_seconds": [50.0, 500.0]})
    assert (only_samples.started_at_seconds, only_samples.ended_at_seconds) == (50.0, 500.0)
    unknown = store("d", step=[1])
    assert (unknown.started_at_seconds, unknown.ended_at_seconds) == (None, None)


@pytest.mark.parametrize(
    ("content", "answerable"),
    [
        ({"step": [1, 2]}, set()),
        ({"step_seconds": [None, 1.0]}, {"step_time"}),
        ({"step_seconds": [1.0], "phase": ["evaluation"]}, {"evaluation_time"}),
        ({"step_seconds": [1.0], "data_wait_seconds": [0.5]}, {"step_time", "data_wait", "compute"}),
        ({"at_seconds": [1.0, None]}, set()),
        ({"at_seconds": [1.0, 2.0]}, {"run_time"}),
        ({"elapsed_seconds": [1.0, 2.0]}, {"run_time"}),
        ({"elapsed_seconds": [1.0, 2.0], "epoch": [0.9, 1.1]}, {"run_time", "epoch_time"}),
        ({"elapsed_seconds": [1.0, 2.0], "epoch": [1.1, 1.9]}, {"run_time"}),
        ({"samples": {"gpu_busy_share": [0.5], "device_bytes": [1.0]}}, {"gpu_busy", "device_memory"}),
        ({"events": [Event(kind="epoch", seconds=3.0)]}, {"epoch_time"}),
        ({"events": [Event(kind="epoch"), Event(kind="epoch")]}, set()),
        ({"events": [Event(kind="epoch", elapsed_seconds=at) for at in (3, 7)]}, {"run_time", "epoch_time"}),
        ({"events": [Event(kind="evaluation", at_seconds=4.0)]}, set()),
        ({"events": [Event(kind="evaluation", seconds=4.0)]}, {"evaluation_time"}),
        ({"run": Run(id="r", stated_seconds=60.0)}, {"run_time"}),
    ],
)
def test_what_can_be_answered_follows_from_what_is_there(
    store: Store, content: dict[str, object], answerable: set[str]
) -> None:
    assert set(store(**content).answerable) == answerable


def test_a_run_without_any_row_can_be_stored_and_asked(view_of: Callable[..., RunView]) -> None:
    view = view_of("empty")
    assert view.windows()["step"] == []
    assert view.totals()["rows"] == 0
    assert view.totals()["step_seconds"] is None
    assert view.quantile("step_seconds", 0.5) is None
    assert view.maximum("allocated_bytes") is None
    assert (view.ranks(), view.events(), view.devices(), view.series("step", pixels=5)) == ([], [], [], [])


def test_the_same_id_is_stored_once_and_the_second_gets_the_first(workspace: Workspace, store: Store) -> None:
    first = store("same", step_seconds=[1.0])
    before = files_of(workspace)
    with workspace.writer() as writer:
        writer.steps({"step_seconds": [2.0]}, 1)
        assert writer.close(Run(id="same", name="second")) == (first, False)
    assert files_of(workspace) == before


def test_an_abandoned_run_leaves_nothing(workspace: Workspace) -> None:
    with workspace.writer() as writer:
        writer.steps({"step": [1]}, 1)
        writer.events([Event(kind="start")])
    assert files_of(workspace) == ["workspace.json"]
    assert list((workspace.root / "incoming").iterdir()) == []


@pytest.mark.parametrize("run_id", ["", "..", "a/b", ".hidden", "a\0b", "a\nb", "x" * 201, "con:1"])
def test_an_id_that_cannot_name_a_folder_is_refused(workspace: Workspace, run_id: str) -> None:
    with workspace.writer() as writer, pytest.raises(InputError) as caught:
        writer.close(Run(id=run_id))
    assert caught.value.code == "store.bad_run_id"
    assert files_of(workspace) == ["workspace.json"]


@pytest.mark.parametrize("folder", ["\u8bad\u7ec3 \u8bb0\u5f55", "a [b] c*d?e", "it's=1", "step=7/row=x"])
def test_any_folder_name_will_do(tmp_path: Path, folder: str) -> None:
    # A sibling that the wildcards would match as well must not be read.
    for name in (folder, folder.replace("[b]", "b").replace("*", "x").replace("?", "y")):
        workspace = Workspace.create(tmp_path / name)
        with workspace.writer() as writer:
            writer.steps({"step": [1, 2]}, 2)
            writer.close(Run(id="\u8fd0\u884c [1]"))
    with Workspace.create(tmp_path / folder).open("\u8fd0\u884c [1]") as view:
        assert view.windows()["step"] == [1, 2]


@pytest.mark.parametrize("largest_bytes", [0, 500, 20_000])
def test_a_full_disk_is_said_and_leaves_no_run(
    workspace: Workspace, store: Store, largest_bytes: int
) -> None:
    noise = [random.Random(row).random() for row in range(5000)]
    with files_no_larger_than(largest_bytes), pytest.raises(WorkspaceError) as caught:
        store("r", step_seconds=noise)
    assert caught.value.code == "store.disk_full"
    assert str(workspace.root) in str(caught.value.params["path"])
    assert files_of(workspace) == ["workspace.json"]
    assert list((workspace.root / "incoming").iterdir()) == []


def test_a_full_disk_while_parquet_is_written_is_said(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = [random.Random(row).random() for row in range(5000)]
    with workspace.writer() as writer:
        writer.steps({"step_seconds": noise}, len(noise))
        writer._steps._flush()
        with files_no_larger_than(20_000), pytest.raises(WorkspaceError) as caught:
            writer.close(Run(id="r"))
    assert caught.value.code == "store.disk_full"
    assert files_of(workspace) == ["workspace.json"]


def test_a_file_system_without_hard_links_still_stores_once(
    workspace: Workspace, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(files.os, "link", refuse)
    first = store("r", step_seconds=[1.0])
    assert workspace.runs() == [first]
    target = workspace.root / "runs" / "r" / "run.json"
    before = target.read_bytes()
    (workspace.root / "draft").write_bytes(b"{}")
    assert not files.put_if_absent(workspace.root / "draft", target)
    assert target.read_bytes() == before
