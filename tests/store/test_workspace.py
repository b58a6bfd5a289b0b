"""Finding a workspace, listing its runs, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from store.conftest import Store, files_no_larger_than, without_write_permission
from weighbridge.errors import InputError, WorkspaceError
from weighbridge.schema.run import Run
from weighbridge.store import Workspace


@pytest.fixture(autouse=True)
def _no_workspace_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEIGHBRIDGE_WORKSPACE", raising=False)


def test_creating_a_workspace_twice_changes_nothing(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "w")
    before = (tmp_path / "w" / "workspace.json").read_bytes()
    Workspace.create(tmp_path / "w")
    assert (tmp_path / "w" / "workspace.json").read_bytes() == before
    assert json.loads(before)["schema"] == "weighbridge.workspace/1"


def test_a_named_folder_goes_before_the_environment_and_that_before_the_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Workspace.create(tmp_path / "named").root
    environment = Workspace.create(tmp_path / "environment" / ".weighbridge").root
    parent = Workspace.create(tmp_path / "project" / ".weighbridge").root
    start = tmp_path / "project" / "logs" / "today"
    start.mkdir(parents=True)

    def found(explicit: Path | None) -> Path:
        workspace = Workspace.find(explicit, start=start)
        assert workspace is not None
        return workspace.root

    assert found(None) == parent
    monkeypatch.setenv("WEIGHBRIDGE_WORKSPACE", str(tmp_path / "environment"))
    assert found(None) == environment
    assert found(named) == named


def test_the_nearest_parent_wins(tmp_path: Path) -> None:
    Workspace.create(tmp_path / ".weighbridge")
    near = Workspace.create(tmp_path / "a" / ".weighbridge")
    (tmp_path / "a" / "b").mkdir()
    found = Workspace.find(None, start=tmp_path / "a" / "b")
    assert found is not None
    assert found.root == near.root


def test_nothing_is_found_where_there_is_no_workspace(tmp_path: Path) -> None:
    assert Workspace.find(None, start=tmp_path) is None


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_named_folder_that_is_no_workspace_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    if by_environment:
        monkeypatch.setenv("WEIGHBRIDGE_WORKSPACE", str(tmp_path))
    with pytest.raises(WorkspaceError) as caught:
        Workspace.find(None if by_environment else tmp_path)
    assert caught.value.code == "store.not_a_workspace"
    assert caught.value.params["path"] == str(tmp_path)


def test_a_workspace_of_a_newer_version_is_refused_by_every_door(tmp_path: Path) -> None:
    (tmp_path / ".weighbridge").mkdir()
    (tmp_path / ".weighbridge" / "workspace.json").write_text('{"schema": "weighbridge.workspace/2"}')
    doors = (
        lambda: Workspace.find(tmp_path),
        lambda: Workspace.find(None, start=tmp_path),
        lambda: Workspace.create(tmp_path / ".weighbridge"),
    )
    for door in doors:
        with pytest.raises(WorkspaceError) as caught:
            door()
        assert caught.value.code == "store.newer_workspace"
        assert (caught.value.params["found"], caught.value.params["known"]) == (2, 1)


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "weighbridge.run/1"}', '{"schema": '])
def test_a_damaged_workspace_file_is_said_and_not_overwritten(tmp_path: Path, content: str) -> None:
    (tmp_path / "workspace.json").write_text(content)
    with pytest.raises(WorkspaceError) as caught:
        Workspace.create(tmp_path)
    assert caught.value.code == "store.damaged_workspace"
    assert (tmp_path / "workspace.json").read_text() == content


def test_a_file_cannot_become_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("text")
    with pytest.raises(WorkspaceError) as caught:
        Workspace.create(tmp_path / "train.log")
    assert caught.value.code == "store.cannot_write"


def test_a_temporary_workspace_is_gone_afterwards() -> None:
    with Workspace.temporary() as workspace:
        with workspace.writer() as writer:
            writer.close(Run(id="only"))
        assert workspace.has("only")
    assert not workspace.root.exists()


def test_runs_are_listed_by_start_and_those_without_a_clock_last(workspace: Workspace, store: Store) -> None:
    for run_id, start in (("b", 200.0), ("none", None), ("a", 300.0), ("c", 100.0)):
        store(Run(id=run_id, started_at_seconds=start))
    assert [run.id for run in workspace.runs()] == ["c", "b", "a", "none"]


def test_a_damaged_run_is_listed_apart_and_does_not_hide_the_others(
    workspace: Workspace, store: Store
) -> None:
    for run_id in ("good", "cut", "newer", "renamed", "other"):
        store(run_id)
    runs = workspace.root / "runs"
    cut = runs / "cut" / "run.json"
    cut.write_bytes(cut.read_bytes()[:40])
    newer = runs / "newer" / "run.json"
    newer.write_text(newer.read_text().replace("weighbridge.run/1", "weighbridge.run/2"))
    (runs / "renamed").rename(runs / "moved")
    (runs / "other" / "run.json").write_bytes(b"\xff\x00")
    (runs / "not-closed").mkdir()
    (runs / "stray file").write_text("?")
    assert [run.id for run in workspace.runs()] == ["good"]
    assert [name for name, _ in workspace.damaged()] == ["cut", "moved", "newer", "other"]
    assert "weighbridge.run/2" in dict(workspace.damaged())["newer"]
    with pytest.raises(WorkspaceError) as caught:
        workspace.open("cut")
    assert caught.value.code == "store.damaged_run"


def test_a_run_is_named_by_id_by_the_beginning_of_its_id_or_by_its_name(
    workspace: Workspace, store: Store
) -> None:
    store(Run(id="resnet-1a", name="baseline"))
    store(Run(id="resnet-2b", name="wide"))
    store(Run(id="resnet-2", name="wide"))
    assert workspace.resolve("resnet-2") == "resnet-2"
    assert workspace.resolve("resnet-1") == "resnet-1a"
    assert workspace.resolve("baseline") == "resnet-1a"
    assert workspace.open("baseline").run.id == "resnet-1a"


@pytest.mark.parametrize(
    ("text", "code", "candidates"),
    [
        ("resnet", "store.ambiguous_run", ["resnet-1a", "resnet-2b"]),
        ("wide", "store.ambiguous_run", ["resnet-1a", "resnet-2b"]),
        ("vit", "store.no_such_run", ["resnet-1a", "resnet-2b"]),
        ("", "store.no_such_run", ["resnet-1a", "resnet-2b"]),
        ("../workspace.json", "store.no_such_run", ["resnet-1a", "resnet-2b"]),
    ],
)
def test_what_does_not_name_one_run_is_refused_with_the_candidates(
    workspace: Workspace, store: Store, text: str, code: str, candidates: list[str]
) -> None:
    for run_id in candidates:
        store(Run(id=run_id, name="wide"))
    with pytest.raises(InputError) as caught:
        workspace.resolve(text)
    assert caught.value.code == code
    assert caught.value.params["candidates"] == candidates


def test_in_an_empty_workspace_no_run_can_be_named(workspace: Workspace) -> None:
    assert workspace.runs() == []
    with pytest.raises(InputError) as caught:
        workspace.open("anything")
    assert caught.value.code == "store.no_runs"


def test_a_kept_source_is_the_same_bytes_once_under_their_hash(workspace: Workspace, tmp_path: Path) -> None:
    data = bytes(range(256)) * 9000
    digest = hashlib.sha256(data).hexdigest()
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(data)
        assert workspace.keep_source(tmp_path / name) == (digest, len(data))
    kept = [path for path in (workspace.root / "sources").rglob("*") if path.is_file()]
    assert [path.relative_to(workspace.root).as_posix() for path in kept] == [
        f"sources/{digest[:2]}/{digest}"
    ]
    assert kept[0].read_bytes() == data
    assert (tmp_path / "a.log").read_bytes() == data


def test_a_kept_source_that_was_cut_short_is_replaced(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"whole")
    digest, _ = workspace.keep_source(tmp_path / "a.log")
    kept = workspace.root / "sources" / digest[:2] / digest
    kept.chmod(0o644)
    kept.write_bytes(b"wh")
    workspace.keep_source(tmp_path / "a.log")
    assert kept.read_bytes() == b"whole"


def test_a_source_that_cannot_be_read_is_the_input_s_fault(workspace: Workspace, tmp_path: Path) -> None:
    for path in (tmp_path / "absent.log", tmp_path):
        with pytest.raises(InputError) as caught:
            workspace.keep_source(path)
        assert caught.value.code == "store.cannot_read_source"
        assert caught.value.params["path"] == str(path)
    assert list((workspace.root / "incoming").iterdir()) == []


def test_a_workspace_without_write_permission_can_be_read_and_refuses_writing_in_words(
    workspace: Workspace, store: Store, tmp_path: Path
) -> None:
    store("kept", step_seconds=[1.0, 3.0])
    (tmp_path / "a.log").write_text("text")
    with without_write_permission(workspace.root):
        reader = Workspace.find(workspace.root)
        assert reader is not None
        assert [run.id for run in reader.runs()] == ["kept"]
        with reader.open("kept") as view:
            assert view.quantile("step_seconds", 0.5) == 2.0
        assert Workspace.create(workspace.root).has("kept")
        for attempt in (
            reader.writer,
            lambda: reader.keep_source(tmp_path / "a.log"),
            lambda: Workspace.create(workspace.root / "inner"),
        ):
            with pytest.raises(WorkspaceError) as caught:
                attempt()
            assert caught.value.code == "store.not_writable"
            assert str(workspace.root) in str(caught.value.params["path"])


def test_a_full_disk_is_said_and_leaves_no_half_source(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x" * 100_000)
    with files_no_larger_than(10_000), pytest.raises(WorkspaceError) as caught:
        workspace.keep_source(tmp_path / "a.log")
    assert caught.value.code == "store.disk_full"
    assert [path for path in workspace.root.rglob("*") if path.is_file()] == [
        workspace.root / "workspace.json"
    ]
