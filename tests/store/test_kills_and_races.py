"""Imports killed at every file operation, and two processes importing into one workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from store.import_once import ROWS, import_once
from weighbridge.schema.run import Run
from weighbridge.store import Workspace, incoming

SCRIPT = Path(__file__).with_name("import_once.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One workspace per file operation of an import that was killed just before it."""
    folder = tmp_path_factory.mktemp("killed")
    command = [sys.executable, str(SCRIPT), str(folder), "kills"]
    subprocess.run(command, check=True, env=ENVIRONMENT, timeout=300)
    return sorted(folder.iterdir())


def copies(killed: list[Path], folder: Path) -> list[Path]:
    return [Path(shutil.copytree(path, folder / path.name)) for path in killed]


def whole(workspace: Workspace) -> bool:
    """Whether the one run of the workspace has all its rows and events."""
    with workspace.open("run") as view:
        totals = view.totals()
        complete = totals["rows"] == ROWS and totals["step_seconds"] == ROWS * 0.5
        return complete and len(view.events()) == view.run.event_rows == ROWS // 50


def test_a_killed_import_shows_the_whole_run_or_none(killed: list[Path]) -> None:
    visible = [Workspace(path).has("run") for path in killed]
    # Invisible up to one operation, visible from then on; most operations come before.
    assert visible == sorted(visible)
    assert visible.count(False) > 20
    assert visible.count(True) >= 2
    for path in killed:
        workspace = Workspace(path)
        assert workspace.damaged() == []
        assert len(workspace.runs()) == workspace.has("run")
        assert not workspace.has("run") or whole(workspace)


def test_the_next_writer_sweeps_what_a_killed_import_left(killed: list[Path], tmp_path: Path) -> None:
    left = 0
    for path in copies(killed, tmp_path):
        left += len(list(path.glob("incoming/*"))) + len(list(path.glob("runs/*/part=*")))
        workspace = Workspace.create(path)
        workspace.writer().abandon()
        runs = len(workspace.runs())
        assert list(path.glob("incoming/*")) == []
        assert len(list(path.glob("runs/*"))) == runs
        assert len(list(path.glob("runs/*/part=*"))) == runs
        assert not runs or whole(workspace)
    assert left > 20


def test_a_killed_import_can_be_repeated(killed: list[Path], tmp_path: Path) -> None:
    # Every third is enough: each costs a whole import.
    for path in copies(killed[::3], tmp_path):
        was_there = Workspace(path).has("run")
        run, new = import_once(path, 0.5)
        assert new is not was_there
        assert Workspace(path).runs() == [run]
        assert whole(Workspace(path))


def test_of_two_processes_that_import_the_same_runs_each_run_has_one_winner(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    runs = 8
    commands = [[sys.executable, str(SCRIPT), str(root), seconds, str(runs)] for seconds in ("1.0", "2.0")]
    racers = [
        subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) for command in commands
    ]
    time.sleep(0.5)  # not needed for the outcome: both are more likely to run at the same time
    (tmp_path / "go").touch()
    outputs = [racer.communicate(timeout=120)[0].splitlines() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    for number, answers in enumerate(zip(*outputs, strict=True)):
        new, stored = zip(*(answer.split() for answer in answers), strict=True)
        assert sorted(new) == ["0", "1"]
        winner = ("1.0", "2.0")[new.index("1")]
        assert set(stored) == {winner}
        with Workspace(root).open(f"run-{number}") as view:
            assert view.totals()["step_seconds"] == ROWS * float(winner)
            assert len(view.events()) == ROWS // 50
        assert len(list(root.glob(f"runs/run-{number}/part=*"))) == 1
    assert Workspace(root).damaged() == []
    assert list(root.glob("incoming/*")) == []


def test_two_writers_of_one_id_in_one_process_do_not_mix(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path)
    first, second = workspace.writer(), workspace.writer()
    first.steps({"step": [1, 2]}, 2)
    second.steps({"step": [9]}, 1)
    stored, new = second.close(Run(id="run"))
    assert new
    assert first.close(Run(id="run")) == (stored, False)
    with workspace.open("run") as view:
        assert view.windows()["step"] == [9]


def test_the_folder_of_a_living_process_is_not_swept(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path)
    with workspace.writer() as writer:
        writer.steps({"step": [1]}, 1)
        Workspace.create(tmp_path).writer().abandon()
        assert writer.close(Run(id="run"))[1]


def test_a_process_number_used_again_by_another_process_does_not_keep_a_folder(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path)
    with workspace.writer():
        (mine,) = (tmp_path / "incoming").iterdir()
        host, process, started, token = mine.name.split("-")
        earlier = mine.with_name(f"{host}-{process}-{int(started) - 1}-{token}")
        earlier.mkdir()
        Workspace.create(tmp_path)
        assert list((tmp_path / "incoming").iterdir()) == [mine]


def test_the_folder_of_another_host_is_swept_only_after_a_day_without_change(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path)
    foreign = tmp_path / "incoming" / "0123456789-1-1-abc"
    foreign.mkdir()
    (foreign / "steps.jsonl").write_text("")
    workspace.writer().abandon()
    assert foreign.exists()
    long_ago = time.time() - incoming.FOREIGN_GAP_SECONDS - 60
    os.utime(foreign, (long_ago, long_ago))
    Workspace.create(tmp_path)
    assert foreign.exists()
    os.utime(foreign / "steps.jsonl", (long_ago, long_ago))
    Workspace.create(tmp_path)
    assert not foreign.exists()


def test_a_part_is_not_swept_from_a_run_whose_record_cannot_be_read(tmp_path: Path) -> None:
    run, _ = import_once(tmp_path, 0.5)
    (part,) = tmp_path.glob("runs/run/part=*")
    (tmp_path / "runs" / run.id / "run.json").write_text('{"schema": ')
    dead = tmp_path / "incoming" / part.name.removeprefix("part=").replace(f"-{os.getpid()}-", "-0-")
    dead.mkdir()
    (dead / "closing").write_text(run.id)
    part = part.rename(part.with_name(f"part={dead.name}"))
    Workspace.create(tmp_path)
    assert not dead.exists()
    assert part.exists()
