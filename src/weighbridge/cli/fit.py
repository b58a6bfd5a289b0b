"""weighbridge fit: a task held against every GPU of the catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from weighbridge.cli.common import common_options, emit_json, screen, use_workspace_facts
from weighbridge.cli.language import current, text
from weighbridge.cli.task_options import said, task_options
from weighbridge.errors import EXIT_NO, EXIT_OK


@click.command("fit", help=text("cli.fit.help"), short_help=text("cli.fit.short"))
@click.argument("description", metavar="DESCRIPTION")
@click.option("--gpu", "only", multiple=True, metavar="NAME", help=text("cli.estimate.option.only"))
@task_options
@common_options
def command(
    description: str, only: tuple[str, ...], workspace: Path | None, as_json: bool, **options: Any
) -> int:
    from weighbridge import codec
    from weighbridge.estimate.cards import fit_table
    from weighbridge.estimate.describe.describe import describe
    from weighbridge.estimate.machine import card_named
    from weighbridge.report.estimate import render_fit_table

    use_workspace_facts(workspace)

    cards = [card_named(name) for name in only] or None
    table = fit_table(describe(description, said(options)), cards)
    if as_json:
        emit_json(codec.document(table))
    else:
        render_fit_table(table, current(), screen())
    return EXIT_OK if any(row.verdict != "cannot" for row in table.cards) else EXIT_NO
