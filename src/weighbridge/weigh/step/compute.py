"""Seconds of the passes of one micro-batch on one device: products, attention, memory-bound work, host."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.step_constants import StepConstants
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.parameters import key_width, mlp_matrices, query_width, target_kinds
from weighbridge.weigh.step.gemm import gemm_seconds
from weighbridge.weigh.step.kernels import Kernels, pick, power_share
from weighbridge.weigh.step.operators import LayerWork, Product, head_product, layer_work


@dataclass(frozen=True, slots=True)
class Passes:
    """Device seconds of one layer by pass and class; ``head`` is both passes of head and loss."""

    forward: dict[str, float]
    backward: dict[str, float]
    recompute: dict[str, float]
    head: float
    host_layer: float
    model_flops: float
    recompute_flops: float
    head_flops: float

    @property
    def layer(self) -> float:
        return sum(self.forward.values()) + sum(self.backward.values()) + sum(self.recompute.values())


def weigh_passes(
    shape: ModelShape,
    recipe: Recipe,
    degrees: Degrees,
    kernels: Kernels,
    machine: StepMachine,
    constants: StepConstants,
    tokens: float,
) -> Passes:
    """``tokens`` of one micro-batch on one device, padding included."""
    work = layer_work(shape, tokens, float(recipe.sequence or 1), degrees)
    frozen = recipe.training != "full"
    products = _products(work.products, kernels, frozen, pick(constants.expert_slowness, kernels.host))
    attention = _attention(shape, work, kernels, machine, constants)
    memory = _memory(shape, recipe, work, kernels, constants, degrees)
    dequantise = _dequantise(shape, recipe, degrees, kernels, constants)
    launches = constants.kernel_seconds * pick(constants.kernels_per_layer, kernels.fusion)
    forward = {
        "gemm": products[0],
        "attention": attention,
        "memory": memory + _quantise(work.products, recipe, kernels, constants, backward=False),
        "dequantise": dequantise,
        "kernels": launches,
    }
    backward = {
        "gemm": products[1],
        "attention": attention
        * (2.0 if kernels.attention == "eager" else constants.attention_backward_ratio),
        "memory": memory * constants.backward_bytes_ratio
        + _quantise(work.products, recipe, kernels, constants, backward=True),
        "dequantise": dequantise,
        "kernels": 1.5 * launches,
    }
    share = recompute_shares(recipe, constants)
    recompute = {name: share.get(name, share["any"]) * value for name, value in forward.items()}
    flops = sum(product.flops for product in work.products)
    head = head_product(shape, tokens, degrees)
    head_share = pick(constants.head_share, recipe.loss or "any")
    passes_back = 1.0 if frozen else 2.0
    return Passes(
        forward=forward,
        backward=backward,
        recompute=recompute,
        head=_head(head, head_share, recipe, kernels, constants, frozen),
        host_layer=_host(recipe, kernels, constants, max(share.values())),
        model_flops=flops * (1 + passes_back) + 3.0 * work.score_flops,
        recompute_flops=share.get("gemm", share["any"]) * flops
        + share.get("attention", share["any"]) * work.score_flops,
        head_flops=head.flops * head_share * (1 + passes_back),
    )


def recompute_shares(recipe: Recipe, constants: StepConstants) -> dict[str, float]:
    """What of a forward pass runs again, by operator class."""
    if recipe.checkpointing == "full":
        return {"any": 1.0}
    if recipe.checkpointing == "selective_layers":
        return {"any": 1.0 / recipe.checkpoint_every}
    if recipe.checkpointing == "selective":
        if recipe.framework in ("torchtitan", "torchao"):
            # Every second product is kept, attention is kept, what lies between them is not.
            return {"any": 1.0, "gemm": constants.selective_share, "attention": 0.0}
        return {"any": 0.0, "attention": 1.0}  # Korthikanti 2022: the core of attention
    return {"any": 0.0}


def _products(
    products: tuple[Product, ...], kernels: Kernels, frozen: bool, expert_slowness: float
) -> tuple[float, float]:
    forward = backward = 0.0
    for one in products:
        rate = kernels.product
        count = one.count * (expert_slowness if one.groups > 1 else 1.0)
        forward += count * gemm_seconds(one.m, one.n, one.k, rate, one.groups)
        backward += count * gemm_seconds(one.m, one.k, one.n, rate, one.groups)
        if not frozen:
            backward += count * gemm_seconds(one.k, one.n, one.m, rate, one.groups)
    return forward, backward


def _attention(
    shape: ModelShape, work: LayerWork, kernels: Kernels, machine: StepMachine, constants: StepConstants
) -> float:
    if kernels.attention == "eager":
        # The whole square is computed, and scores travel through memory.
        whole = work.score_flops * (2.0 if shape.causal else 1.0)
        return whole / (0.5 * kernels.plain.flops) + work.scores * pick(
            constants.score_bytes, kernels.fusion
        ) / (kernels.memory_bytes_per_second)
    table = constants.attention_forward_share.get(
        machine.architecture, constants.attention_forward_share["any"]
    )
    narrow = min(1.0, 0.6 + 0.4 * shape.head_dim / 128)
    # Fused attention keeps 16 bits where the products have 8 or 4.
    rate = machine.rates[kernels.plain_dtype]
    share = pick(table, kernels.attention) * narrow * power_share(machine, constants)
    return work.score_flops / (rate * share)


def _memory(
    shape: ModelShape,
    recipe: Recipe,
    work: LayerWork,
    kernels: Kernels,
    constants: StepConstants,
    degrees: Degrees,
) -> float:
    wide = kernels.plain.width / 2.0
    spread = degrees.tensor if recipe.sequence_parallel else 1
    moved = (
        work.hidden_elements
        / spread
        * (constants.norm_bytes[kernels.fusion] + constants.residual_bytes[kernels.fusion])
    )
    moved += work.middle_elements * constants.activation_bytes[kernels.fusion]
    moved += work.routed_elements * constants.routing_bytes
    if recipe.training != "full":
        moved += _adapter_elements(shape, recipe, work.hidden_elements / shape.hidden) * (
            constants.adapter_bytes / degrees.tensor
        )
    return moved * wide / kernels.memory_bytes_per_second


def _adapter_elements(shape: ModelShape, recipe: Recipe, tokens: float) -> float:
    """Inputs read and outputs read, written and added to, over the adapted matrices of one layer."""
    if recipe.training == "other":
        return 0.0
    kinds = target_kinds(recipe.lora_targets or ()) or frozenset({"q", "v"})
    hidden, query, key = shape.hidden, query_width(shape), key_width(shape)
    total = 0.0
    if "q" in kinds:
        total += hidden + 3 * query
    for name in ("k", "v"):
        if name in kinds:
            total += hidden + 3 * key
    if "qkv" in kinds:
        total += hidden + 3 * (query + 2 * key)
    if "o" in kinds:
        total += query + 3 * hidden
    if "mlp" in kinds:
        total += mlp_matrices(shape) * 2.0 * (hidden + shape.ffn_hidden)
    return tokens * total


def _quantise(
    products: tuple[Product, ...],
    recipe: Recipe,
    kernels: Kernels,
    constants: StepConstants,
    *,
    backward: bool,
) -> float:
    """Operands of low-precision products are read in 16 bits, scaled and written twice (two layouts)."""
    if kernels.dtype not in ("fp8", "fp4") or recipe.compute not in ("fp8", "fp4"):
        return 0.0
    elements = sum((p.n if backward else p.k) * p.m * p.groups * p.count for p in products)
    return (
        elements
        * pick(constants.quantise_bytes, f"{kernels.dtype}_{kernels.fusion}", kernels.fusion)
        / kernels.memory_bytes_per_second
    )


def _dequantise(
    shape: ModelShape, recipe: Recipe, degrees: Degrees, kernels: Kernels, constants: StepConstants
) -> float:
    quant = recipe.base_quant or "none"
    table = constants.dequantise_bytes
    if quant == "none" or quant not in table:
        return 0.0
    work = layer_work(shape, 1.0, 1.0, degrees)
    weights = sum(p.n * p.k * p.groups * p.count for p in work.products)
    return weights * pick(table, f"{quant}_{recipe.framework}", quant) / kernels.memory_bytes_per_second


def _head(
    head: Product,
    share: float,
    recipe: Recipe,
    kernels: Kernels,
    constants: StepConstants,
    frozen: bool,
) -> float:
    if share <= 0:
        return 0.0
    m, n, k = head.m * share, head.n, head.k
    seconds = gemm_seconds(m, n, k, kernels.plain) + gemm_seconds(m, k, n, kernels.plain)
    if not frozen:
        seconds += gemm_seconds(k, n, m, kernels.plain)
    logit = pick(constants.logit_bytes, kernels.fusion)
    return seconds + m * n * logit / kernels.memory_bytes_per_second


def _host(recipe: Recipe, kernels: Kernels, constants: StepConstants, recomputed: float) -> float:
    """Host seconds of one layer in all passes; starting backward takes about as long as forward."""
    forward = constants.host_layer_seconds[kernels.host]
    if recipe.training in ("lora", "qlora", "other"):
        forward *= 1 + constants.host_adapter_share
    return forward * (2.0 + recomputed)
