"""FLOPs of a layer follow from shapes; each figure below is worked out by hand in the test."""

from __future__ import annotations

import pytest

from weighbridge.schema.model import ModelShape
from weighbridge.weigh.memory import count
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.step.operators import flops_per_token, head_product, layer_work

ALONE = Degrees(data=1, tensor=1, pipeline=1, context=1, expert=1)
GPT3 = ModelShape(
    name="GPT-3",
    layers=96,
    hidden=12288,
    ffn_hidden=49152,
    heads=96,
    kv_heads=96,
    head_dim=128,
    vocabulary=51200,
    gated=False,
)


def test_a_layer_of_gpt3_does_24_hidden_squared_flops_per_token_in_its_products() -> None:
    # qkv 6 h^2, output 2 h^2, two matrices of the feed-forward 8 h^2 each.
    work = layer_work(GPT3, 1.0, 2048.0, ALONE)
    assert sum(product.flops for product in work.products) == pytest.approx(24 * 12288**2)


def test_causal_attention_does_half_of_the_square() -> None:
    # Scores and values: 2 products of 2 * s * h per token, half of them masked.
    assert layer_work(GPT3, 1.0, 2048.0, ALONE).score_flops == pytest.approx(2 * 2048 * 12288)


def test_an_encoder_does_the_whole_square() -> None:
    bert = ModelShape(
        name="encoder",
        layers=1,
        hidden=1024,
        ffn_hidden=4096,
        heads=16,
        kv_heads=16,
        head_dim=64,
        vocabulary=30000,
        gated=False,
        causal=False,
    )
    assert layer_work(bert, 1.0, 512.0, ALONE).score_flops == pytest.approx(4 * 512 * 1024)


def test_tensor_parallelism_divides_every_product() -> None:
    whole = layer_work(GPT3, 64.0, 2048.0, ALONE)
    split = layer_work(GPT3, 64.0, 2048.0, Degrees(data=1, tensor=8, pipeline=1, context=1, expert=1))
    assert sum(p.flops for p in split.products) == pytest.approx(sum(p.flops for p in whole.products) / 8)


def test_a_mixture_computes_the_chosen_experts_only() -> None:
    mixtral = ModelShape(
        name="mixture",
        layers=32,
        hidden=4096,
        ffn_hidden=14336,
        heads=32,
        kv_heads=8,
        head_dim=128,
        vocabulary=32000,
        experts=8,
        experts_per_token=2,
    )
    experts = [p for p in layer_work(mixtral, 1.0, 1.0, ALONE).products if p.name.startswith("expert")]
    assert sum(p.flops for p in experts) == pytest.approx(2 * 3 * 2 * 4096 * 14336)


def test_expert_parallelism_keeps_the_routed_tokens_of_a_device() -> None:
    mixtral = ModelShape(
        name="mixture",
        layers=1,
        hidden=64,
        ffn_hidden=128,
        heads=1,
        kv_heads=1,
        head_dim=64,
        vocabulary=100,
        experts=8,
        experts_per_token=2,
    )
    spread = Degrees(data=4, tensor=1, pipeline=1, context=1, expert=4)
    (first, *_) = [p for p in layer_work(mixtral, 80.0, 1.0, spread).products if p.name == "expert_in"]
    assert (first.groups, first.m) == (2.0, 80.0)


def test_six_n_per_token_is_recovered_for_a_wide_network_and_short_sequence() -> None:
    forward = flops_per_token(GPT3, 1.0)
    counted = count(GPT3)
    # The embedding is looked up, not multiplied.
    assert 3 * forward == pytest.approx(6 * (counted.total - counted.embedding), rel=1e-3)


def test_the_head_is_hidden_times_vocabulary() -> None:
    assert head_product(GPT3, 10.0, ALONE).flops == pytest.approx(2 * 10 * 12288 * 51200)
