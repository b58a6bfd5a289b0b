"""What does not fit one decoder stack: experts, latent attention, encoder-decoders, vision transformers.

Each is brought to a ModelShape that has the right number of parameters, and a note says how it was counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.estimate.describe.hf_fields import Fields, note
from weighbridge.schema.finding import Finding
from weighbridge.schema.model import ModelShape

Notes = tuple[Finding, ...]
Built = tuple[ModelShape, Notes, int | None]


@dataclass(frozen=True, slots=True)
class Experts:
    """Fields of a ModelShape that say how experts are laid; none for a dense network."""

    fields: dict[str, Any]
    notes: Notes = ()


def experts(config: Fields, kind: str, layers: int) -> Experts:
    count = config.find("experts")
    if count is None or count < 2:
        return Experts({})
    chosen = config.find("experts_per_token")
    if chosen is None:
        raise InputError("estimate.missing_fields", file=config.file, fields=["num_experts_per_tok"])
    if chosen > count:
        raise InputError("estimate.too_few_experts", file=config.file, chosen=chosen, experts=count)
    width = config.find("expert_ffn_hidden") or config.find("ffn_hidden")
    shared = config.whole("shared_expert_intermediate_size", least=0) or 0
    if not shared and config.whole("n_shared_experts", least=0):
        shared = (config.whole("n_shared_experts") or 0) * (width or 0)
    return Experts(
        {
            "experts": count,
            "experts_per_token": chosen,
            "expert_ffn_hidden": width,
            "shared_expert_ffn_hidden": shared,
            "moe_layers": _moe_layers(config, layers),
        }
    )


def _moe_layers(config: Fields, layers: int) -> int | None:
    dense = config.whole("first_k_dense_replace", least=0)
    if dense:
        return max(0, layers - dense)
    step = config.whole("decoder_sparse_step")
    only = config.raw("mlp_only_layers")
    named = len(only) if isinstance(only, list) else 0
    if step and step > 1:
        return max(0, layers // step - named)
    return layers - named if named else None


def latent_weights(config: Fields, hidden: int, heads: int) -> float | None:
    """Weights of one layer's latent attention (DeepSeek-V2, section 2.1); None where there is none."""
    rank = config.whole("kv_lora_rank")
    if rank is None:
        return None
    plain = config.whole("qk_nope_head_dim") or 128
    rotary = config.whole("qk_rope_head_dim") or 64
    value = config.whole("v_head_dim") or 128
    query_rank = config.whole("q_lora_rank")
    wide = heads * (plain + rotary)
    query = hidden * wide if query_rank is None else query_rank * (hidden + wide)
    return query + hidden * (rank + rotary) + rank * heads * (plain + value) + heads * value * hidden


def latent_attention(config: Fields, shape: ModelShape) -> tuple[ModelShape, Notes]:
    """Grouped-query attention with as many weights: heads as wide as the values, key heads to make it up."""
    weights = latent_weights(config, shape.hidden, shape.heads)
    if weights is None:
        return shape, ()
    width = config.whole("v_head_dim") or 128
    per_head = 2 * shape.hidden * width
    wanted = (weights - per_head * shape.heads) / per_head
    fitting = [heads for heads in range(1, shape.heads + 1) if shape.heads % heads == 0]
    kv_heads = min(fitting, key=lambda heads: abs(heads - wanted))
    counted = per_head * (shape.heads + kv_heads)
    told = note("estimate.note.latent_attention", kv_heads=kv_heads, width=width, share=counted / weights - 1)
    return replace(shape, head_dim=width, kv_heads=kv_heads), (told,)


def encoder_decoder(config: Fields) -> Built:
    """T5: relative positions, no biases; both stacks as one, cross-attention as feed-forward width."""
    hidden, heads = config.need("hidden"), config.need("heads")
    encoder, ffn_hidden = config.need("layers"), config.need("ffn_hidden")
    vocabulary, head_dim = config.need("vocabulary"), config.find("head_dim")
    config.check()
    decoder = config.whole("num_decoder_layers", least=0)
    decoder = encoder if decoder is None else decoder
    gated = config.text("feed_forward_proj").startswith("gated")
    shape = ModelShape(
        name=config.text("_name_or_path") or config.text("model_type"),
        layers=encoder + decoder,
        hidden=hidden,
        ffn_hidden=ffn_hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=head_dim or max(1, hidden // heads),
        vocabulary=vocabulary,
        gated=gated,
        tied_embeddings=config.flag("tie_word_embeddings", True),
    )
    return _crossed(shape, encoder, decoder), (note("estimate.note.cross_attention", layers=decoder),), None


def _crossed(shape: ModelShape, encoder: int, decoder: int) -> ModelShape:
    """Cross-attention (four matrices in each decoder layer) spread over the feed-forward width of all."""
    matrices = 3 if shape.gated else 2
    extra = 4 * shape.heads * shape.head_dim * decoder / (matrices * (encoder + decoder))
    return replace(shape, ffn_hidden=shape.ffn_hidden + round(extra))


def whisper(config: Fields) -> Built:
    """Audio frames pass the encoder (1500 positions of 30 s), text the decoder; the longer one counts."""
    hidden, encoder, decoder = (
        config.whole(name) for name in ("d_model", "encoder_layers", "decoder_layers")
    )
    heads, ffn_hidden = config.whole("encoder_attention_heads"), config.whole("encoder_ffn_dim")
    vocabulary = config.find("vocabulary")
    stated = {
        "d_model": hidden,
        "encoder_layers": encoder,
        "decoder_layers": decoder,
        "encoder_attention_heads": heads,
        "encoder_ffn_dim": ffn_hidden,
        "vocab_size": vocabulary,
    }
    config.missing += [name for name, value in stated.items() if value is None]
    config.check()
    if not (hidden and encoder and decoder and heads and ffn_hidden and vocabulary):
        raise InputError("estimate.missing_fields", file=config.file, fields=sorted(stated))
    frames = config.whole("max_source_positions") or 1500
    shape = ModelShape(
        name=config.text("_name_or_path") or "whisper",
        layers=encoder + decoder,
        hidden=hidden,
        ffn_hidden=ffn_hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=max(1, hidden // heads),
        vocabulary=vocabulary,
        gated=False,
        tied_embeddings=True,
        position_rows=frames + (config.whole("max_target_positions") or 448),
        norm="layer",
        norm_bias=True,
        attention_input_bias=True,
        attention_output_bias=True,
        mlp_bias=True,
    )
    told = (
        note("estimate.note.cross_attention", layers=decoder),
        note("estimate.note.whisper", frames=frames),
    )
    return _crossed(shape, encoder, decoder), told, frames


def vision_transformer(config: Fields) -> Built:
    """ViT, DeiT, BEiT: an encoder over patches, its tokens the sequence, the patch product the embedding."""
    hidden, heads = config.need("hidden"), config.need("heads")
    layers, ffn_hidden = config.need("layers"), config.need("ffn_hidden")
    config.check()
    side, patch = config.whole("image_size") or 224, config.whole("patch_size") or 16
    channels = config.whole("num_channels") or 3
    tokens = (side // patch) ** 2 + 1
    shape = ModelShape(
        name=config.text("_name_or_path") or config.text("model_type"),
        layers=layers,
        hidden=hidden,
        ffn_hidden=ffn_hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=max(1, hidden // heads),
        vocabulary=channels * patch * patch,
        gated=False,
        tied_embeddings=True,
        position_rows=tokens + 2,  # and the class token and the patch product's bias
        norm="layer",
        norm_bias=True,
        attention_input_bias=config.flag("qkv_bias", True),
        attention_output_bias=True,
        mlp_bias=True,
        causal=False,
    )
    return shape, (note("estimate.note.vit", tokens=tokens, side=side),), tokens


BUILDERS: Final[dict[str, Callable[[Fields], Built]]] = {
    "t5": encoder_decoder,
    "mt5": encoder_decoder,
    "umt5": encoder_decoder,
    "whisper": whisper,
    "vit": vision_transformer,
    "deit": vision_transformer,
    "beit": vision_transformer,
    "dinov2": vision_transformer,
}
