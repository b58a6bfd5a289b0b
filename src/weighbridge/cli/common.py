"""What verbs share: options, the workspace to use, inputs given as files or run ids, JSON, files out."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from weighbridge.cli.language import text
from weighbridge.errors import InputError, UsageError, WorkspaceError

if TYPE_CHECKING:
    from rich.console import Console

    from weighbridge.readers.importer import Input
    from weighbridge.schema.import_report import ImportReport
    from weighbridge.store import Workspace

Function = TypeVar("Function", bound=Callable[..., Any])
STANDARD_INPUT = "-"
# Files smaller than this are read before anybody could look at a progress line.
PROGRESS_FROM_BYTES = 50_000_000
PROGRESS_EVERY_SECONDS = 0.5


def common_options(function: Function) -> Function:
    """--json, --lang and --workspace, on every verb."""
    workspace = click.Path(path_type=Path, file_okay=False)
    for option in (
        click.option(
            "--lang", type=click.Choice(["en", "zh"]), expose_value=False, help=text("cli.option.lang")
        ),
        click.option("--workspace", type=workspace, default=None, help=text("cli.option.workspace")),
        click.option("--json", "as_json", is_flag=True, help=text("cli.option.json")),
    ):
        function = option(function)
    return function


def emit_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def screen() -> Console:
    """Where reports go: stdout, in colour on a terminal only, as wide as it is (80 in a pipe)."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def say(code: str, **params: object) -> None:
    """A sentence on stderr: progress, places, notes. Never part of a JSON document."""
    click.echo(text(code, **params), err=True)


@contextlib.contextmanager
def workspace_or_temporary(explicit: Path | None) -> Iterator[tuple[Workspace, bool]]:
    """The workspace to work in, and whether it stays when the command ends."""
    from weighbridge.store import Workspace

    found = Workspace.find(explicit)
    if found is not None:
        yield found, True
        return
    with Workspace.temporary() as temporary:
        yield temporary, False


@dataclass(slots=True)
class Given:
    """What a verb was given: files to import, ids of runs that are in the workspace already, in order."""

    inputs: list[Input] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    left_out: int = 0


def sort_arguments(arguments: Sequence[str], workspace: Workspace, scratch: Path) -> Given:
    """Files and folders that exist are files; anything else must be a run of the workspace."""
    from weighbridge.readers.importer import Input, expand

    given = Given()
    for argument in arguments:
        if argument == STANDARD_INPUT:
            given.inputs.append(Input(_spool_standard_input(scratch), text("cli.standard_input")))
        elif os.path.lexists(argument):
            inputs, left_out = expand([Path(argument)])
            given.inputs += inputs
            given.left_out += left_out
        else:
            given.run_ids.append(_resolve(argument, workspace))
    return given


def _resolve(argument: str, workspace: Workspace) -> str:
    try:
        return workspace.resolve(argument)
    except InputError as error:
        if "candidates" in error.params:
            raise
        raise UsageError("cli.no_such_input", name=argument) from error


def _spool_standard_input(scratch: Path) -> Path:
    """Standard input goes to a file first: it is looked at before it is read."""
    path = scratch / "standard-input"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise WorkspaceError("cli.cannot_write", path=str(path), reason=error.strerror) from error
    return path


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private temporary folder for this command."""
    with tempfile.TemporaryDirectory(prefix="weighbridge-") as folder:
        yield Path(folder)


def import_given(
    given: Given, workspace: Workspace, *, keep_sources: bool, asked_format: str | None
) -> ImportReport:
    """Import the files among what was given."""
    from weighbridge.readers.importer import import_files
    from weighbridge.readers.table import READERS

    return import_files(
        given.inputs,
        workspace,
        READERS,
        keep_sources=keep_sources,
        asked_format=asked_format,
        skipped_files=given.left_out,
        progress=_progress_line() if sys.stderr.isatty() else None,
    )


def _progress_line() -> Callable[[str, int, int], None]:
    last = time.monotonic()

    def show(name: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if total >= PROGRESS_FROM_BYTES and now - last >= PROGRESS_EVERY_SECONDS:
            last = now
            click.echo(
                "\r\x1b[K" + text("cli.progress", name=name, done=done, total=total), nl=False, err=True
            )
            if done >= total:
                click.echo("\r\x1b[K", nl=False, err=True)

    return show


def say_failures(report: ImportReport) -> None:
    """Sentences for files that gave no run, and notes on the others."""
    from weighbridge.cli.language import what_readers_look_for

    for file in report.files:
        if file.reason is not None and file.state in ("failed", "unknown"):
            say("cli.error", sentence=text(file.reason, **file.params))
        elif file.reason is not None:
            say(file.reason, **file.params)
    if any(file.state == "unknown" and file.reason == "readers.unknown_format" for file in report.files):
        click.echo(what_readers_look_for(), err=True)
    if report.skipped_files:
        say("cli.skipped_files", count=report.skipped_files)


def check_target(path: Path, *, force: bool) -> None:
    """Refuse to overwrite before any work is done. Raises UsageError."""
    if path.exists() and not force:
        raise UsageError("cli.file_exists", path=str(path))
    if not path.parent.is_dir():
        raise UsageError("cli.cannot_write", path=str(path), reason=os.strerror(2))


def write_text(path: Path, content: str) -> None:
    """Write a file as a whole or not at all. Raises WorkspaceError with the reason of the system."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise WorkspaceError("cli.cannot_write", path=str(path), reason=error.strerror) from error
