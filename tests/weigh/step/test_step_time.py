"""Step time: identities, refusals and what must never happen when one thing changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.facts.load import load_gpus
from weighbridge.facts.step_constants import load_step_tables
from weighbridge.facts.step_machine import step_machine
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.weigh.step import Missing, step_time
from weighbridge.weigh.step.bubble import bubble_share

from .step_builders import MACHINE, ONE, RECIPE, SHAPE, copies, weigh


def test_phases_sum_to_the_step() -> None:
    answer = weigh(RECIPE, copies(8, pipeline_parallel=4), sharding="megatron", accumulation=8)
    assert sum(answer.phases.values()) == pytest.approx(answer.seconds)
    assert answer.low < answer.seconds < answer.high


def test_tokens_per_second_are_tokens_over_seconds_and_devices() -> None:
    answer = weigh(RECIPE, copies(4), sharding="fsdp", accumulation=3)
    assert answer.tokens_per_step == 4 * 3 * 2 * 2048
    assert answer.tokens_per_second_per_device == pytest.approx(4 * 3 * 2 * 2048 / answer.seconds / 4)


def test_mfu_is_model_flops_over_the_dense_rate() -> None:
    answer = weigh()
    # 6 x 6.6e9 parameters in products x 4096 tokens, and attention 3 x 2 s h per token and layer.
    products = 6 * (32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000) * 4096
    attention = 3 * 2 * 2048 * 4096 * 32 * 4096
    assert answer.model_flops == pytest.approx(products + attention)
    assert answer.mfu == pytest.approx(answer.model_flops / answer.seconds / 312e12)


def test_full_recomputation_adds_one_forward_to_hfu_and_none_to_mfu_flops() -> None:
    plain, again = weigh(), weigh(checkpointing="full")
    assert again.model_flops == plain.model_flops
    layers = plain.model_flops - 6 * 4096 * 32000 * 4096
    assert again.hardware_flops - again.model_flops == pytest.approx(layers / 3)
    assert again.seconds > plain.seconds


def test_frozen_weights_need_two_thirds_of_the_product_flops() -> None:
    full = weigh(sequence=1)
    lora = weigh(sequence=1, training="lora", lora_targets=("q_proj", "v_proj"), lora_rank=8)
    assert lora.model_flops == pytest.approx(full.model_flops * 2 / 3, rel=1e-3)


@pytest.mark.parametrize(
    ("stages", "micro_batches", "schedule", "virtual", "share"),
    [
        (4, 8, "1f1b", None, 3 / 8),
        (8, 8, "gpipe", 2, 7 / 8),
        (4, 8, "interleaved", 2, 3 / 16),
        (1, 1, None, None, 0),
    ],
)
def test_bubble(stages: int, micro_batches: int, schedule: str, virtual: int | None, share: float) -> None:
    assert bubble_share(stages, micro_batches, schedule, virtual) == pytest.approx(share)


def test_an_unknown_sequence_is_asked_for() -> None:
    tables = load_step_tables()
    answer = step_time(SHAPE, replace(RECIPE, sequence=None), ONE, MACHINE, tables.constants, tables.defaults)
    assert answer == Missing(("sequence",))


def test_unknown_degrees_are_asked_for_by_name() -> None:
    tables = load_step_tables()
    answer = step_time(SHAPE, RECIPE, Layout(data_parallel=8), MACHINE, tables.constants, tables.defaults)
    assert isinstance(answer, Missing)
    assert "tensor_parallel" in answer.fields


def test_a_card_without_the_rate_is_refused_by_the_name_of_the_rate() -> None:
    tables = load_step_tables()
    machine = replace(MACHINE, rates={"bf16": 300e12})
    recipe = replace(RECIPE, compute="fp32")
    answer = step_time(SHAPE, recipe, ONE, machine, tables.constants, tables.defaults)
    assert answer == Missing(("rates.fp32",))


def test_every_card_of_the_catalogue_is_answered_or_refused_by_name() -> None:
    tables = load_step_tables()
    for card in load_gpus(()):
        for compute in ("bf16", "fp32", "fp8"):
            recipe = replace(RECIPE, compute=compute)
            machine = step_machine(card).machine
            answer = step_time(SHAPE, recipe, ONE, machine, tables.constants, tables.defaults)
            assert isinstance(answer, Missing) or 0 < answer.mfu < 1, card.id


def test_a_documented_default_is_named() -> None:
    answer = weigh(attention=None)
    assert "attention" in answer.assumed
    assert answer.tier == "loose"


def test_quantised_weights_cost_time_to_expand() -> None:
    lora = weigh(training="lora", lora_targets=("q_proj",))
    qlora = weigh(training="qlora", lora_targets=("q_proj",), base_quant="nf4")
    assert qlora.operators["dequantise"] > 0 == lora.operators["dequantise"]
    assert qlora.seconds > lora.seconds


def test_padding_costs_time_where_lengths_vary() -> None:
    tables = load_step_tables()
    recipe = replace(RECIPE, sequence_kind="variable", micro_batch=8)
    padded = step_time(SHAPE, recipe, ONE, MACHINE, tables.constants, tables.defaults)
    free = step_time(SHAPE, recipe, ONE, MACHINE, tables.constants, tables.defaults, padding_free=True)
    assert not isinstance(padded, Missing)
    assert not isinstance(free, Missing)
    assert padded.seconds > free.seconds


def test_the_host_bounds_a_tiny_micro_batch() -> None:
    tiny = weigh(micro_batch=1, sequence=16)
    assert tiny.phases["launch"] > tiny.phases["forward"]


_recipes = st.builds(
    lambda batch, sequence, accumulation, checkpointing, sharding, training: replace(
        RECIPE,
        micro_batch=batch,
        sequence=sequence,
        accumulation=accumulation,
        checkpointing=checkpointing,
        sharding=sharding,
        training=training,
    ),
    st.integers(1, 16),
    st.sampled_from([128, 512, 2048, 8192]),
    st.integers(1, 16),
    st.sampled_from(["none", "selective", "selective_layers", "full"]),
    st.sampled_from(["ddp", "zero1", "zero3", "fsdp", "megatron"]),
    st.sampled_from(["full", "lora"]),
)
_layouts = st.builds(
    lambda data, tensor, pipeline: copies(data, tensor_parallel=tensor, pipeline_parallel=pipeline),
    st.sampled_from([1, 2, 8, 64]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 4]),
)


@given(_recipes, _layouts)
def test_no_phase_is_negative(recipe: Recipe, layout: Layout) -> None:
    answer = weigh(recipe, layout)
    assert min(answer.phases.values()) >= 0
    assert answer.hidden_communication >= 0


@given(_recipes, _layouts)
def test_more_tokens_never_take_less_time(recipe: Recipe, layout: Layout) -> None:
    more = replace(recipe, micro_batch=(recipe.micro_batch or 1) * 2)
    assert weigh(more, layout).seconds >= weigh(recipe, layout).seconds * (1 - 1e-9)


@given(_recipes, _layouts)
def test_a_card_of_twice_the_rate_is_never_slower(recipe: Recipe, layout: Layout) -> None:
    rates = {name: 2 * rate for name, rate in MACHINE.rates.items()}
    fast = replace(MACHINE, rates=rates, power_watts=800.0)
    assert weigh(recipe, layout, fast).seconds <= weigh(recipe, layout).seconds * (1 + 1e-9)


@given(_recipes, _layouts)
def test_a_faster_network_is_never_slower(recipe: Recipe, layout: Layout) -> None:
    fast = replace(MACHINE, network_bytes_per_second=100e9)
    assert weigh(recipe, layout, fast).seconds <= weigh(recipe, layout).seconds * (1 + 1e-9)


@given(_recipes)
def test_mfu_stays_below_one(recipe: Recipe) -> None:
    assert 0 < weigh(recipe).mfu < weigh(recipe).hfu + 1e-12 < 1
