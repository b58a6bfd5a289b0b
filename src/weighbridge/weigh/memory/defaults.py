"""Fills what a Recipe leaves open with what its framework documents, and says which fields those were."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from weighbridge.schema.memory_constants import FrameworkDefault
from weighbridge.schema.recipe import Recipe


def fill(recipe: Recipe, defaults: Sequence[FrameworkDefault]) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe with documented defaults, later entries seeing what earlier ones filled."""
    filled: list[str] = []
    for default in defaults:
        if default.framework not in (recipe.framework, "any") or getattr(recipe, default.field) is not None:
            continue
        if _applies(default, recipe):
            recipe = replace(recipe, **{default.field: default.value})  # type: ignore[arg-type]
            filled.append(default.field)
    return recipe, tuple(filled)


def _applies(default: FrameworkDefault, recipe: Recipe) -> bool:
    for field, wanted in (default.when or {}).items():
        if getattr(recipe, field) != wanted:
            return False
    if default.since is None and default.until is None:
        return True
    version = version_key(recipe.framework_version, default.component)
    if version is None:
        # An unknown version is the current one.
        return default.until is None
    if default.since is not None and version < _key(default.since):
        return False
    return default.until is None or version < _key(default.until)


def _key(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


@lru_cache(maxsize=4096)
def version_key(text: str | None, component: str | None) -> tuple[int, ...] | None:
    """The version of ``component`` in a text such as "torch 2.4.1, transformers 4.48.1", or a date."""
    if not text:
        return None
    if component is not None:
        found = re.search(rf"\b{re.escape(component)}[ =]*v?(\d+(?:\.\d+)+)", text)
        return _key(found.group(1)) if found else None
    found = re.search(r"\b(20\d\d)-(\d\d)", text)
    return _key(found.group(0)) if found else None
