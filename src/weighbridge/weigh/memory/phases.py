"""The phases of a training step and what is alive in each at its fullest moment.

    loss            forward is done, logits and loss are alive, nothing has been let go
    backward_start  the last layer turns: all kept activations, no gradients of layers yet
    backward_end    the first layer turns: every gradient is there, the activations are gone
    optimizer       no activations; the step's temporaries

Between its two ends backward changes linearly from layer to layer, so its fullest moment is one of the ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.memory_constants import MemoryConstants
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.weigh.memory.activations import LayerBytes, element_bytes, layer_bytes
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.logits import loss_bytes
from weighbridge.weigh.memory.records import Phase
from weighbridge.weigh.memory.states import States, is_deepspeed


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes of this stage: kept by all layers at the end of forward, one layer's interior and its input."""

    all_layers: float
    interior: float
    one_input: float
    retained: float
    loss: float


def kept_activations(shape: ModelShape, recipe: Recipe, degrees: Degrees, constants: MemoryConstants) -> Kept:
    tokens = tokens_per_device(recipe, degrees)
    layer = layer_bytes(shape, recipe, constants, degrees.expert)
    stream = layer.stream / (degrees.tensor if recipe.sequence_parallel else 1)
    layers = -(-shape.layers // degrees.pipeline)
    per_layer = _per_layer(layer, stream, recipe, degrees)
    if recipe.activation_offload:
        layers = min(layers, 2)
    kept = layers * per_layer * tokens * _in_flight(recipe, degrees)
    interior = layer.interior / degrees.tensor * tokens
    retained = 0.0
    if _frozen_units_retain(recipe):
        retained = (layers - 1) * tokens * shape.hidden * element_bytes(recipe.compute)
    loss = loss_bytes(shape, recipe, tokens, degrees.tensor, constants)
    return Kept(kept, interior, stream * tokens, retained, loss)


def tokens_per_device(recipe: Recipe, degrees: Degrees) -> float:
    return (recipe.micro_batch or 0) * (recipe.sequence or 0) / degrees.context


def _per_layer(layer: LayerBytes, stream: float, recipe: Recipe, degrees: Degrees) -> float:
    kept = layer.kept / degrees.tensor
    if recipe.checkpointing == "full":
        return stream
    if recipe.checkpointing == "selective":
        return layer.selective / degrees.tensor
    if recipe.checkpointing == "selective_layers":
        share = 1 / recipe.checkpoint_every
        return share * stream + (1 - share) * kept
    return kept


def _in_flight(recipe: Recipe, degrees: Degrees) -> float:
    """Micro-batches whose activations the first stage holds at once (Narayanan 2021, section 2.2)."""
    if degrees.pipeline == 1:
        return 1.0
    waiting = recipe.accumulation or degrees.pipeline
    if recipe.pipeline_schedule == "gpipe":
        return float(waiting)
    held = float(min(degrees.pipeline, waiting))
    if recipe.pipeline_schedule == "interleaved":
        stages = recipe.virtual_stages or 2
        held *= 1 + (degrees.pipeline - 1) / (degrees.pipeline * stages)
    return held


def _frozen_units_retain(recipe: Recipe) -> bool:
    """FSDP1 hooks the inputs of units whose parameters are frozen until backward is over.

    The hooked inputs of a reentrant checkpoint carry their gradient, so that every layer's input and its
    gradient stay (torch/distributed/fsdp/_runtime_utils.py, _register_post_backward_reshard_only_hook).
    """
    return (
        recipe.sharding in ("fsdp", "hsdp")
        and recipe.fsdp_version == 1
        and recipe.training != "full"
        and recipe.checkpointing == "full"
    )


def phases(
    shape: ModelShape, recipe: Recipe, degrees: Degrees, states: States, constants: MemoryConstants
) -> tuple[Phase, ...]:
    kept = kept_activations(shape, recipe, degrees, constants)
    resident = {
        "weights": states.weights,
        "adapters": states.adapters,
        "optimizer_states": states.optimizer,
    }
    working = resident | _gathered(recipe, degrees, states, constants)
    unsynced = states.unsynced_gradients
    already = max(states.gradients, unsynced) if (recipe.accumulation or 1) > 1 else 0.0
    head_gradient = states.unsharded_head if recipe.training == "full" and _gathers(recipe) else 0.0
    return (
        Phase(
            "loss",
            working
            | {
                "gradients": already + _head_gradient_in_loss(recipe, states),
                "activations": kept.all_layers,
                "logits": kept.loss,
            },
        ),
        Phase(
            "backward_start",
            working
            | {
                "gradients": already + states.gradient_unit + head_gradient,
                "activations": kept.all_layers,
                "recomputed": kept.interior,
            },
        ),
        Phase(
            "backward_end",
            working
            | {
                "gradients": max(states.gradients + states.gradient_unit, unsynced),
                "activations": kept.all_layers + kept.retained if kept.retained else kept.one_input,
                "recomputed": kept.interior,
            },
        ),
        Phase(
            "optimizer", resident | {"gradients": states.gradients, "step_temporaries": states.temporaries}
        ),
    )


def _head_gradient_in_loss(recipe: Recipe, states: States) -> float:
    """A loss that makes the logits in chunks sums the head's gradient chunk by chunk while they are alive."""
    chunked = recipe.loss in ("chunked", "linear_fused") and recipe.training == "full"
    return states.unsharded_head if chunked else 0.0


def _gathers(recipe: Recipe) -> bool:
    return recipe.sharding in ("fsdp", "hsdp", "zero3")


def _gathered(
    recipe: Recipe, degrees: Degrees, states: States, constants: MemoryConstants
) -> dict[str, float]:
    """Parameters gathered to compute, bucket copies of gradients, casts of weights, dequantised matrices."""
    gathered = 0.0
    if _gathers(recipe):
        if recipe.fsdp_version == 1:
            gathered = states.unsharded_outside + constants.fsdp1_units_alive * states.unsharded_unit
        else:
            gathered = states.unsharded_head + constants.fsdp2_units_alive * states.unsharded_unit
        if degrees.pipeline > 1:
            # fully_shard keeps parameters gathered and fp32 gradients whole until the last micro-batch.
            gathered = states.unsharded_all + (2 * states.unsharded_all if recipe.training == "full" else 0)
    buckets = states.gradients if recipe.sharding == "ddp" else 0.0
    if is_deepspeed(recipe):
        buckets = constants.zero_bucket_bytes
    casts = 0.0
    if recipe.master == "fp32" and recipe.compute != "fp32" and not _gathers(recipe):
        split = recipe.sharding == "megatron" or is_deepspeed(recipe)
        casts = 0.0 if split else states.weights / 2
    return {
        "gathered_parameters": gathered,
        "gradient_buckets": buckets,
        "cast_weights": casts,
        "dequantised": states.dequantised,
    }
