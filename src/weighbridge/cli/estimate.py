"""weighbridge estimate: memory and step time of a task on GPUs of one model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from weighbridge.cli.common import (
    check_target,
    common_options,
    emit_json,
    say,
    screen,
    use_workspace_facts,
    write_text,
)
from weighbridge.cli.language import current, text
from weighbridge.cli.task_options import said, task_options
from weighbridge.errors import EXIT_NO, EXIT_OK


@click.command("estimate", help=text("cli.estimate.help"), short_help=text("cli.estimate.short"))
@click.argument("description", metavar="DESCRIPTION")
@click.option("--gpu", required=True, metavar="NAME", help=text("cli.estimate.option.gpu"))
@task_options
@click.option(
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help=text("cli.estimate.option.svg"),
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), default=None, help=text("cli.option.html")
)
@click.option("--force", is_flag=True, help=text("cli.option.force"))
@common_options
def command(
    description: str,
    gpu: str,
    svg: Path | None,
    html: Path | None,
    force: bool,
    workspace: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    from weighbridge import codec
    from weighbridge.estimate.cards import estimate
    from weighbridge.estimate.describe.describe import describe
    from weighbridge.report.estimate import render_estimate

    use_workspace_facts(workspace)
    for target in (svg, html):
        if target is not None:
            check_target(target, force=force)
    answer = estimate(describe(description, said(options)), gpu)
    # Files first: whoever reads the report may leave early (| head).
    if svg is not None and answer.fit.memory is not None:
        from weighbridge.report.charts import standalone
        from weighbridge.report.charts.memory_parts import memory_parts_svg

        drawn = memory_parts_svg(answer.fit.memory, language=current(), identity="memory")
        write_text(svg, standalone(drawn))
        say("cli.written", path=svg)
    if html is not None:
        from weighbridge.report.estimate_page import estimate_page

        write_text(html, estimate_page(answer, language=current()))
        say("cli.written", path=html)
    if as_json:
        emit_json(codec.document(answer))
    else:
        render_estimate(answer, current(), screen())
    refused = answer.fit.memory is not None and answer.fit.memory.fits is False
    return EXIT_NO if refused else EXIT_OK
