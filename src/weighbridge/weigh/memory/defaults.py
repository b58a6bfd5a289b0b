"""Fills what a Recipe leaves open with what its framework documents, and says which fields those were."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from weighbridge.schema.memory_constants import FrameworkDefault
from weighbridge.schema.recipe import Recipe


def fill(recipe: Recipe, defaults: Sequence[FrameworkDefault]) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe with documented defaults, later entries seeing what earlier ones filled."""
    filled: dict[str, Any] = {}
    for default in defaults:
        if default.framework != "any" and default.framework != recipe.framework:
            continue
        field = default.field
        if field not in filled and getattr(recipe, field) is None and _applies(default, recipe, filled):
            filled[field] = default.value
    return (replace(recipe, **filled) if filled else recipe), tuple(filled)


def _applies(default: FrameworkDefault, recipe: Recipe, filled: Mapping[str, Any]) -> bool:
    for field, wanted in (default.when or {}).items():
        if filled.get(field, getattr(recipe, field)) != wanted:
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
