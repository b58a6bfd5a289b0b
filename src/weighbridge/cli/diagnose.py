"""weighbridge diagnose: what a run waits for."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge.cli.common import (
    check_target,
    common_options,
    emit_json,
    import_given,
    say,
    say_failures,
    scratch_folder,
    screen,
    sort_arguments,
    workspace_or_temporary,
    write_text,
)
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_BAD_INPUT, EXIT_CANNOT_SAY, EXIT_OK

if TYPE_CHECKING:
    from weighbridge.schema.diagnosis import Diagnosis
    from weighbridge.schema.run import Run
    from weighbridge.store import RunView, Workspace

    Item = tuple[Run, Diagnosis, RunView]


@click.command("diagnose", help=text("cli.diagnose.help"), short_help=text("cli.diagnose.short"))
@click.argument("given", nargs=-1, required=True, metavar="FILE|RUN...")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), default=None, help=text("cli.option.html")
)
@click.option("--force", is_flag=True, help=text("cli.option.force"))
@click.option("--format", "asked_format", default=None, help=text("cli.option.format"))
@common_options
def command(
    given: tuple[str, ...],
    html: Path | None,
    force: bool,
    asked_format: str | None,
    workspace: Path | None,
    as_json: bool,
) -> int:
    if html is not None:
        check_target(html, force=force, given=given)
    with contextlib.ExitStack() as stack:
        place, kept = stack.enter_context(workspace_or_temporary(workspace))
        run_ids, imported = gather(given, place, kept=kept, asked_format=asked_format)
        if not run_ids:
            return EXIT_BAD_INPUT
        items = open_and_diagnose(run_ids, place, stack)
        show(items, as_json=as_json)
        if html is not None:
            from weighbridge.report.html import diagnosis_page

            write_text(html, diagnosis_page(items, language=current()))
            say("cli.written", path=html)
        if imported and not as_json:
            say("cli.kept" if kept else "cli.not_kept", path=place.root)
    cannot = all(diagnosis.verdict == "cannot_say" for _, diagnosis, _ in items)
    return EXIT_CANNOT_SAY if cannot else EXIT_OK


def gather(
    arguments: Sequence[str], place: Workspace, *, kept: bool, asked_format: str | None
) -> tuple[list[str], bool]:
    """Ids of the runs meant, after importing the files among the arguments; and whether any was imported."""
    with scratch_folder() as scratch:
        given = sort_arguments(arguments, place, scratch)
        run_ids, looked_at = list(given.run_ids), 0
        if given.inputs or given.left_out:
            report = import_given(given, place, keep_sources=kept, asked_format=asked_format)
            say_failures(report)
            run_ids += [run.id for run in report.runs]
            looked_at = len(report.files) + report.skipped_files
        if not run_ids:
            # Also for a folder with nothing in it.
            say("cli.nothing_imported", files=looked_at)
    return list(dict.fromkeys(run_ids)), bool(given.inputs)


def open_and_diagnose(run_ids: Sequence[str], place: Workspace, stack: contextlib.ExitStack) -> list[Item]:
    """One (run, diagnosis, open view) per id; views close with the stack."""
    from weighbridge.diagnose import diagnose

    views = [stack.enter_context(place.open(run_id)) for run_id in run_ids]
    return [(view.run, diagnose(view), view) for view in views]


def show(items: Sequence[Item], *, as_json: bool) -> None:
    """The report on the terminal, or one JSON document."""
    from weighbridge import codec
    from weighbridge.report.terminal import render_diagnosis

    if as_json:
        documents: list[dict[str, Any]] = [codec.document(diagnosis) for _, diagnosis, _ in items]
        emit_json(
            documents[0]
            if len(documents) == 1
            else {"schema": "weighbridge.diagnoses/1", "diagnoses": documents}
        )
        return
    target = screen()
    for place, (run, diagnosis, _) in enumerate(items):
        if place:
            target.print()
        render_diagnosis(diagnosis, run, current(), target)
