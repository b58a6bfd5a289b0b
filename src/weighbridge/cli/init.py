"""weighbridge init: make a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from weighbridge.cli.common import common_options, emit_json, say
from weighbridge.cli.language import text

FOLDER_NAME = ".weighbridge"


@click.command("init", help=text("cli.init.help"), short_help=text("cli.init.short"))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@common_options
def command(folder: Path, workspace: Path | None, as_json: bool) -> int:
    from weighbridge.store import Workspace

    made = Workspace.create(workspace if workspace is not None else folder.resolve() / FOLDER_NAME)
    if as_json:
        emit_json({"schema": "weighbridge.workspace/1", "path": str(made.root)})
    else:
        say("cli.init.made", path=made.root)
        say("cli.init.next")
    return 0
