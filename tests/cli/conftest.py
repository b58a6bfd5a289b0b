"""Run command lines in this process, in an empty folder, and see what a user would see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from weighbridge.cli import language
from weighbridge.cli.main import run


@dataclass(frozen=True)
class Seen:
    code: int
    out: str
    err: str


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Seen]:
    """``command("diagnose", "x.log") -> Seen(code, out, err)`` in an empty folder without a workspace."""
    monkeypatch.chdir(tmp_path)
    for name in ("WEIGHBRIDGE_WORKSPACE", "WEIGHBRIDGE_LANG", "LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> Seen:
        words = [str(argument) for argument in arguments]
        language.set_from(words)
        code = run(words)
        seen = capsys.readouterr()
        assert "Traceback" not in seen.err
        return Seen(code, seen.out, seen.err)

    return call
