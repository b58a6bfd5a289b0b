"""Counters, intervals, defaults and refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from memory_builders import LLAMA3, ONE, Weigh

from weighbridge.errors import InputError
from weighbridge.facts.memory_constants import MemoryTables, build_constants, load_memory_tables, provenance
from weighbridge.schema.recipe import Recipe
from weighbridge.weigh.memory import MemoryEstimate, Missing
from weighbridge.weigh.memory.defaults import version_key

Ask = Callable[..., MemoryEstimate | Missing]


@pytest.mark.parametrize("field", ["micro_batch", "sequence", "training", "compute", "master"])
def test_a_blank_without_a_default_is_refused_by_name(ask: Ask, field: str) -> None:
    assert ask(**{field: None}) == Missing((field,))


def test_an_unknown_degree_is_refused_not_taken_for_one(ask: Ask) -> None:
    assert ask(layout=replace(ONE, tensor_parallel=None)) == Missing(("tensor_parallel",))
    found = ask(layout=replace(ONE, data_parallel=None), sharding="fsdp")
    assert found == Missing(("data_parallel",))


def test_a_quantised_base_of_unknown_width_is_refused(ask: Ask) -> None:
    assert ask(training="qlora", base_quant=None) == Missing(("base_quant",))


def test_blank_checkpointing_takes_the_default_of_the_framework_and_says_so(ask: Ask, weigh: Weigh) -> None:
    found = weigh(framework="torchtitan", checkpointing=None, master="fp32")
    assert "checkpointing" in found.assumed
    stated = weigh(framework="torchtitan", checkpointing="selective", master="fp32")
    assert found.allocated.value == stated.allocated.value
    assert found.allocated.high > stated.allocated.high
    assert ask(framework=None, checkpointing=None) == Missing(("checkpointing",))


def test_the_device_shows_context_and_communicators_beyond_what_is_reserved(
    weigh: Weigh, tables: MemoryTables
) -> None:
    context = tables.constants.context_bytes["default"]
    alone = weigh()
    assert alone.device.value - alone.reserved.value == context
    sharded = weigh(layout=replace(ONE, data_parallel=2), sharding="fsdp")
    assert sharded.device.value - sharded.reserved.value == context + tables.constants.nccl_bytes


def test_reserved_is_whole_segments(weigh: Weigh) -> None:
    assert weigh().reserved.value % (2 << 20) == 0


def test_lengths_that_vary_reserve_more_than_fixed_ones(weigh: Weigh) -> None:
    recipe = {"training": "lora", "base_quant": "none"}
    fixed, variable = weigh(**recipe), weigh(**recipe, sequence_kind="variable")
    emptied = weigh(**recipe, sequence_kind="variable", empties_cache=True)
    assert fixed.allocated.value == variable.allocated.value
    assert emptied.reserved.value < fixed.reserved.value < variable.reserved.value


def test_the_card_bounds_what_the_allocator_caches_not_what_the_tensors_need(weigh: Weigh) -> None:
    free = weigh(LLAMA3, micro_batch=8, training="lora", base_quant="none")
    card = free.device.value - 5e9
    bounded = weigh(LLAMA3, card_bytes=card, micro_batch=8, training="lora", base_quant="none")
    assert bounded.allocated == free.allocated
    assert bounded.allocated.value < bounded.reserved.value < free.reserved.value
    assert bounded.device.value <= card
    assert bounded.needed == free.needed == free.allocated.value + (free.device.value - free.reserved.value)


@pytest.mark.parametrize(
    ("text", "component", "version"),
    [
        ("torch 2.4.1, transformers 4.48.1, trl 0.13", "transformers", (4, 48, 1)),
        ("torch 2.4.1, transformers 4.48.1, trl 0.13", "trl", (0, 13)),
        ("torchtitan 9dec370 / torch 1963fc8 (2024-12)", None, (2024, 12)),
        ("2025-11", None, (2025, 11)),
        ("see requirements next to the CSV", "transformers", None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_versions_are_read_from_what_people_write(
    text: str | None, component: str | None, version: tuple[int, ...] | None
) -> None:
    assert version_key(text, component) == version


def test_every_constant_names_unit_source_date_and_how_many_figures_stand_behind_it() -> None:
    for name, fact in provenance().items():
        assert {"value", "unit", "n", "spread", "source", "date"} <= set(fact), name
        assert fact["source"], name


def test_a_missing_or_unknown_constant_is_named(tables: MemoryTables) -> None:
    values = {name: float(fact["value"]) for name, fact in provenance().items()}
    del values["nccl_bytes"]
    with pytest.raises(InputError) as error:
        build_constants(values, dict(tables.constants.spread))
    assert error.value.params["id"] == "nccl_bytes"
    with pytest.raises(InputError) as error:
        build_constants(values | {"nccl_bytes": 1.0, "nonsense": 1.0}, dict(tables.constants.spread))
    assert error.value.params["id"] == "nonsense"


def test_tables_come_from_the_file_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load_memory_tables(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "constants: []",
        "constants: [{name: a}]\nspreads: []\ndefaults: []",
        "constants: [{name: a, value: x}]\nspreads: []\ndefaults: []",
        "constants: []\nspreads: []\ndefaults: [{framework: any}]",
        "constants: []\nspreads: []\ndefaults: []",
    ],
)
def test_a_file_that_is_not_in_the_form_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "constants.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        load_memory_tables(file)


def test_every_default_fills_a_field_that_a_recipe_has_and_names_its_source(tables: MemoryTables) -> None:
    names = {item.name for item in fields(Recipe)}
    for default in tables.defaults:
        assert default.field in names
        assert default.source
        assert set(default.when or {}) <= names
