"""A Description: what a user said of a training task, before any machine.

For language models ``shape`` says what the network is, for vision ``network`` names it; ``recipe`` (or
``vision``) says how it is trained and ``layout`` how it is spread. What nobody said stays None: ``weigh``
fills documented defaults and lists them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from weighbridge.schema.finding import Finding
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.schema.vision import VisionRecipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """``notes`` say what of the network is not counted, or counted how; ``gpus`` is the whole job's count.

    ``parameters`` is the published total where one is known, ``image`` height and width as the network sees
    them, ``network`` the vision network's name as it was given.
    """

    SCHEMA: ClassVar[str] = "weighbridge.description/1"

    name: str = field(metadata={"identity": False})
    kind: Literal["language", "vision"]
    gpus: int = 1
    gpus_per_node: int | None = None
    shape: ModelShape | None = None
    recipe: Recipe = field(default_factory=Recipe)
    layout: Layout = field(default_factory=Layout)
    network: str | None = None
    image: tuple[int, int] | None = None
    vision: VisionRecipe | None = None
    parameters: int | None = field(default=None, metadata={"identity": False})
    source: str | None = field(default=None, metadata={"identity": False})
    notes: tuple[Finding, ...] = field(default=(), metadata={"identity": False})
