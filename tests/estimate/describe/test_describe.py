"""From names, files and options to a Description; what cannot be is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weighbridge.errors import InputError
from weighbridge.estimate.describe.describe import describe


def refusal(text: str, options: dict[str, Any] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        describe(text, options or {})
    return caught.value.code


def test_a_name_with_options_becomes_shape_recipe_and_layout() -> None:
    task = describe(
        "llama-3.1-8b",
        {"batch": "2", "sequence": 4096, "gpus": 16, "tp": 2, "pp": 2, "precision": "bf16-mixed"},
    )
    assert task.shape is not None
    assert (task.shape.hidden, task.parameters) == (4096, 8_030_261_248)
    assert (task.recipe.micro_batch, task.recipe.master, task.recipe.compute) == (2, "fp32", "bf16")
    assert (task.layout.data_parallel, task.layout.tensor_parallel, task.gpus) == (4, 2, 16)


def test_what_was_not_said_stays_unknown() -> None:
    recipe = describe("llama-3.1-8b").recipe
    assert (recipe.micro_batch, recipe.master, recipe.optimizer, recipe.training) == (None,) * 4


def test_adapters_keep_the_frozen_base_in_16_bits() -> None:
    recipe = describe("llama-3.1-8b", {"rank": 8, "precision": "bf16-mixed"}).recipe
    assert (recipe.training, recipe.master, recipe.autocast) == ("lora", "bf16", True)
    assert describe("llama-3.1-8b", {"training": "qlora", "rank": 8}).recipe.base_quant == "nf4"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"gpus": 8, "tp": 3}, "estimate.degrees_divide"),
        ({"gpus": 8, "tp": 2, "dp": 8}, "estimate.degrees_multiply"),
        ({"gpus": 7, "tp": 7}, "estimate.heads_divide"),
        ({"tp": 3}, "estimate.heads_divide"),
        ({"pp": 64}, "estimate.layers_divide"),
        ({"cp": 3, "sequence": 4096}, "estimate.sequence_divides"),
        ({"ep": 2}, "estimate.expert_ranks"),
        ({"ep": 2, "gpus": 2}, "estimate.no_experts"),
        ({"sharding": "hsdp", "gpus": 8}, "estimate.missing_options"),
        ({"sharding": "hsdp", "gpus": 8, "shard_degree": 3}, "estimate.shard_degree"),
        ({"sharding": "fsdp", "gpus": 8, "shard_degree": 4}, "estimate.shard_degree_alone"),
        ({"batch": -1}, "estimate.option_whole"),
        ({"batch": 0}, "estimate.option_whole"),
        ({"batch": 1.5}, "estimate.option_whole"),
        ({"sequence": "nan"}, "estimate.option_whole"),
        ({"sequence": "4k"}, "estimate.option_whole"),
        ({"optimizer": "adam"}, "estimate.option_choice"),
        ({"precison": "bf16"}, "estimate.unknown_key_near"),
        ({"compile": "maybe"}, "estimate.option_flag"),
        ({"image_size": 640}, "estimate.image_for_language"),
        ({"training": "full", "rank": 8}, "estimate.rank_without_lora"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], code: str) -> None:
    assert refusal("llama-3.1-8b", options) == code


def test_experts_must_divide_by_expert_parallelism() -> None:
    assert refusal("mixtral-8x7b-v0.1", {"ep": 3, "gpus": 3}) == "estimate.experts_divide"
    assert describe("mixtral-8x7b-v0.1", {"ep": 4, "gpus": 8}).layout.expert_parallel == 4


def test_an_unknown_name_has_its_nearest() -> None:
    with pytest.raises(InputError) as caught:
        describe("lama-3.1-8b-x")
    assert "Llama-3.1-8B" in caught.value.params["near"]  # type: ignore[operator]


def test_a_vision_network_needs_an_image_size_and_refuses_what_only_text_has() -> None:
    assert refusal("resnet-50", {"batch": 4}) == "estimate.missing_options"
    assert refusal("resnet-50", {"image_size": 224, "tp": 2}) == "estimate.option_for_language"
    task = describe("resnet-50", {"image_size": "224x320", "batch": 4, "precision": "fp16-mixed"})
    assert (task.kind, task.image) == ("vision", (224, 320))
    assert task.vision is not None
    assert task.vision.precision == "amp_fp16"


def test_a_description_file_is_read_and_options_win_over_it(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("model: qwen2.5-7b\nbatch: 4\nsequence: 2048\ncheckpointing: full\n")
    task = describe(str(path), {"batch": 8})
    assert (task.name, task.recipe.micro_batch, task.recipe.sequence) == ("Qwen2.5-7B", 8, 2048)
    assert task.recipe.checkpointing == "full"


def test_sizes_may_be_written_out(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("shape: {layers: 2, hidden: 64, ffn_hidden: 256, heads: 4, vocabulary: 1000}\nbatch: 1\n")
    shape = describe(str(path)).shape
    assert shape is not None
    assert (shape.name, shape.kv_heads, shape.head_dim) == ("small", 4, 16)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("model: gpt2\nbatc: 4\n", "estimate.unknown_key_near"),
        ("model: gpt2\nzzzzzz: 4\n", "estimate.unknown_key"),
        ("batch: 4\n", "estimate.model_or_shape"),
        ("model: gpt2\nshape: {layers: 2}\n", "estimate.model_or_shape"),
        ("shape: {layers: 2, hidden: 64}\n", "estimate.missing_fields"),
        ("shape: {layers: -2, hidden: 64}\n", "estimate.bad_field"),
        ("shape: {layer: 2}\n", "estimate.unknown_key_near"),
        ("shape: [1, 2]\n", "estimate.not_a_description"),
        ("- gpt2\n", "estimate.not_a_description"),
        ("model: [\n", "facts.not_yaml"),
        ("model: gpt2\nmodel: gpt2\n", "facts.repeated_key"),
        ("shape: {layers: 2, hidden: 65, ffn_hidden: 4, heads: 4, vocabulary: 10}\n", "estimate.head_dim"),
    ],
)
def test_a_description_file_that_is_wrong_says_where(tmp_path: Path, content: str, code: str) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(content)
    assert refusal(str(path)) == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "estimate.not_json"),
        (b"[1]", "estimate.not_a_config"),
        (b"\xff\xfe\x00", "facts.not_utf8"),
        (b"[" * 100_000, "estimate.not_json"),
        (b"{}", "estimate.missing_fields"),
    ],
)
def test_a_config_that_is_no_config_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert refusal(str(path)) == code


def test_a_folder_stands_for_the_config_in_it(tmp_path: Path) -> None:
    assert refusal(str(tmp_path)) == "estimate.no_such_file"
    sizes = {"n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **sizes}))
    shape = describe(str(tmp_path)).shape
    assert shape is not None
    assert (shape.layers, shape.vocabulary) == (12, 50257)


def test_a_file_that_is_not_there_is_no_model_name() -> None:
    assert refusal("nowhere/config.json") == "estimate.no_such_file"
