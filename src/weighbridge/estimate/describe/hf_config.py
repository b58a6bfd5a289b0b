"""A Hugging Face ``config.json`` as a ModelShape, and what of the network the shape cannot carry.

Families are told by ``model_type``; traits (biases, norms, gated products) are those of the published
model code. A type that is not listed is counted by its fields and says so. Networks without attention in
every layer (state-space, recurrent) are refused: a ModelShape would count something else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.estimate.describe import hf_special
from weighbridge.estimate.describe.hf_fields import Fields, note, read_config
from weighbridge.schema.finding import Finding
from weighbridge.schema.model import ModelShape, Norm
from weighbridge.schema.recipe import BaseQuant

_REFUSED: Final = frozenset(
    [
        "mamba",
        "mamba2",
        "falcon_mamba",
        "rwkv",
        "rwkv5",
        "rwkv6",
        "jamba",
        "bamba",
        "falcon_h1",
        "zamba",
        "zamba2",
        "nemotron_h",
        "recurrent_gemma",
        "qwen3_next",
        "xlstm",
        "granitemoehybrid",
        "minimax",
        "reformer",
    ]
)


@dataclass(frozen=True, slots=True)
class Family:
    """Traits of one family's published model code; ``tied`` is what its config class defaults to."""

    gated: bool = True
    norm: Norm = "rms"
    norms: int = 2
    input_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    qk_norm: bool = False
    tied: bool = False
    positions: bool = False
    more_positions: int = 0
    causal: bool = True


_BIASED: Final = Family(gated=False, norm="layer", input_bias=True, output_bias=True, mlp_bias=True)
_ENCODER: Final = replace(_BIASED, tied=True, positions=True, causal=False)
_PLAIN: Final = Family()
FAMILIES: Final[dict[str, Family]] = {
    **dict.fromkeys(
        ("llama", "mistral", "mixtral", "yi", "internlm2", "olmoe", "granite", "smollm3"), _PLAIN
    ),
    **dict.fromkeys(
        ("phi3", "phimoe", "baichuan", "deepseek", "deepseek_v2", "deepseek_v3", "ministral"), _PLAIN
    ),
    "internlm": Family(input_bias=True, output_bias=True),
    **dict.fromkeys(("qwen", "qwen2", "qwen2_moe", "chatglm", "glm"), Family(input_bias=True)),
    **dict.fromkeys(("qwen3", "qwen3_moe", "olmo2"), Family(qk_norm=True)),
    "gemma": Family(tied=True),
    "gemma2": Family(tied=True, norms=4),
    "gemma3_text": Family(tied=True, norms=4, qk_norm=True),
    "cohere": Family(tied=True, norm="layer", norms=1),
    "stablelm": Family(norm="layer"),
    "starcoder2": replace(_BIASED, tied=True),
    "gpt2": replace(_BIASED, tied=True, positions=True),
    "gpt_bigcode": replace(_BIASED, tied=True, positions=True),
    "gpt_neo": replace(_BIASED, tied=True, positions=True, input_bias=False),
    "gpt_neox": _BIASED,
    "gptj": Family(gated=False, norm="layer", norms=1, mlp_bias=True, head_bias=True),
    "opt": replace(_BIASED, tied=True, positions=True, more_positions=2),
    "bloom": replace(_BIASED, tied=True),
    "falcon": Family(gated=False, norm="layer", tied=True),
    "phi": replace(_BIASED, norms=1, head_bias=True),
    "mpt": Family(gated=False, norm="layer", tied=True),
    "persimmon": _BIASED,
    "bert": _ENCODER,
    "roberta": _ENCODER,
    "xlm-roberta": _ENCODER,
    "electra": _ENCODER,
    "distilbert": _ENCODER,
    "deberta-v2": _ENCODER,
}
# A norm with one vector only, though the family's name says LayerNorm.
_NO_NORM_BIAS: Final = frozenset({"mpt", "cohere"})
_GATED_ACTIVATIONS: Final = ("silu", "swish", "swiglu", "geglu", "reglu")


@dataclass(frozen=True, slots=True)
class Described:
    """``quant`` is how the checkpoint's base weights are stored; ``sequence`` where the config fixes it."""

    shape: ModelShape
    notes: tuple[Finding, ...] = ()
    quant: BaseQuant | None = None
    sequence: int | None = None


def from_config_file(path: Path) -> Described:
    return from_config(read_config(path), str(path))


def from_config(tree: dict[str, Any], file: str) -> Described:
    """Raises InputError that names the file and the field for what cannot be counted."""
    tree, notes = _language_part(tree, file)
    config = Fields(tree, file)
    kind = config.text("model_type").lower() or "unknown"
    if kind in _REFUSED or tree.get("ssm_state_size") or tree.get("state_size"):
        raise InputError("estimate.not_a_transformer", file=file, type=kind)
    quant, told = _quantised(tree.get("quantization_config"))
    if kind in hf_special.BUILDERS:
        shape, more, sequence = hf_special.BUILDERS[kind](config)
        return Described(shape, (*notes, *more, *told), quant, sequence)
    if config.flag("is_encoder_decoder", False):
        known = sorted(hf_special.BUILDERS)
        raise InputError("estimate.encoder_decoder", file=file, type=kind, known=known)
    family = FAMILIES.get(kind)
    if family is None:
        family = _guessed(config)
        notes = (*notes, note("estimate.note.unknown_type", type=kind))
    shape, more = _shape(config, kind, family)
    return Described(shape, (*notes, *more, *told), quant)


def _language_part(tree: dict[str, Any], file: str) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The text model of a vision-language config; everything else of it is named as not counted."""
    for name in ("text_config", "language_config", "llm_config", "thinker_config"):
        inner = tree.get(name)
        if isinstance(inner, dict) and inner.get("hidden_size", inner.get("model_type")):
            if not inner.get("hidden_size") and not inner.get("n_embd"):
                # Old llava files give the type alone and rely on the class's defaults (Llama-2-7B's).
                raise InputError("estimate.missing_fields", file=file, fields=[f"{name}.hidden_size"])
            top = {key: tree[key] for key in ("quantization_config",) if key in tree}
            if "tie_word_embeddings" in tree:
                top["tie_word_embeddings"] = tree["tie_word_embeddings"]
            return {**top, **inner}, (note("estimate.note.vision_part", parts=_other_parts(tree, name)),)
    if any(isinstance(tree.get(name), dict) for name in ("vision_config", "audio_config")):
        return tree, (note("estimate.note.vision_part", parts=_other_parts(tree, "")),)
    return tree, ()


def _other_parts(tree: dict[str, Any], counted: str) -> list[str]:
    found = [name for name in sorted(tree) if name.endswith("_config") and isinstance(tree[name], dict)]
    return [name for name in found if name not in (counted, "quantization_config")] or ["vision_config"]


def _quantised(tree: Any) -> tuple[BaseQuant | None, tuple[Finding, ...]]:
    if not isinstance(tree, dict):
        return None, ()
    method = str(tree.get("quant_method", "bitsandbytes" if tree.get("load_in_4bit") else "unknown")).lower()
    bits = tree.get("bits", tree.get("w_bit", 4))
    found: BaseQuant | None = None
    if method in ("bitsandbytes", "bnb"):
        found = "int8" if tree.get("load_in_8bit") else "nf4"
    elif method in ("gptq", "awq"):
        found = "int8" if bits == 8 else "int4" if bits == 4 else None
    elif "fp8" in method:
        found = "fp8"
    if found is None:
        return None, (note("estimate.note.quant_not_counted", method=method),)
    return found, (note("estimate.note.quant", method=method, stored=found),)


def _guessed(config: Fields) -> Family:
    """A type nobody listed: a Llama unless its fields say otherwise."""
    activation = config.text("hidden_act", "activation_function", "hidden_activation").lower()
    gated = not activation or activation.startswith(_GATED_ACTIVATIONS)
    norm: Norm = "layer" if "layer_norm_eps" in config.tree or "layer_norm_epsilon" in config.tree else "rms"
    return Family(gated=gated, norm=norm)


def _shape(config: Fields, kind: str, family: Family) -> tuple[ModelShape, tuple[Finding, ...]]:
    layers, hidden, heads = config.need("layers"), config.need("hidden"), config.need("heads")
    vocabulary = config.need("vocabulary")
    head_dim = _head_dim(config, kind, hidden, heads)
    ffn_hidden = _ffn_hidden(config, kind, hidden)
    config.check()
    kv_heads = _kv_heads(config, kind, heads)
    if heads % kv_heads:
        raise InputError("estimate.kv_heads", file=config.file, heads=heads, kv_heads=kv_heads)
    experts = hf_special.experts(config, kind, layers)
    positions = (config.find("positions") or 0) + family.more_positions if family.positions else 0
    notes: tuple[Finding, ...] = ()
    if kind in ("bert", "roberta", "xlm-roberta", "electra"):
        positions += config.whole("type_vocab_size", least=0) or 0
        notes = (note("estimate.note.encoder_head"),)
    if kind == "bloom":
        positions += 2  # the embedding's norm, weight and bias
    bias = config.raw("attention_bias")
    shape = ModelShape(
        name=config.text("_name_or_path", "name_or_path") or kind,
        layers=layers,
        hidden=hidden,
        ffn_hidden=ffn_hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=vocabulary,
        gated=family.gated or kind == "stablelm",
        tied_embeddings=config.flag("tie_word_embeddings", family.tied),
        position_rows=positions,
        norm=family.norm,
        norms_per_layer=_norms(config, kind, family),
        norm_bias=family.norm == "layer" and kind not in _NO_NORM_BIAS,
        qk_norm=family.qk_norm,
        attention_input_bias=family.input_bias
        or bias is True
        or config.flag("use_qkv_bias", False)
        or (kind == "falcon" and config.flag("bias", False)),
        attention_output_bias=family.output_bias
        or (bias is True and kind != "qwen2")
        or (kind == "falcon" and config.flag("bias", False)),
        mlp_bias=family.mlp_bias
        or config.flag("mlp_bias", False)
        or (kind == "falcon" and config.flag("bias", False)),
        head_bias=family.head_bias,
        loss_in_fp32=kind not in ("gpt_bigcode", "qwen"),
        causal=family.causal,
    )
    mla, told = hf_special.latent_attention(config, shape)
    return replace(mla, **experts.fields), (*notes, *told, *experts.notes)


def _head_dim(config: Fields, kind: str, hidden: int, heads: int) -> int:
    stated = config.find("head_dim")
    if stated is not None:
        return stated
    if kind in ("gemma", "gemma2", "gemma3_text"):
        return 256
    if kind in ("qwen3", "qwen3_moe"):
        return 128
    if hidden % heads and not config.missing:
        raise InputError("estimate.head_dim", file=config.file, hidden=hidden, heads=heads)
    return max(1, hidden // heads)


def _ffn_hidden(config: Fields, kind: str, hidden: int) -> int:
    if kind == "mpt":
        return hidden * (config.whole("expansion_ratio") or 4)
    stated = config.find("ffn_hidden")
    if kind == "qwen":
        # Qwen 1 states the width of both halves together.
        return (stated or 2) // 2
    if stated is not None:
        return stated
    if kind in ("gpt2", "gpt_bigcode", "gpt_neo", "gptj", "bloom", "falcon", "codegen"):
        return 4 * hidden
    return config.need("ffn_hidden")


def _kv_heads(config: Fields, kind: str, heads: int) -> int:
    if kind in ("falcon", "gpt_bigcode") and config.flag("multi_query", True):
        grouped = kind == "falcon" and config.flag("new_decoder_architecture", False)
        return (config.find("kv_heads") or heads) if grouped else 1
    if kind == "mpt":
        attention = config.raw("attn_config")
        stated = attention.get("kv_n_heads") if isinstance(attention, dict) else None
        return stated if isinstance(stated, int) and stated > 0 else heads
    if kind == "chatglm" and not config.flag("multi_query_attention", False):
        return heads
    return config.find("kv_heads") or heads


def _norms(config: Fields, kind: str, family: Family) -> int:
    if kind == "falcon" and config.flag("parallel_attn", True):
        return 2 if config.flag("new_decoder_architecture", False) else 1
    if kind == "stablelm" and config.flag("use_parallel_residual", False):
        return 1
    return family.norms
