"""weighbridge doctor: what this installation can and cannot do here. Reads only, opens no connection."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from weighbridge import __version__
from weighbridge.cli.common import common_options, emit_json
from weighbridge.cli.language import text
from weighbridge.errors import EXIT_OK, WeighbridgeError

REQUIRED = ("click", "duckdb", "msgspec", "PyYAML", "rich")
# Tools that later stages or the user's own recordings rely on; none is needed to read logs.
OPTIONAL_TOOLS = ("nvidia-smi", "rocm-smi", "npu-smi")


@dataclass(frozen=True, slots=True)
class Check:
    """One line: ``state`` fine, missing (optional) or bad (must be mended)."""

    name: str
    state: Literal["fine", "missing", "bad"]
    value: str | None = None


def checks(workspace: Path | None) -> Iterator[Check]:
    yield Check("weighbridge", "fine", __version__)
    yield Check("python", "fine", f"{platform.python_version()} ({sys.executable})")
    yield Check("platform", "fine", platform.platform())
    for name in REQUIRED:
        yield _package(name)
    yield _workspace(workspace)
    yield _temporary()
    from weighbridge.readers.table import READERS

    yield Check("formats", "fine", ", ".join(reader.name for reader in READERS))
    torch = importlib.util.find_spec("torch") is not None
    yield Check(
        "torch", "fine" if torch else "missing", importlib.metadata.version("torch") if torch else None
    )
    for tool in OPTIONAL_TOOLS:
        path = shutil.which(tool)
        yield Check(tool, "fine" if path else "missing", path)


def _package(name: str) -> Check:
    try:
        return Check(name, "fine", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, "bad")


def _workspace(explicit: Path | None) -> Check:
    from weighbridge.store import Workspace

    try:
        found = Workspace.find(explicit)
    except WeighbridgeError as error:
        return Check("workspace", "bad", text(error.code, **error.params))
    if found is None:
        return Check("workspace", "missing")
    writable = os.access(found.root, os.W_OK)
    return Check("workspace", "fine" if writable else "bad", f"{found.root} ({len(found.runs())})")


def _temporary() -> Check:
    import tempfile

    folder = tempfile.gettempdir()
    return Check("temporary_folder", "fine", f"{folder} ({shutil.disk_usage(folder).free / 1e9:.0f} GB)")


@click.command("doctor", help=text("cli.doctor.help"), short_help=text("cli.doctor.short"))
@common_options
def command(workspace: Path | None, as_json: bool) -> int:
    found = list(checks(workspace))
    if as_json:
        emit_json({"schema": "weighbridge.doctor/1", "checks": [asdict(check) for check in found]})
        return EXIT_OK
    for check in found:
        name = text(f"doctor.{check.name}") if check.name in NAMED else check.name
        value = check.value or text(
            f"doctor.absent.{check.name}" if check.name in ABSENT else "doctor.absent"
        )
        click.echo(f"{text(f'doctor.state.{check.state}')}  {name}: {value}")
    return EXIT_OK


NAMED = frozenset({"platform", "workspace", "temporary_folder", "formats"})
ABSENT = frozenset({"workspace", "torch", "nvidia-smi"})
