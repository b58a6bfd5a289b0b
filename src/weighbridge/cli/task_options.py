"""Options that say how a task is trained, for ``estimate`` and ``fit``; ``estimate.describe`` checks them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from weighbridge.cli.language import text
from weighbridge.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

# Values stay text: the same sentences refuse them here and in a description file.
_NAMES: Final = (
    "batch", "sequence", "image_size", "precision", "optimizer", "accumulation", "checkpointing", "attention",
    "lora", "qlora", "gpus", "gpus_per_node", "sharding", "shard_degree", "offload", "tp", "pp", "cp", "ep",
    "framework",
)  # fmt: skip


def task_options(function: Function) -> Function:
    """Every option of a task; the verb gets them as keyword arguments and hands them to ``said``."""
    compiled = click.option(
        "--compile/--no-compile", "compile", default=None, help=text("cli.estimate.option.compile")
    )
    function = compiled(function)
    for name in reversed(_NAMES):
        flags = [f"--{name.replace('_', '-')}"] + ([f"-{name[0]}"] if name in ("batch", "sequence") else [])
        function = click.option(
            *flags, name, default=None, metavar=_metavar(name), help=text(f"cli.estimate.option.{name}")
        )(function)
    return function


def _metavar(name: str) -> str:
    if name in ("precision", "optimizer", "checkpointing", "attention", "sharding", "offload", "framework"):
        return "NAME"
    if name == "image_size":
        return "SIZE"
    return "RANK" if name in ("lora", "qlora") else "N"


def said(options: dict[str, Any]) -> dict[str, Any]:
    """What was said, in the names of a description file."""
    given = {name: value for name, value in options.items() if value is not None}
    lora, qlora = given.pop("lora", None), given.pop("qlora", None)
    if lora is not None and qlora is not None:
        raise UsageError("cli.estimate.lora_twice")
    if lora is not None:
        given |= {"training": "lora", "rank": lora}
    if qlora is not None:
        given |= {"training": "qlora", "rank": qlora}
    return given
