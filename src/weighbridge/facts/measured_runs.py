"""Published memory measurements, each with the recipe it was made with and the line of its source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from weighbridge.errors import InputError
from weighbridge.facts.tree import read_tree
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout

FILE: Final = Path(__file__).parent / "data" / "measured_runs.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """``model`` is a name of ``facts.models``; ``gpu`` is as the source says, often less than a full name."""

    id: str
    model: str
    gpu: str
    counter: Literal["allocated", "reserved", "device"]
    measured_bytes: float
    recipe: Recipe
    layout: Layout
    source: str
    card_bytes: float | None = None


@cache
def load_measured_runs(path: Path = FILE) -> tuple[MeasuredRun, ...]:
    """Raises InputError that names the file and the line when an entry does not fit."""
    tree, lines = read_tree(path)
    found = []
    for entry, line in zip(tree["runs"], lines["runs"], strict=True):
        try:
            found.append(_run(entry))
        except (KeyError, TypeError) as error:
            raise InputError(
                "facts.bad_field", file=str(path), line=line, id=entry.get("id"), reason=str(error)
            ) from error
    return tuple(found)


def _run(entry: dict[str, Any]) -> MeasuredRun:
    recipe = dict(entry["recipe"])
    if "lora_targets" in recipe:
        recipe["lora_targets"] = tuple(recipe["lora_targets"])
    return MeasuredRun(**{**entry, "recipe": Recipe(**recipe), "layout": Layout(**entry["layout"])})
