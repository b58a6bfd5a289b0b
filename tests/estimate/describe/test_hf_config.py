"""A config.json of every family: the counted total is the published one, or written out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from weighbridge.errors import InputError
from weighbridge.estimate.describe.hf_config import from_config
from weighbridge.weigh.memory import count


def llama(**more: Any) -> dict[str, Any]:
    sizes = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    }
    return sizes | more


PUBLISHED: dict[str, tuple[int, dict[str, Any]]] = {
    "llama-3.1-8b": (8_030_261_248, llama()),
    "qwen2.5-7b": (
        7_615_616_512,
        llama(
            model_type="qwen2",
            hidden_size=3584,
            intermediate_size=18944,
            num_hidden_layers=28,
            num_attention_heads=28,
            num_key_value_heads=4,
            vocab_size=152064,
        ),
    ),
    "qwen3-8b": (
        8_190_735_360,
        llama(
            model_type="qwen3", intermediate_size=12288, num_hidden_layers=36, vocab_size=151936, head_dim=128
        ),
    ),
    "qwen3-30b-a3b": (
        30_532_122_624,
        llama(
            model_type="qwen3_moe",
            hidden_size=2048,
            intermediate_size=6144,
            num_hidden_layers=48,
            num_key_value_heads=4,
            vocab_size=151936,
            head_dim=128,
            num_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=768,
            decoder_sparse_step=1,
            mlp_only_layers=[],
        ),
    ),
    "mixtral-8x7b": (
        46_702_792_704,
        llama(model_type="mixtral", vocab_size=32000, num_local_experts=8, num_experts_per_tok=2),
    ),
    "gemma-2-2b": (
        2_614_341_888,
        llama(
            model_type="gemma2",
            hidden_size=2304,
            intermediate_size=9216,
            num_hidden_layers=26,
            num_attention_heads=8,
            num_key_value_heads=4,
            vocab_size=256000,
            head_dim=256,
        ),
    ),
    "gpt2": (
        124_439_808,
        {
            "model_type": "gpt2",
            "n_embd": 768,
            "n_layer": 12,
            "n_head": 12,
            "n_positions": 1024,
            "vocab_size": 50257,
        },
    ),
    "opt-6.7b": (
        6_658_473_984,
        {
            "model_type": "opt",
            "hidden_size": 4096,
            "ffn_dim": 16384,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "max_position_embeddings": 2048,
            "vocab_size": 50272,
        },
    ),
    "bloom-560m": (
        559_214_592,
        {"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880},
    ),
    "falcon-7b": (
        6_921_720_704,
        {
            "model_type": "falcon",
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "multi_query": True,
            "parallel_attn": True,
            "bias": False,
            "vocab_size": 65024,
        },
    ),
    "falcon-40b": (
        41_303_293_952,
        {
            "model_type": "falcon",
            "hidden_size": 8192,
            "num_hidden_layers": 60,
            "num_attention_heads": 128,
            "num_kv_heads": 8,
            "new_decoder_architecture": True,
            "parallel_attn": True,
            "bias": False,
            "vocab_size": 65024,
        },
    ),
    "phi-2": (
        2_779_683_840,
        {
            "model_type": "phi",
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "vocab_size": 51200,
        },
    ),
    "pythia-6.9b": (
        6_857_302_016,
        {
            "model_type": "gpt_neox",
            "hidden_size": 4096,
            "intermediate_size": 16384,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "vocab_size": 50432,
            "tie_word_embeddings": False,
        },
    ),
    "starcoderbase": (
        15_517_456_384,
        {
            "model_type": "gpt_bigcode",
            "n_embd": 6144,
            "n_layer": 40,
            "n_head": 48,
            "n_inner": 24576,
            "multi_query": True,
            "n_positions": 8192,
            "vocab_size": 49152,
        },
    ),
    "chatglm3-6b": (
        6_243_584_000,
        {
            "model_type": "chatglm",
            "hidden_size": 4096,
            "ffn_hidden_size": 13696,
            "num_layers": 28,
            "num_attention_heads": 32,
            "kv_channels": 128,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "add_qkv_bias": True,
            "padded_vocab_size": 65024,
            "tie_word_embeddings": False,
        },
    ),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_counted_total_of_a_config_is_the_published_one(name: str) -> None:
    total, config = PUBLISHED[name]
    assert count(from_config(config, "config.json").shape).total == total


def test_t5_base_is_counted_to_its_relative_positions_and_norms() -> None:
    # 222,903,552 published; not counted: 2 x 32 x 12 relative positions, a second final norm (768);
    # one third norm in each of 12 decoder layers.
    config = {"model_type": "t5", "d_model": 768, "d_ff": 3072, "d_kv": 64, "num_heads": 12, "num_layers": 12}
    found = from_config({**config, "vocab_size": 32128}, "config.json")
    assert count(found.shape).total == 222_903_552 - 2 * 32 * 12 - 768 - 12 * 768
    assert [finding.code for finding in found.notes] == ["estimate.note.cross_attention"]


def test_a_vision_transformer_takes_its_patches_as_sequence() -> None:
    sizes = {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
    }
    found = from_config({"model_type": "vit", **sizes, "image_size": 224, "patch_size": 16}, "config.json")
    assert found.sequence == 14 * 14 + 1
    # ViT-B/16 without its head: 85,798,656.
    assert count(found.shape).total == 85_798_656


def test_latent_attention_says_how_it_is_counted() -> None:
    # DeepSeek-V2-Lite: query 2048 x 3072, down 2048 x 576, up 512 x 4096, output 2048 x 2048 = 13,762,560;
    # heads of 128 beside key heads of 128: 2 x 2048 x 128 x (16 + n); n = 10.25, the nearest divisor is 8.
    config = llama(
        model_type="deepseek_v2",
        hidden_size=2048,
        num_attention_heads=16,
        num_key_value_heads=16,
        kv_lora_rank=512,
        q_lora_rank=None,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
    )
    found = from_config(config, "config.json")
    assert (found.shape.heads, found.shape.kv_heads, found.shape.head_dim) == (16, 8, 128)
    (told,) = found.notes
    assert told.code == "estimate.note.latent_attention"
    assert told.params["share"] == pytest.approx(2 * 2048 * 128 * 24 / 13_762_560 - 1)


def test_deepseek_v3_comes_within_half_a_percent_of_its_671_billion() -> None:
    config = llama(
        model_type="deepseek_v3",
        hidden_size=7168,
        intermediate_size=18432,
        moe_intermediate_size=2048,
        num_hidden_layers=61,
        num_attention_heads=128,
        num_key_value_heads=128,
        n_shared_experts=1,
        n_routed_experts=256,
        num_experts_per_tok=8,
        first_k_dense_replace=3,
        kv_lora_rank=512,
        q_lora_rank=1536,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        vocab_size=129280,
    )
    assert count(from_config(config, "config.json").shape).total == pytest.approx(671.0e9, rel=0.005)


def test_dense_first_layers_and_shared_experts_are_counted() -> None:
    config = llama(
        model_type="deepseek",
        n_routed_experts=64,
        num_experts_per_tok=6,
        n_shared_experts=2,
        moe_intermediate_size=1408,
        first_k_dense_replace=1,
    )
    shape = from_config(config, "config.json").shape
    assert (shape.experts, shape.moe_layers, shape.shared_expert_ffn_hidden) == (64, 31, 2816)


def test_a_vision_language_config_names_what_is_not_counted() -> None:
    config = {"model_type": "llava", "text_config": llama(), "vision_config": {"hidden_size": 1024}}
    found = from_config(config, "config.json")
    assert count(found.shape).total == 8_030_261_248
    assert found.notes[0].code == "estimate.note.vision_part"
    assert found.notes[0].params["parts"] == ["vision_config"]


@pytest.mark.parametrize(
    ("quantisation", "stored"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "aqlm"}, None),
    ],
)
def test_a_quantised_config_says_how_its_weights_are_counted(
    quantisation: dict[str, Any], stored: str | None
) -> None:
    found = from_config(llama(quantization_config=quantisation), "config.json")
    assert found.quant == stored
    code = "estimate.note.quant_not_counted" if stored is None else "estimate.note.quant"
    assert [finding.code for finding in found.notes] == [code]


def test_an_unknown_type_is_counted_by_its_fields_and_says_so() -> None:
    found = from_config(llama(model_type="brand-new"), "config.json")
    assert count(found.shape).total == 8_030_261_248
    assert found.notes[0].code == "estimate.note.unknown_type"


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"hidden_size": None}, "estimate.missing_fields", "hidden_size"),
        ({"vocab_size": None}, "estimate.missing_fields", "vocab_size"),
        ({"num_hidden_layers": -1}, "estimate.bad_field", "num_hidden_layers"),
        ({"num_hidden_layers": "many"}, "estimate.bad_field", "num_hidden_layers"),
        ({"hidden_size": 10**12}, "estimate.bad_field", "hidden_size"),
        ({"num_key_value_heads": 5}, "estimate.kv_heads", "5"),
        ({"num_attention_heads": 31, "num_key_value_heads": 31}, "estimate.head_dim", "31"),
        ({"model_type": "mamba2"}, "estimate.not_a_transformer", "mamba2"),
        ({"model_type": "bart", "is_encoder_decoder": True}, "estimate.encoder_decoder", "bart"),
        ({"num_local_experts": 8}, "estimate.missing_fields", "num_experts_per_tok"),
        ({"num_local_experts": 8, "num_experts_per_tok": 9}, "estimate.too_few_experts", "9"),
    ],
)
def test_a_config_that_cannot_be_counted_names_the_field(
    change: dict[str, Any], code: str, word: str
) -> None:
    with pytest.raises(InputError) as caught:
        from_config(llama(**change), "some/config.json")
    assert caught.value.code == code
    assert word in str(caught.value.params)
