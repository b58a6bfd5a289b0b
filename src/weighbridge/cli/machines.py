"""weighbridge machines: the catalogue of GPUs and of the servers that carry them."""

from __future__ import annotations

from pathlib import Path

import click

from weighbridge.cli.common import common_options, emit_json, screen, use_workspace_facts
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_OK


@click.command("machines", help=text("cli.machines.help"), short_help=text("cli.machines.short"))
@click.argument("name", required=False, default=None)
@common_options
def command(name: str | None, workspace: Path | None, as_json: bool) -> int:
    import msgspec

    from weighbridge.estimate.cards import catalogue
    from weighbridge.facts import load_platforms
    from weighbridge.report.estimate import render_cards
    from weighbridge.report.platforms import render_platforms

    use_workspace_facts(workspace)
    if name is not None:
        _show_one(name, as_json=as_json)
        return EXIT_OK
    cards, platforms = catalogue(every=True), load_platforms()
    if as_json:
        emit_json(
            {
                "schema": "weighbridge.machines/1",
                "gpus": [msgspec.to_builtins(card) for card in cards],
                "platforms": [msgspec.to_builtins(platform) for platform in platforms],
            }
        )
    else:
        render_cards(cards, current(), screen())
        render_platforms(platforms, current(), screen())
    return EXIT_OK


def _show_one(name: str, *, as_json: bool) -> None:
    """A server where the name is one, else a GPU. Raises InputError with the nearest names of GPUs."""
    import msgspec

    from weighbridge.estimate.machine import card_named
    from weighbridge.facts import find_gpu, find_platform
    from weighbridge.report.estimate import render_card
    from weighbridge.report.platforms import render_platform

    platform = find_platform(name) if find_gpu(name) is None else None
    if platform is not None and as_json:
        emit_json({"schema": "weighbridge.platform/1", **msgspec.to_builtins(platform)})
    elif platform is not None:
        render_platform(platform, current(), screen())
    elif as_json:
        emit_json({"schema": "weighbridge.gpu/1", **msgspec.to_builtins(card_named(name))})
    else:
        render_card(card_named(name), current(), screen())
