"""Fixtures of the memory tests: the shipped tables, and a weigher of one recipe with changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from memory_builders import MISTRAL, ONE, RECIPE, Weigh

from weighbridge.facts.memory_constants import MemoryTables, load_memory_tables
from weighbridge.schema.model import ModelShape
from weighbridge.schema.run import Layout
from weighbridge.weigh.memory import MemoryEstimate, Missing, memory


@pytest.fixture(scope="session")
def tables() -> MemoryTables:
    return load_memory_tables()


@pytest.fixture(scope="session")
def ask(tables: MemoryTables) -> Callable[..., MemoryEstimate | Missing]:
    """Weighs ``shape`` under RECIPE with changes; ``layout`` and ``card_bytes`` are taken out first."""

    def answer(
        shape: ModelShape = MISTRAL,
        layout: Layout = ONE,
        card_bytes: float | None = None,
        **changes: Any,
    ) -> MemoryEstimate | Missing:
        recipe = replace(RECIPE, **changes)
        return memory(shape, recipe, layout, tables.constants, tables.defaults, card_bytes=card_bytes)

    return answer


@pytest.fixture(scope="session")
def weigh(ask: Callable[..., MemoryEstimate | Missing]) -> Weigh:
    def answer(*arguments: Any, **changes: Any) -> MemoryEstimate:
        found = ask(*arguments, **changes)
        assert isinstance(found, MemoryEstimate), found
        return found

    return answer
