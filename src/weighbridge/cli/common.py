"""What verbs share: options, the workspace to use, inputs given as files or run ids, JSON, files out."""

from __future__ import annotations

import contextlib
import errno
import os
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
WIDTH_UNKNOWN = 80
# Of the name of a file while it is written: the whole name may be as long as the file system allows.
PARTIAL_NAME_CHARACTERS = 40


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

    console = Console(highlight=False, soft_wrap=False)
    if console.width < 1:
        # COLUMNS=0 means "unknown" to other programs; rich would print nothing at all.
        console.width = WIDTH_UNKNOWN
    return console


def say(code: str, **params: object) -> None:
    """A sentence on stderr: progress, places, notes. Never part of a JSON document."""
    # A note that cannot be told (stderr full or closed) is no reason to fail.
    with contextlib.suppress(OSError):
        click.echo(text(code, **params), err=True)


def use_workspace_facts(explicit: Path | None) -> None:
    """Let ``facts/`` of the workspace in force add to the catalogue and replace in it; the last overlay."""
    from weighbridge.facts.load import ENVIRONMENT
    from weighbridge.store import Workspace

    found = Workspace.find(explicit)
    folder = found.root / "facts" if found is not None else None
    if folder is None or not folder.is_dir():
        return
    named = [name for name in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if name]
    if str(folder) not in named:
        os.environ[ENVIRONMENT] = os.pathsep.join([*named, str(folder)])


@contextlib.contextmanager
def workspace_or_temporary(explicit: Path | None) -> Iterator[tuple[Workspace, bool]]:
    """The workspace to work in, and whether it stays when the command ends."""
    from weighbridge.store import Workspace

    use_workspace_facts(explicit)
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
        elif _is_there(argument):
            inputs, left_out = expand([Path(argument)])
            given.inputs += inputs
            given.left_out += left_out
        else:
            given.run_ids.append(_resolve(argument, workspace))
    return given


def _is_there(argument: str) -> bool:
    """Whether a file or a folder has this name. Raises InputError where a folder on the way is locked."""
    try:
        os.lstat(argument)
    except PermissionError as error:
        raise InputError("readers.cannot_read", name=argument, reason=error.strerror) from error
    except (OSError, ValueError):
        return False
    return True


def _resolve(argument: str, workspace: Workspace) -> str:
    try:
        return workspace.resolve(argument)
    except InputError as error:
        if "candidates" in error.params:
            raise
        raise UsageError("cli.no_such_input", name=argument) from error


def _spool_standard_input(scratch: Path) -> Path:
    """Standard input goes to a file first: it is looked at before it is read."""
    if sys.stdin is None:
        raise UsageError("cli.no_standard_input")
    path = scratch / "standard-input"
    try:
        with path.open("wb") as file:
            while piece := _read_standard_input():
                file.write(piece)
    except OSError as error:
        raise WorkspaceError("cli.cannot_write", path=str(path), reason=error.strerror) from error
    return path


def _read_standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read(1 << 20)
    except OSError as error:
        name = text("cli.standard_input")
        raise InputError("readers.cannot_read", name=name, reason=error.strerror) from error


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private temporary folder for this command."""
    try:
        made = tempfile.TemporaryDirectory(prefix="weighbridge-", ignore_cleanup_errors=True)
    except OSError as error:
        # The system names no folder when none of the usual ones can be written.
        path = error.filename or os.environ.get("TMPDIR", "/tmp")
        raise WorkspaceError("cli.cannot_write", path=str(path), reason=error.strerror) from error
    with made as folder:
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
        progress=_progress_line() if sys.stderr is not None and sys.stderr.isatty() else None,
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
        with contextlib.suppress(OSError):
            click.echo(what_readers_look_for(), err=True)
    if report.skipped_files:
        say("cli.skipped_files", count=report.skipped_files)


def check_target(path: Path, *, force: bool, given: Sequence[str] = ()) -> None:
    """Refuse to overwrite before any work is done, the files given even with ``force``. Raises UsageError."""
    if path.is_dir():
        raise UsageError("cli.cannot_write", path=str(path), reason=os.strerror(errno.EISDIR))
    if path.exists() and not force:
        raise UsageError("cli.file_exists", path=str(path))
    if not path.parent.is_dir():
        raise UsageError("cli.cannot_write", path=str(path), reason=os.strerror(errno.ENOENT))
    if path.exists() and any(_is_there(name) and _same(path, Path(name)) for name in given):
        raise UsageError("cli.would_replace_input", path=str(path))


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def write_text(path: Path, content: str) -> None:
    """Write a file as a whole or not at all. Raises WorkspaceError with the reason of the system.

    A link keeps pointing where it points; a device or a pipe is written to and not replaced.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{os.getpid()}.{target.name[:PARTIAL_NAME_CHARACTERS]}.partial")
    try:
        if target.exists() and not target.is_file():
            target.write_text(content, encoding="utf-8")
            return
        with partial.open("w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if not isinstance(error, OSError):
            raise
        raise WorkspaceError("cli.cannot_write", path=str(path), reason=error.strerror) from error
