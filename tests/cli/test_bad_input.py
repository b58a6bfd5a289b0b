"""What people hand over by mistake: one clear sentence, the right code, nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_samples import DATA_BOUND

from weighbridge.readers import text as reading
from weighbridge.readers.table import READERS


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.log", b"", "is empty"),
        ("blank.log", b"\n \n\n", "is empty"),
        ("photo.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)) * 40, "binary file"),
        ("novel.txt", b"It was a dark and stormy night.\n" * 50, "in no format"),
        ("日志.txt", "今天没有训练\n".encode("gbk") * 20, "in no format"),
    ],
)
def test_a_file_that_is_no_log_is_named_and_explained(
    command, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    seen = command("diagnose", name)
    assert (seen.code, seen.out) == (2, "")
    assert name in seen.err
    assert words in seen.err


def test_an_unknown_format_says_what_every_reader_looked_for(command, tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("It was a dark and stormy night.\n" * 50)
    seen = command("diagnose", "novel.txt")
    assert all(reader.name in seen.err for reader in READERS)


def test_a_folder_without_logs_says_so(command, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.txt").write_text("not a log\n")
    seen = command("diagnose", folder)
    assert seen.code == 2
    assert "1" in seen.err


def test_a_line_that_never_ends_costs_that_line_and_no_memory(
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAXIMUM_LINE_BYTES", 1 << 16)
    log = DATA_BOUND.read_bytes()
    (tmp_path / "long.log").write_bytes(log + b"x" * (4 << 20) + b"\n" + log.splitlines(keepends=True)[-1])
    seen = command("diagnose", "long.log")
    assert seen.code == 0
    assert "longer than" in seen.out.replace("\n", " ")


def test_a_file_name_with_markup_stays_text(command, tmp_path: Path) -> None:
    hostile = "<script>alert(1)<&#x2f;script>.log"
    (tmp_path / hostile).write_bytes(DATA_BOUND.read_bytes())
    assert command("diagnose", hostile, "--html", "out.html").code == 0
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(command, tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_bytes(DATA_BOUND.read_bytes())
    path.chmod(0)
    seen = command("diagnose", path)
    assert seen.code == 2
    assert "secret.log" in seen.err


def weighbridge(*arguments: str, folder: Path, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "weighbridge", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


def grown(path: Path, times: int) -> Path:
    path.write_bytes(DATA_BOUND.read_bytes() * times)
    return path


def test_kill_9_while_importing_leaves_no_visible_run(tmp_path: Path) -> None:
    log = grown(tmp_path / "big.log", 2000)
    weighbridge("init", folder=tmp_path).communicate()
    for delay in (0.15, 0.3, 0.5):
        process = weighbridge("import", str(log), folder=tmp_path)
        time.sleep(delay)
        process.kill()
        process.communicate()
        done = process.returncode == 0
        out, _ = weighbridge("runs", "--json", folder=tmp_path).communicate()
        if not done:
            assert b'"runs": []' in out
            assert not list((tmp_path / ".weighbridge" / "runs").glob("*/run.json"))
    process = weighbridge("import", str(log), folder=tmp_path)
    process.communicate()
    assert process.returncode == 0
    assert not any((tmp_path / ".weighbridge" / "incoming").iterdir())


def test_two_processes_import_into_one_workspace(tmp_path: Path) -> None:
    weighbridge("init", folder=tmp_path).communicate()
    logs = [grown(tmp_path / f"log-{number}.log", 20 + number) for number in range(2)]
    both = [weighbridge("import", *map(str, logs), folder=tmp_path) for _ in range(2)]
    for process in both:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    out, _ = weighbridge("runs", "--json", folder=tmp_path).communicate()
    assert out.count(b'"weighbridge.run/1"') == sum(1 for _ in (tmp_path / ".weighbridge/runs").iterdir())


def test_a_pipe_that_closes_early_is_no_error(tmp_path: Path) -> None:
    shell = f"{sys.executable} -m weighbridge diagnose {DATA_BOUND} | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], cwd=tmp_path, capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0
