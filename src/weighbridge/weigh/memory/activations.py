"""Bytes that a transformer layer keeps for its backward pass, per token of one micro-batch.

Counting is by hand over the published layer: a product keeps its inputs when its weight is trained, a
norm what its backward reads, an activation function its argument and result. What the kernels of a
framework keep beside that is a constant per element of the hidden size (``MemoryConstants``).
Not counted here: logits and loss (``logits``), and what lies across pipeline stages (``phases``).
"""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.memory_constants import MemoryConstants
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.weigh.memory.parameters import (
    adapted_outputs,
    expert_width,
    key_width,
    moe_share,
    query_width,
    target_kinds,
)


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Per token and layer: the layer's input, all it keeps without checkpointing, and the recompute peak.

    ``interior`` is what one layer holds at the fullest moment of its backward pass, its input not counted.
    """

    stream: float
    kept: float
    interior: float
    selective: float


def active_width(shape: ModelShape, busiest: float = 1.0) -> float:
    """Width of the feed-forward part that one token passes through, mean over layers.

    ``busiest``: routed tokens on the fullest rank over the mean.
    """
    moe = moe_share(shape)
    routed = busiest * (shape.experts_per_token or 0) * expert_width(shape) + shape.shared_expert_ffn_hidden
    return (1 - moe) * shape.ffn_hidden + moe * routed


def element_bytes(precision: str | None) -> float:
    return 4.0 if precision == "fp32" else 2.0


def layer_bytes(
    shape: ModelShape, recipe: Recipe, constants: MemoryConstants, expert_parallel: int = 1
) -> LayerBytes:
    element = element_bytes(recipe.compute)
    scale = element / 2
    stream = shape.hidden * (4.0 if recipe.fp32_norms else element)
    attention = _attention(shape, recipe, constants, element)
    small = _norms(shape, recipe, constants) * shape.hidden * scale
    busiest = constants.busiest_expert_rank if expert_parallel > 1 else 1.0
    width = active_width(shape, busiest)
    feed_forward = _feed_forward(shape, recipe) * width * element
    feed_forward += _adapter_inputs(shape, recipe, constants) * scale
    copies = constants.routed_copy_bytes_per_hidden
    copies += constants.routed_exchange_bytes_per_hidden if expert_parallel > 1 else 0.0
    routed = moe_share(shape) * (shape.experts_per_token or 0) * busiest * copies * shape.hidden * scale
    kept = attention + small + feed_forward + routed
    interior = kept + _backward_temporaries(shape, recipe, constants) * scale
    if recipe.fp32_norms:
        interior += small
    selective = _selective(shape, recipe, constants, width) * scale
    return LayerBytes(stream=stream, kept=kept, interior=interior, selective=min(selective, kept + stream))


def _selective(shape: ModelShape, recipe: Recipe, constants: MemoryConstants, width: float) -> float:
    """Selective checkpointing per operator keeps every second product and the attention result.

    Products in fp4 are operators of their own, not on the list: what they keep are their packed inputs.
    """
    if recipe.compute == "fp4":
        inputs = 2 * shape.hidden + query_width(shape) + width
        return 4 * shape.hidden + constants.fp4_bytes_per_value * inputs
    return (
        constants.selective_hidden_bytes * shape.hidden
        + constants.selective_kv_bytes * key_width(shape)
        + constants.selective_ffn_bytes * width
    )


def _attention(shape: ModelShape, recipe: Recipe, constants: MemoryConstants, element: float) -> float:
    """Query, key, value and result, as flash attention keeps them; eager keeps the scores as well."""
    width = 2 * query_width(shape) + 2 * key_width(shape)
    scores = 0.0
    if recipe.attention == "eager" and recipe.sequence is not None:
        scores = shape.heads * recipe.sequence * constants.eager_attention_bytes_per_score
    return width * element + scores


def _norms(shape: ModelShape, recipe: Recipe, constants: MemoryConstants) -> float:
    """Bytes per element of the hidden size for norms, residual adds and the inputs of trained products."""
    if shape.norm == "layer":
        per_hidden = constants.norm_layer_bytes_per_hidden
    elif recipe.compile:
        per_hidden = constants.norm_rms_compiled_bytes_per_hidden
    elif recipe.fused_kernels:
        per_hidden = constants.norm_rms_fused_bytes_per_hidden
    else:
        per_hidden = constants.norm_rms_eager_bytes_per_hidden
    if _trains_all(recipe):
        per_hidden += constants.trained_input_bytes_per_hidden * (0.5 if _fp8_inputs(recipe) else 1.0)
    elif recipe.training in ("lora", "qlora") and not recipe.lora_dropout:
        per_hidden += constants.adapter_input_bytes_per_hidden
    return per_hidden


def _trains_all(recipe: Recipe) -> bool:
    return recipe.training == "full" or _quantised_product_keeps_input(recipe)


def _quantised_product_keeps_input(recipe: Recipe) -> bool:
    # bitsandbytes' 4-bit product keeps its input although the weight is frozen.
    return recipe.base_quant == "nf4" and recipe.checkpointing == "none"


def _fp8_inputs(recipe: Recipe) -> bool:
    # Transformer Engine keeps the fp8 form of a product's input; torchao casts again from 16 bits.
    return recipe.compute == "fp8" and recipe.framework == "nemo"


def _feed_forward(shape: ModelShape, recipe: Recipe) -> float:
    """Elements per unit of width: gate, up, activated, product; or first product and activated."""
    kept = 3.0 if shape.gated else 1.0
    if shape.gated and recipe.framework == "nemo":
        kept = 2.0  # Transformer Engine makes the activated half again inside its fused backward
    adapted = "mlp" in target_kinds(recipe.lora_targets or ()) and not recipe.lora_dropout
    keeps_input = _trains_all(recipe) or adapted
    return kept + ((0.5 if _fp8_inputs(recipe) else 1.0) if keeps_input else 0.0)


def _adapter_inputs(shape: ModelShape, recipe: Recipe, constants: MemoryConstants) -> float:
    """Dropout before an adapter keeps its result and its mask, for the input of every adapted matrix."""
    kinds = target_kinds(recipe.lora_targets or ())
    # A product that a trained vector scales is kept for the gradient of the vector.
    scaled = 2.0 * adapted_outputs(shape, kinds) if recipe.output_scales else 0.0
    if recipe.training not in ("lora", "qlora") or not recipe.lora_dropout:
        return scaled
    inputs = shape.hidden if {"q", "k", "v", "qkv"} & kinds else 0
    inputs += query_width(shape) if "o" in kinds else 0
    if "mlp" in kinds:
        inputs += (2 if shape.gated else 1) * shape.hidden + shape.ffn_hidden
    return scaled + constants.dropout_bytes_per_input * inputs


def _backward_temporaries(shape: ModelShape, recipe: Recipe, constants: MemoryConstants) -> float:
    """Gradients alive at once when the feed-forward part turns: product, up and activated; two when ungated.

    Experts turn one after the other, so of the routed part only one expert's share of tokens is alive.
    """
    moe = moe_share(shape)
    routed = 0.0
    if shape.experts:
        routed = (shape.experts_per_token or 0) / shape.experts * expert_width(shape)
    width = (1 - moe) * shape.ffn_hidden + moe * (routed + shape.shared_expert_ffn_hidden)
    gradients = 6.0 if shape.gated else 4.0
    if _trains_all(recipe) and shape.gated:
        gradients -= 2.0  # the product is let go before the last gradient is made
    return gradients * width + constants.recompute_gradient_bytes_per_hidden * shape.hidden
