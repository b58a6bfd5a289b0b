"""The textbook formula that every calculator starts from, scored in the same run and the same macro form.

Weights + gradients + optimizer states + activations + logits, summed without phases: 34 bytes per token,
layer and hidden element (Korthikanti 2022, equation 1, fused attention), 2 with checkpointing and one layer
recomputed, 6 bytes per logit; sharded states divided by the ranks. No kernel, framework or allocator enters.
"""

from __future__ import annotations

from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.weigh.memory import count

_WEIGHT = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5}
_QUANT = {"nf4": 0.5, "int4": 0.5, "int8": 1.0, "fp8": 1.0}


def textbook(shape: ModelShape, recipe: Recipe, layout: Layout) -> float | None:
    """Bytes per device; None where batch or sequence is not stated."""
    if recipe.micro_batch is None or recipe.sequence is None:
        return None
    total = count(shape).total / ((layout.tensor_parallel or 1) * (layout.pipeline_parallel or 1))
    weight = _WEIGHT.get(recipe.master or "bf16", 2.0)
    if recipe.base_quant in _QUANT:
        weight = _QUANT[recipe.base_quant]
    states = 3 * _WEIGHT.get(recipe.master or "bf16", 2.0) if recipe.training == "full" else 0.0
    shards = layout.data_parallel or 1 if recipe.sharding in ("fsdp", "hsdp", "zero3") else 1
    fixed = total * (weight + states) / shards
    tokens = recipe.micro_batch * recipe.sequence / (layout.context_parallel or 1)
    per_layer = 34.0 * shape.hidden
    layers = shape.layers / (layout.pipeline_parallel or 1)
    if recipe.checkpointing == "full":
        activations = layers * 2.0 * shape.hidden + per_layer
    elif recipe.checkpointing in ("selective", "selective_layers"):
        activations = layers * per_layer / 2
    else:
        activations = layers * per_layer
    activations /= layout.tensor_parallel or 1
    return fixed + tokens * (activations + 6.0 * shape.vocabulary / (layout.tensor_parallel or 1))
