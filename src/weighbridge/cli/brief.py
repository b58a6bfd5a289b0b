"""weighbridge brief: the training load on one page, for a supplier."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from weighbridge.cli.common import (
    check_target,
    common_options,
    emit_json,
    say,
    workspace_or_temporary,
    write_text,
)
from weighbridge.cli.diagnose import gather, open_and_diagnose
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_BAD_INPUT, EXIT_OK, MissingExtra


@click.command("brief", help=text("cli.brief.help"), short_help=text("cli.brief.short"))
@click.argument("given", nargs=-1, required=True, metavar="FILE|RUN...")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help=text("cli.brief.option.output"),
)
@click.option("--force", is_flag=True, help=text("cli.option.force"))
@click.option("--format", "asked_format", default=None, help=text("cli.option.format"))
@common_options
def command(
    given: tuple[str, ...],
    output: Path | None,
    force: bool,
    asked_format: str | None,
    workspace: Path | None,
    as_json: bool,
) -> int:
    from weighbridge import codec
    from weighbridge.report.brief import brief_from, brief_page

    target = output or Path(f"training-load-brief-{current()}.html")
    if target.suffix.lower() == ".docx":
        raise MissingExtra("cli.brief.needs_docs")
    if not as_json or output is not None:
        check_target(target, force=force, given=given)
    with contextlib.ExitStack() as stack:
        place, kept = stack.enter_context(workspace_or_temporary(workspace))
        run_ids, _ = gather(given, place, kept=kept, asked_format=asked_format)
        if not run_ids:
            return EXIT_BAD_INPUT
        briefs = [brief_from(*item) for item in open_and_diagnose(run_ids, place, stack)]
    if as_json:
        emit_json({"schema": "weighbridge.briefs/1", "briefs": [codec.document(brief) for brief in briefs]})
    if not as_json or output is not None:
        write_text(target, brief_page(briefs, current()))
        say("cli.written", path=target)
    return EXIT_OK
