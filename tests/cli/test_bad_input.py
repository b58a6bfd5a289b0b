"""What people hand over by mistake: one clear sentence, the right code, nothing half-written."""

from __future__ import annotations

import os
import signal
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
    """One long run: the demo's log with its second epoch repeated."""
    log = DATA_BOUND.read_bytes()
    second = log.index(b"Epoch(train)   [2]")
    begins = log.rindex(b"\n", 0, second) + 1
    path.write_bytes(log[:begins] + log[begins:] * times)
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


def in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a shell line in which ``weighbridge`` and ``$LOG`` stand for what they say."""
    line = line.replace("weighbridge", f"{sys.executable} -m weighbridge")
    environment = os.environ | {"LOG": str(DATA_BOUND), "WEIGHBRIDGE_LANG": "en"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("weighbridge diagnose $LOG >/dev/full", 2),
        ("weighbridge --help >/dev/full", 2),
        ("weighbridge diagnose - <&-", 2),
        ("weighbridge diagnose nope.log 2>/dev/full", 2),
        ("weighbridge diagnose $LOG 2>/dev/full", 0),
        ("weighbridge diagnose $LOG >&- 2>&- <&-", 0),
        ("PYTHONIOENCODING=ascii weighbridge diagnose $LOG --lang zh", 0),
    ],
)
def test_streams_that_are_full_closed_or_of_another_encoding_are_no_traceback(
    tmp_path: Path, line: str, code: int
) -> None:
    done = in_shell(line, tmp_path)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert done.returncode == code


def test_a_terminal_of_no_columns_still_gets_the_report(tmp_path: Path) -> None:
    assert b"Training waits for data" in in_shell("COLUMNS=0 weighbridge diagnose $LOG", tmp_path).stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_that_is_told_to_end_leaves_no_temporary_folder(tmp_path: Path, number: int) -> None:
    log, folder = grown(tmp_path / "big.log", 4000), tmp_path / "tmp"
    folder.mkdir()

    def as_from_a_terminal() -> None:
        # A test run in the background inherits ignored signals, which a program has to respect.
        signal.signal(number, signal.SIG_DFL)

    environment = os.environ | {"TMPDIR": str(folder)}
    process = weighbridge(
        "diagnose", str(log), folder=tmp_path, env=environment, preexec_fn=as_from_a_terminal
    )
    while not any(folder.glob("weighbridge-*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate()
    assert (process.returncode, list(folder.iterdir())) == (3, [])
    assert b"Interrupted" in errors


def test_a_folder_with_nothing_in_it_is_told(command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    seen = command("diagnose", "empty")
    assert seen.code == 2
    assert "holds a run" in seen.err


def test_a_name_cannot_steer_the_terminal(command, tmp_path: Path) -> None:
    hostile = "a\x1b]0;title\x07\nError: fine.log"
    (tmp_path / hostile).write_bytes(b"")
    seen = command("diagnose", hostile)
    assert "\x1b" not in seen.err
    assert "\x07" not in seen.err
    assert not any(line.startswith("Error: fine") for line in seen.err.splitlines())


def test_a_report_never_replaces_a_file_that_is_read(command, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(DATA_BOUND.read_bytes())
    for arguments in (("diagnose", log, "--html", log), ("brief", log, "-o", log)):
        assert command(*arguments, "--force").code == 2
    assert log.read_bytes() == DATA_BOUND.read_bytes()


def test_a_report_goes_where_a_link_points_and_the_link_stays(command, tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("old")
    link = tmp_path / "link.html"
    link.symlink_to("real.html")
    assert command("diagnose", DATA_BOUND, "--html", link, "--force").code == 0
    assert link.is_symlink()
    assert (tmp_path / "real.html").read_text(encoding="utf-8") != "old"


def test_a_pipe_in_the_place_of_the_report_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    process = weighbridge("diagnose", str(DATA_BOUND), "--html", str(pipe), "--force", folder=tmp_path)
    content = pipe.read_bytes()
    process.communicate()
    assert process.returncode == 0
    assert content.rstrip().endswith(b"</html>")
    assert pipe.is_fifo()


def test_a_report_into_a_folder_is_refused_before_the_work(command) -> None:
    seen = command("diagnose", DATA_BOUND, "--html", "")
    assert (seen.code, seen.out) == (2, "")
