"""weighbridge demo: the main job on three small logs that come along."""

from __future__ import annotations

import contextlib
from importlib import resources
from pathlib import Path

import click

from weighbridge.cli.common import common_options, say, write_text
from weighbridge.cli.diagnose import gather, open_and_diagnose, show
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_OK, WorkspaceError

LOGS = (
    "detection-on-shared-storage.log",
    "classification-that-computes.log",
    "fine-tuning-checkpoint.trainer_state.json",
)
REPORT_NAME = "weighbridge-demo.html"
BRIEF_NAME = "weighbridge-demo-brief-{language}.html"


@click.command("demo", help=text("cli.demo.help"), short_help=text("cli.demo.short"))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-out"),
    show_default=True,
    help=text("cli.demo.option.output"),
)
@common_options
def command(output: Path, workspace: Path | None, as_json: bool) -> int:
    from weighbridge.report.brief import brief_from, brief_page
    from weighbridge.report.html import diagnosis_page

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError("cli.cannot_write", path=str(output), reason=error.strerror) from error
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(resources.as_file(resources.files("weighbridge.cli") / "demo_logs"))
        # The demo never touches the team's records.
        from weighbridge.store import Workspace

        place = stack.enter_context(Workspace.temporary())
        run_ids, _ = gather([str(folder / name) for name in LOGS], place, kept=False, asked_format=None)
        items = open_and_diagnose(run_ids, place, stack)
        show(items, as_json=as_json)
        brief = output / BRIEF_NAME.format(language=current())
        write_text(brief, brief_page([brief_from(*items[0])], current()))
        report = output / REPORT_NAME
        write_text(report, diagnosis_page(items, language=current()))
    say("cli.written", path=brief)
    say("cli.written", path=report.resolve())
    return EXIT_OK
