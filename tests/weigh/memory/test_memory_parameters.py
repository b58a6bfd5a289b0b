"""Counted parameters against published totals (model cards and the safetensors index of each model)."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_builders import LLAMA3, MISTRAL, MIXTRAL

from truth.shapes import key, load_shapes
from weighbridge.weigh.memory import count
from weighbridge.weigh.memory.parameters import lora_parameters, target_kinds

# Only totals that are known to the last digit; the rest of models.csv is checked to the size in its name.
PUBLISHED = {
    "falcon-7b": 6_921_720_704,
    "falcon-40b": 41_303_293_952,
    "Gemma-2b": 2_506_172_416,
    "Gemma-7b": 8_537_680_896,
    "Gemma-2-2b": 2_614_341_888,
    "Gemma-2-9b": 9_241_705_984,
    "Llama-2-7b-hf": 6_738_415_616,
    "Llama-2-13b-hf": 13_015_864_320,
    "Llama-2-70b-hf": 68_976_648_192,
    "Llama-3-8B": 8_030_261_248,
    "Llama-3-70B": 70_553_706_496,
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-3.1-405B": 405_853_388_800,
    "Llama-3.2-1B": 1_235_814_400,
    "Llama-3.2-3B": 3_212_749_824,
    "Mistral-7B-v0.1": 7_241_732_096,
    "Mistral-7B-v0.2": 7_241_732_096,
    "Mixtral-8x7B-v0.1": 46_702_792_704,
    "phi-1_5": 1_418_270_720,
    "phi-2": 2_779_683_840,
    "Phi-3-mini-4k-instruct": 3_821_079_552,
    "tiny-llama-1.1b": 1_100_048_384,
    "CodeLlama-34b-hf": 33_743_970_304,
    "Qwen3-8B": 8_190_735_360,
    "Qwen3-32B": 32_762_123_264,
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen3-30B-A3B": 30_532_122_624,
    "Qwen3-235B-A22B": 235_093_634_560,
    "pythia-1.4b": 1_414_647_808,
    "pythia-2.8b": 2_775_208_960,
    "pythia-6.9b": 6_857_302_016,
    "pythia-12b": 11_846_072_320,
    "Qwen-7B": 7_721_324_544,
    "Qwen-14B": 14_167_290_880,
    "Qwen2.5-0.5B": 494_032_768,
    "Qwen2.5-72B": 72_706_203_648,
    "Mixtral-8x22B": 140_630_071_296,
    "GPT-NeoX-20B": 20_554_567_680,
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "opt-6.7b": 6_658_473_984,
    "ChatGLM3-6B": 6_243_584_000,
    "SantaCoder-1.1B": 1_124_886_528,
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_counted_total_is_the_published_one(name: str, shared: Path) -> None:
    shape = load_shapes(shared / "truth")[key(name)]
    assert count(shape).total == PUBLISHED[name]


def test_embedding_head_layers_and_experts_add_up_to_the_total() -> None:
    # Mistral layer: 4096 x (4096 + 2 x 1024) + 4096 x 4096 + 3 x 4096 x 14336 + two norms of 4096.
    layer = 4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336 + 2 * 4096
    assert count(MISTRAL).layer == layer
    assert count(MISTRAL).total == 32 * layer + 2 * 32000 * 4096 + 4096


def test_experts_are_counted_apart_from_what_every_rank_holds() -> None:
    # Eight times the dense feed-forward part, and a router of 4096 x 8.
    assert count(MIXTRAL).experts == 8 * 3 * 4096 * 14336
    assert count(MIXTRAL).layer == 4096 * 6144 + 4096 * 4096 + 4096 * 8 + 2 * 4096


def test_a_head_adapter_counts_the_vocabulary() -> None:
    assert lora_parameters(LLAMA3, 8, frozenset({"head"})) == 8 * (4096 + 128256)


def test_target_names_of_several_frameworks_mean_the_same_matrices() -> None:
    assert target_kinds(("q_proj",)) == target_kinds(("query",)) == {"q"}
    assert target_kinds(("gate_proj", "down_proj")) == target_kinds(("w1", "w2")) == {"mlp"}
    assert target_kinds(("nonsense",)) == frozenset()
