"""Importing: joined by clock, stored once, one bad file never stops the others, nothing half-written."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import READERS

from weighbridge.errors import NothingToRead
from weighbridge.readers.importer import expand, import_files
from weighbridge.schema.import_report import ImportReport
from weighbridge.store import Workspace

ZONE = 8 * 3600


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace")


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def log(path: Path, first: float, count: int = 100) -> Path:
    return write(path, *(f"T {first + 10 * n} {n + 1}" for n in range(count)))


def bring(workspace: Workspace, *paths: Path) -> ImportReport:
    inputs, left_out = expand(paths)
    return import_files(inputs, workspace, READERS, skipped_files=left_out)


def test_a_log_becomes_one_run_with_its_source_kept(workspace: Workspace, tmp_path: Path) -> None:
    report = bring(workspace, log(tmp_path / "a.log", 1000))
    (run,) = workspace.runs()
    assert report.runs == (run,)
    assert (run.train_rows, run.clock, run.sources[0].kept) == (100, "local", True)
    kept = next(path for path in (workspace.root / "sources").rglob("*") if path.is_file())
    assert kept.read_bytes() == (tmp_path / "a.log").read_bytes()


def test_the_same_content_is_stored_once(workspace: Workspace, tmp_path: Path) -> None:
    bring(workspace, log(tmp_path / "a.log", 1000))
    report = bring(workspace, tmp_path / "a.log")
    assert [file.state for file in report.files] == ["already_there"]
    assert len(workspace.runs()) == 1


def test_samples_in_another_zone_are_joined_and_the_shift_is_told(
    workspace: Workspace, tmp_path: Path
) -> None:
    samples = write(tmp_path / "gpu.csv", *(f"S {5000 - ZONE + n} 0.8" for n in range(1100)))
    report = bring(workspace, log(tmp_path / "a.log", 5000), samples)
    (run,) = report.runs
    assert run.sources[1].clock_offset_seconds == ZONE
    assert run.sample_rows > 900
    assert run.hardware.gpus == 1
    assert [file.state for file in report.files] == ["imported", "joined"]


def test_a_day_of_samples_goes_into_every_run_of_that_day_but_only_its_own_hours(
    workspace: Workspace, tmp_path: Path
) -> None:
    samples = write(tmp_path / "gpu.csv", *(f"S {n} 0.5" for n in range(0, 20_000, 10)))
    logs = log(tmp_path / "a.log", 1000), log(tmp_path / "b.log", 15_000)
    report = bring(workspace, *logs, samples)
    assert [run.sample_rows for run in report.runs] == [112, 112]


def test_samples_of_another_day_stay_a_record_of_their_own_and_say_why(
    workspace: Workspace, tmp_path: Path
) -> None:
    samples = write(tmp_path / "gpu.csv", *(f"S {10**6 + n} 0.5" for n in range(100)))
    report = bring(workspace, log(tmp_path / "a.log", 1000), samples)
    assert len(report.runs) == 2
    assert report.files[1].reason == "readers.clocks_do_not_meet"


def test_two_starts_in_one_file_are_two_runs(workspace: Workspace, tmp_path: Path) -> None:
    lines = ["T 10 1", "T 20 2", "NEW", "T 30 1", "T 40 2"]
    assert len(bring(workspace, write(tmp_path / "a.log", *lines)).runs) == 2


def test_a_step_that_goes_back_is_a_restart_inside_the_run(workspace: Workspace, tmp_path: Path) -> None:
    lines = [f"T {n} {step}" for n, step in enumerate([1, 2, 3, 2, 3, 4])]
    (run,) = bring(workspace, write(tmp_path / "a.log", *lines)).runs
    assert (run.segments, run.duplicate_steps) == (2, 2)


def test_a_bad_file_is_told_and_the_next_one_is_read(workspace: Workspace, tmp_path: Path) -> None:
    files = [
        write(tmp_path / "empty.log"),
        write(tmp_path / "prose.log", "nothing of the kind"),
        write(tmp_path / "bug.log", "T 1 1", "BOOM"),
        log(tmp_path / "good.log", 1000),
    ]
    report = bring(workspace, *files)
    assert [(file.state, file.reason) for file in report.files] == [
        ("failed", "readers.empty_file"),
        ("unknown", "readers.unknown_format"),
        ("failed", "readers.reader_failed"),
        ("imported", None),
    ]
    assert len(workspace.runs()) == 1
    assert not any((workspace.root / "incoming").iterdir())


def test_a_folder_is_walked_and_what_is_no_log_is_counted(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "deep").mkdir(parents=True)
    log(folder / "deep" / "a.log", 1000)
    write(folder / "notes.txt", "not a log")
    write(folder / ".hidden", "T 1 1")
    report = bring(workspace, folder)
    assert (len(report.runs), report.skipped_files) == (1, 1)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead) as caught:
        expand([tmp_path / "gone.log"])
    assert str(tmp_path / "gone.log") in str(caught.value)


def test_a_link_out_of_the_folder_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    outside = log(tmp_path / "outside.log", 1000)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "link.log").symlink_to(outside)
    assert bring(workspace, folder).runs == ()


def test_files_of_one_name_in_two_folders_are_told_apart(workspace: Workspace, tmp_path: Path) -> None:
    for folder, first in (("k1", 1000), ("k2", 90_000)):
        (tmp_path / folder).mkdir()
        log(tmp_path / folder / "train.log", first)
    samples = write(tmp_path / "k1" / "x.csv", *(f"S {n} 0.5" for n in range(1000, 1900)))
    report = bring(workspace, tmp_path / "k1" / "train.log", tmp_path / "k2" / "train.log", samples)
    assert [file.state for file in report.files] == ["imported", "imported", "joined"]
    assert len({run for file in report.files for run in file.runs}) == 2


def test_the_gpu_0_of_two_hosts_are_two_gpus(workspace: Workspace, tmp_path: Path) -> None:
    for node, busy in (("n1", 0.9), ("n2", 0.1)):
        write(tmp_path / f"{node}.csv", *(f"S {n} {busy}" for n in range(1000, 1990)))
    files = [log(tmp_path / "a.log", 1000), tmp_path / "n1.csv", tmp_path / "n2.csv"]
    (run,) = bring(workspace, *files).runs
    with workspace.open(run.id) as view:
        assert sorted(use.gpu_busy_share for use in view.devices()) == [
            pytest.approx(0.1),
            pytest.approx(0.9),
        ]


def test_an_empty_file_is_empty_whatever_its_format_is_said_to_be(
    workspace: Workspace, tmp_path: Path
) -> None:
    inputs, _ = expand([write(tmp_path / "empty.log")])
    report = import_files(inputs, workspace, READERS, asked_format="toy_log")
    assert report.files[0].reason == "readers.empty_file"
