"""Weights, gradients, optimizer states and step temporaries on one device, by sharding and degrees."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.memory_constants import MemoryConstants
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.parameters import Parameters, adapted_outputs, lora_parameters, target_kinds

_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5625}


@dataclass(frozen=True, slots=True)
class States:
    """Bytes on the fullest device. ``trained`` counts parameters that this device updates.

    ``unsharded_unit`` is one layer gathered for computing, ``unsharded_outside`` embedding and head so,
    ``gradient_unit`` one layer's gradients before they are reduced, ``unsynced_gradients`` all of them while
    FSDP1 accumulates without reducing.
    """

    weights: float
    adapters: float
    gradients: float
    optimizer: float
    temporaries: float
    trained: float
    unsharded_unit: float
    unsharded_outside: float
    unsharded_head: float
    gradient_unit: float
    unsynced_gradients: float
    unsharded_all: float
    dequantised: float


def weigh_states(
    shape: ModelShape, counted: Parameters, recipe: Recipe, degrees: Degrees, constants: MemoryConstants
) -> States:
    local = _local(counted, degrees, degrees.weight_shards(recipe) > 1)
    frozen = recipe.training != "full"
    adapters = _adapter_parameters(shape, counted, recipe) / (degrees.tensor * degrees.pipeline)
    trained = adapters if frozen else local
    master = _BYTES[recipe.master or "bf16"]
    weight_bytes = _frozen_weight_bytes(counted, local, recipe, constants) if frozen else local * master
    weight_shards = degrees.weight_shards(recipe)
    state_shards = degrees.state_shards(recipe)
    adapter_dtype = _adapter_bytes(recipe) if frozen else 0.0
    gradient_bytes = adapter_dtype if frozen else _gradient_bytes(recipe)
    weights = weight_bytes / weight_shards
    if _split_master(recipe) and not frozen:
        weights = local * 2.0 / weight_shards
    compute = 2.0 if recipe.compute != "fp32" else 4.0
    quant = _frozen_weight_bytes(counted, local, recipe, constants) / max(local, 1.0) if frozen else compute
    unit = counted.layer / degrees.tensor + counted.experts / (degrees.expert * degrees.tensor)
    resting = 0.0 if recipe.parameter_offload and weight_shards > 1 else 1.0
    return States(
        weights=weights * resting,
        adapters=adapters * adapter_dtype / weight_shards if frozen else 0.0,
        gradients=resting * trained * gradient_bytes / degrees.gradient_shards(recipe),
        optimizer=_optimizer_bytes(recipe, trained, frozen, constants) / state_shards,
        temporaries=_temporaries(recipe, trained, frozen, state_shards, unit * master)
        + _raised_gradients(recipe, trained, state_shards),
        trained=trained,
        unsharded_unit=unit * quant,
        unsharded_outside=counted.outside_layers / degrees.tensor * compute,
        unsharded_head=(counted.head or counted.embedding) / degrees.tensor * compute,
        gradient_unit=0.0 if frozen or weight_shards == 1 else unit * compute,
        unsynced_gradients=_unsynced(recipe, local, trained, frozen),
        unsharded_all=local * quant,
        dequantised=_dequantised(shape, recipe),
    )


def _local(counted: Parameters, degrees: Degrees, sharded: bool) -> float:
    """Parameters of the fullest pipeline stage: its layers and, at one end, the embedding or the head."""
    # FSDP takes the expert ranks out of its own, so that experts are not divided twice.
    spread = 1 if sharded else degrees.expert
    layers = -(-counted.layers // degrees.pipeline)
    per_layer = (counted.layer + counted.experts / spread) / degrees.tensor
    ends = counted.outside_layers if degrees.pipeline == 1 else max(counted.embedding, counted.head)
    return layers * per_layer + ends / degrees.tensor


def _frozen_weight_bytes(
    counted: Parameters, local: float, recipe: Recipe, constants: MemoryConstants
) -> float:
    plain = _BYTES[recipe.master or "bf16"]
    quant = recipe.base_quant or "none"
    if quant == "none":
        return local * plain
    per_weight = {
        "nf4": constants.nf4_double_quant_bytes_per_weight
        if recipe.double_quant
        else constants.nf4_bytes_per_weight,
        "int4": constants.int4_bytes_per_weight,
        "int8": constants.int8_bytes_per_weight,
        "fp8": 1.0,
    }[quant]
    quantised = counted.layers * (counted.linear + counted.experts) / counted.total
    return local * (quantised * per_weight + (1 - quantised) * plain)


def _adapter_parameters(shape: ModelShape, counted: Parameters, recipe: Recipe) -> float:
    extra = 0.0
    if recipe.trains_embeddings:
        extra = counted.embedding + counted.head
    if recipe.trained_parameters is not None:
        return recipe.trained_parameters
    if recipe.training in ("lora", "qlora"):
        kinds = target_kinds(recipe.lora_targets or ()) or frozenset({"q", "v"})
        magnitudes = shape.layers * adapted_outputs(shape, kinds) if recipe.output_scales else 0.0
        return extra + magnitudes + lora_parameters(shape, recipe.lora_rank or 8, kinds)
    return extra


def _adapter_bytes(recipe: Recipe) -> float:
    # PEFT keeps adapters in fp32 beside 16-bit weights, unless one flat parameter must hold both.
    if is_deepspeed(recipe):
        return 2.0  # the engine casts the whole module
    if recipe.autocast is not False and not (recipe.sharding or "none").startswith(("fsdp", "hsdp")):
        return 4.0
    return _BYTES[recipe.master or "bf16"]


def _gradient_bytes(recipe: Recipe) -> float:
    if recipe.optimizer_in_backward:
        return 0.0
    if _split_master(recipe):
        # fp8 recipes reduce gradients in bf16, bf16 recipes accumulate them in fp32 (Megatron).
        return 2.0 if is_deepspeed(recipe) or recipe.compute == "fp8" else 4.0
    return 4.0 if recipe.master == "fp32" else 2.0


def _split_master(recipe: Recipe) -> bool:
    """Megatron and DeepSpeed keep 16-bit weights and, in the optimizer, an fp32 copy beside fp32 states."""
    if is_deepspeed(recipe):
        return recipe.compute != "fp32"
    return recipe.sharding == "megatron" and recipe.training == "full"


def is_deepspeed(recipe: Recipe) -> bool:
    """ZeRO by its stages is DeepSpeed's; its engine runs on one device as well."""
    return recipe.framework == "deepspeed" or (recipe.sharding or "").startswith("zero")


def _state_bytes(recipe: Recipe, master: float, constants: MemoryConstants) -> float:
    """Bytes of optimizer state per parameter."""
    name = (recipe.optimizer or "adamw").lower()
    if recipe.paged_optimizer or recipe.optimizer_offload:
        return 0.0
    if name in ("adamw8bit", "adam8bit"):
        return 2 * constants.adam8bit_bytes_per_state
    if name == "adamw4bit":
        return constants.adam8bit_bytes_per_state
    return {"sgd": 0.0, "sgd_momentum": master, "adafactor": 0.0, "lion": master, "muon": master}.get(
        name, 2 * master
    )


def _optimizer_bytes(recipe: Recipe, trained: float, frozen: bool, constants: MemoryConstants) -> float:
    if recipe.optimizer_offload or recipe.parameter_offload:
        return 0.0
    if _split_master(recipe):
        return trained * (4.0 + _state_bytes(recipe, 4.0, constants))
    master = _adapter_bytes(recipe) if frozen else _BYTES[recipe.master or "bf16"]
    return trained * _state_bytes(recipe, master, constants)


def _temporaries(recipe: Recipe, trained: float, frozen: bool, shards: float, unit: float) -> float:
    """A foreach step holds one more copy of what it updates; a fused one nothing; a loop one matrix."""
    if recipe.optimizer_in_backward or recipe.optimizer_offload or is_deepspeed(recipe):
        return 0.0  # DeepSpeed's Adam is fused
    if recipe.parameter_offload:
        return 0.0  # the step runs on the host
    name = (recipe.optimizer or "adamw").lower()
    width = _adapter_bytes(recipe) if frozen else _BYTES[recipe.master or "bf16"]
    if name in ("adamw8bit", "adam8bit", "adamw4bit") or recipe.optimizer_implementation == "fused":
        return 0.0
    if recipe.optimizer_implementation == "loop" or name in ("sgd", "sgd_momentum", "lion", "muon"):
        return min(trained * width / shards, unit)
    return trained * width / shards


def _unsynced(recipe: Recipe, local: float, trained: float, frozen: bool) -> float:
    """Under no_sync FSDP1 keeps whole, unreduced gradients until the last micro-step.

    A flat parameter that holds frozen and trained weights has a gradient as a whole.
    """
    sharded = recipe.sharding in ("fsdp", "hsdp") and recipe.fsdp_version == 1
    if not sharded or (recipe.accumulation or 1) == 1:
        return 0.0
    covered = trained if frozen and not recipe.flat_adapters else local
    return covered * (4.0 if recipe.compute == "fp32" else 2.0)


def _raised_gradients(recipe: Recipe, trained: float, shards: float) -> float:
    """DeepSpeed raises its share of the gradients to fp32 for the step."""
    return trained * 4.0 / shards if is_deepspeed(recipe) and _split_master(recipe) else 0.0


def _dequantised(shape: ModelShape, recipe: Recipe) -> float:
    """A quantised product raises one matrix to 16 bits at a time; DoRA adds its update and the sum to it."""
    matrix = 2.0 * shape.hidden * max(shape.ffn_hidden, shape.expert_ffn_hidden or 0)
    raised = 0.0 if recipe.base_quant in (None, "none") else matrix
    dora = recipe.output_scales and recipe.training in ("lora", "qlora")
    return raised + (2 * matrix if dora else 0.0)
