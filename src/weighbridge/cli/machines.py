"""weighbridge machines: the catalogue of GPUs."""

from __future__ import annotations

from pathlib import Path

import click

from weighbridge.cli.common import common_options, emit_json, screen
from weighbridge.cli.language import current, text
from weighbridge.errors import EXIT_OK


@click.command("machines", help=text("cli.machines.help"), short_help=text("cli.machines.short"))
@click.argument("name", required=False, default=None)
@common_options
def command(name: str | None, workspace: Path | None, as_json: bool) -> int:
    import msgspec

    from weighbridge.estimate.cards import catalogue
    from weighbridge.estimate.machine import card_named
    from weighbridge.report.estimate import render_card, render_cards

    if name is not None:
        card = card_named(name)
        if as_json:
            emit_json({"schema": "weighbridge.gpu/1", **msgspec.to_builtins(card)})
        else:
            render_card(card, current(), screen())
        return EXIT_OK
    cards = catalogue(every=True)
    if as_json:
        emit_json({"schema": "weighbridge.gpus/1", "gpus": [msgspec.to_builtins(card) for card in cards]})
    else:
        render_cards(cards, current(), screen())
    return EXIT_OK
