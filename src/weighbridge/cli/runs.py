"""weighbridge runs: what is in the workspace."""

from __future__ import annotations

from pathlib import Path

import click

from weighbridge.cli.common import common_options, emit_json, say, screen
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_OK, UsageError


@click.command("runs", help=text("cli.runs.help"), short_help=text("cli.runs.short"))
@common_options
def command(workspace: Path | None, as_json: bool) -> int:
    from weighbridge import codec
    from weighbridge.report.terminal import render_runs
    from weighbridge.store import Workspace

    place = Workspace.find(workspace)
    if place is None:
        raise UsageError("cli.runs.needs_workspace")
    runs = place.runs()
    if as_json:
        emit_json({"schema": "weighbridge.runs/1", "runs": [codec.document(run) for run in runs]})
    elif runs:
        render_runs(runs, current(), screen())
    else:
        say("cli.runs.none", path=place.root)
    for name, reason in place.damaged():
        say("cli.runs.damaged", name=name, reason=reason)
    return EXIT_OK
