"""What a step sends: per micro-batch between the parts of one model, per step between its copies."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.step_constants import StepConstants
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.collectives import collective_seconds
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.parameters import Parameters, key_width
from weighbridge.weigh.step.kernels import expert_graphs, pick


@dataclass(frozen=True, slots=True)
class Traffic:
    """Seconds on the wire. ``layer`` per layer and micro-batch that no compute hides, ``layer_hideable`` that
    may hide under that layer's compute; ``stage`` per micro-batch between stages; ``replicas`` per step."""

    layer: float
    layer_hideable: float
    stage: float
    gather: float
    replicas: float
    replicas_overlap: str


def weigh_traffic(
    shape: ModelShape,
    counted: Parameters,
    recipe: Recipe,
    degrees: Degrees,
    machine: StepMachine,
    constants: StepConstants,
    tokens: float,
) -> Traffic:
    """``tokens`` of one micro-batch on one device, padding included."""
    stream = tokens * shape.hidden * 2.0
    passes = 2.0 + (1.0 if recipe.checkpointing == "full" else 0.0)
    tensor = passes * 2.0 * collective_seconds("all_reduce", stream, degrees.tensor, 1, machine, constants)
    tensor_hidden = pick(constants.tensor_overlap_share, recipe.framework or "any")
    ring = _context(shape, degrees, tokens, machine, constants)
    expert = _expert(shape, degrees, stream, passes, machine, constants)
    hidden_expert = constants.tensor_overlap_share["expert_graphs" if expert_graphs(recipe) else "expert"]
    gather, replicas = _replicas(counted, recipe, degrees, machine, constants)
    stride = max(1, degrees.tensor * degrees.context)
    stage = 0.0
    if degrees.pipeline > 1:
        far = stride * degrees.data if stride * degrees.data < machine.domain else machine.domain
        stage = 2.0 * collective_seconds(
            "p2p", stream / (degrees.tensor if recipe.sequence_parallel else 1), 2, far, machine, constants
        )
    return Traffic(
        layer=tensor * (1 - tensor_hidden) + expert * (1 - hidden_expert),
        layer_hideable=tensor * tensor_hidden + ring + expert * hidden_expert,
        stage=stage,
        gather=gather,
        replicas=replicas,
        replicas_overlap=_overlap(recipe),
    )


def _overlap(recipe: Recipe) -> str:
    if recipe.sharding in ("fsdp", "hsdp", "zero3"):
        return "gathering"
    if recipe.sharding == "megatron":
        return "distributed" if recipe.framework in ("nemo", "megatron", "mlperf") else "after_backward"
    return "buckets"


def _context(
    shape: ModelShape, degrees: Degrees, tokens: float, machine: StepMachine, constants: StepConstants
) -> float:
    """Keys and values travel round the ring, forward once and backward with their gradients."""
    if degrees.context == 1:
        return 0.0
    block = tokens * 2.0 * key_width(shape) / degrees.tensor * 2.0
    hop = collective_seconds("p2p", block, 2, _neighbour(degrees, machine), machine, constants)
    return 3.0 * (degrees.context - 1) * hop


def _neighbour(degrees: Degrees, machine: StepMachine) -> int:
    inside = degrees.tensor * degrees.context <= machine.domain
    return degrees.tensor if inside else machine.domain


def _expert(
    shape: ModelShape,
    degrees: Degrees,
    stream: float,
    passes: float,
    machine: StepMachine,
    constants: StepConstants,
) -> float:
    if degrees.expert == 1 or shape.experts is None:
        return 0.0
    share = (shape.layers if shape.moe_layers is None else shape.moe_layers) / shape.layers
    chosen = float(shape.experts_per_token or 1)
    payload = stream / degrees.tensor
    # Expert ranks take in the tensor ranks, so that neighbours lie side by side.
    domains = -(-degrees.expert // machine.domain)
    once = collective_seconds(
        "all_to_all", payload * chosen, min(degrees.expert, machine.domain), 1, machine, constants
    )
    if domains > 1:
        # A token crosses to a domain once, however many of its experts live there (DeepEP).
        copies = min(chosen, float(domains)) * (domains - 1) / domains
        far = payload * copies / (machine.network_bytes_per_second * constants.network_share)
        once = max(once, far + constants.network_latency_seconds)
    return passes * 2.0 * once * share


def _replicas(
    counted: Parameters,
    recipe: Recipe,
    degrees: Degrees,
    machine: StepMachine,
    constants: StepConstants,
) -> tuple[float, float]:
    """Seconds of gathering per micro-batch, and of gradients and parameters per step."""
    ranks = degrees.data * degrees.context
    if ranks == 1:
        return 0.0, 0.0
    stride = degrees.tensor
    dense = (counted.dense / degrees.tensor + counted.all_experts / (degrees.expert * degrees.tensor)) / (
        degrees.pipeline
    )
    frozen = recipe.training != "full"
    width = 4.0 if recipe.compute == "fp32" else 2.0
    if recipe.sharding in ("fsdp", "hsdp", "zero3"):
        whole = dense * width
        # torchtitan and torchtune-like FSDP2 recipes reduce in fp32 (MixedPrecisionPolicy.reduce_dtype).
        reduced = 4.0 if recipe.framework in ("torchtitan", "torchao") else width
        if recipe.base_quant in ("nf4", "int4"):
            whole = dense * 0.55
        gather = collective_seconds("all_gather", whole, ranks, stride, machine, constants)
        again = 2.0
        reduce = (
            0.0
            if frozen
            else collective_seconds("reduce_scatter", dense * reduced, ranks, stride, machine, constants)
        )
        return again * gather + reduce, 0.0
    sent = dense * (0.01 if frozen else 1.0)
    gradients = 2.0 if recipe.compute != "fp32" else 4.0
    if recipe.sharding == "megatron" and recipe.framework in ("nemo", "megatron", "mlperf"):
        once = collective_seconds("reduce_scatter", sent * 4.0, ranks, stride, machine, constants)
        return 0.0, once + collective_seconds("all_gather", sent * 2.0, ranks, stride, machine, constants)
    if recipe.sharding == "ddp" and recipe.master == "fp32":
        gradients = 4.0 if recipe.autocast is not False else gradients
    return 0.0, collective_seconds("all_reduce", sent * gradients, ranks, stride, machine, constants)
