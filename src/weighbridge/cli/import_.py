"""weighbridge import: logs into the workspace."""

from __future__ import annotations

from pathlib import Path

import click

from weighbridge.cli.common import (
    common_options,
    emit_json,
    import_given,
    say,
    say_failures,
    scratch_folder,
    screen,
    sort_arguments,
)
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_BAD_INPUT, EXIT_OK, UsageError


@click.command("import", help=text("cli.import.help"), short_help=text("cli.import.short"))
@click.argument("files", nargs=-1, required=True)
@click.option("--format", "asked_format", default=None, help=text("cli.option.format"))
@common_options
def command(files: tuple[str, ...], asked_format: str | None, workspace: Path | None, as_json: bool) -> int:
    from weighbridge import codec
    from weighbridge.report.terminal import render_import
    from weighbridge.store import Workspace

    place = Workspace.find(workspace)
    if place is None:
        raise UsageError("cli.import.needs_workspace")
    with scratch_folder() as scratch:
        given = sort_arguments(files, place, scratch)
        report = import_given(given, place, keep_sources=True, asked_format=asked_format)
    if as_json:
        emit_json(codec.document(report))
    elif report.runs:
        render_import(report, current(), screen())
    say_failures(report)
    if not report.runs:
        say("cli.nothing_imported", files=len(report.files) + report.skipped_files)
        return EXIT_BAD_INPUT
    say("cli.kept", path=place.root)
    return EXIT_OK
