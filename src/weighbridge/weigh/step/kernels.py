"""Which keys of the constants a recipe means: how its kernels are made, who starts them, in which dtype."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from weighbridge.schema.recipe import Recipe
from weighbridge.schema.step_constants import StepConstants
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.step.gemm import Rate

_MEGATRON = ("nemo", "megatron", "mlperf")
_WIDTH = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5625}
# What runs in place of a dtype that a card has no units for.
_FALLBACK = {"fp4": "fp8", "fp8": "bf16", "bf16": "fp16", "tf32": "fp32", "fp16": "bf16"}


@dataclass(frozen=True, slots=True)
class Kernels:
    """``fusion``: eager, fused, compiled. ``host``: who starts kernels. ``attention``: flash, sdpa, eager."""

    fusion: str
    host: str
    attention: str
    dtype: str
    plain_dtype: str
    product: Rate
    plain: Rate
    memory_bytes_per_second: float


def choose(recipe: Recipe, experts: bool, machine: StepMachine, constants: StepConstants) -> Kernels:
    wanted = _product_dtype(recipe, machine)
    dtype = _supported(wanted, machine)
    plain = _supported("bf16" if recipe.compute in ("fp8", "fp4") else wanted, machine)
    return Kernels(
        fusion=fusion(recipe),
        host=host(recipe, experts),
        attention=_attention(recipe, machine),
        dtype=dtype,
        plain_dtype=plain,
        product=_rate(dtype, machine, constants),
        plain=_rate(plain, machine, constants),
        memory_bytes_per_second=machine.memory_bytes_per_second * constants.memory_share,
    )


def fusion(recipe: Recipe) -> str:
    if recipe.compile:
        return "compiled"
    if recipe.fused_kernels or recipe.framework in _MEGATRON or recipe.sharding == "megatron":
        return "fused"
    return "eager"


def host(recipe: Recipe, experts: bool = False) -> str:
    if experts:
        if recipe.framework not in _MEGATRON:
            return "experts"
        return "megatron_experts_graphs" if expert_graphs(recipe) else "megatron_experts"
    if recipe.framework in _MEGATRON:
        return "megatron"
    if recipe.sharding == "megatron":
        return "megatron_eager"
    if recipe.compile:
        return "compiled"
    if recipe.framework == "deepspeed":
        return "deepspeed"
    if recipe.framework in ("hf_trainer", "peft", "ms_swift", "unsloth"):
        return "hf"
    return "light"


def expert_graphs(recipe: Recipe) -> bool:
    """NeMo containers from 26.06 on run expert layers in CUDA graphs and overlap their dispatch."""
    release = re.match(r"(\d\d)\.(\d\d)", recipe.framework_version or "")
    return release is not None and (int(release[1]), int(release[2])) >= (26, 6)


def _attention(recipe: Recipe, machine: StepMachine) -> str:
    kind = recipe.attention or "sdpa"
    if kind == "eager":
        return kind
    if machine.architecture in ("Volta", "Turing", "Pascal"):
        return "sdpa"  # FlashAttention 2 needs Ampere; torch falls back to the memory-efficient kernel
    return "cudnn" if recipe.framework in _MEGATRON else kind


def _product_dtype(recipe: Recipe, machine: StepMachine) -> str:
    """NVIDIA's containers let torch run fp32 products in TF32; torch of its own does not since 1.12."""
    compute = recipe.compute or "bf16"
    allowed = recipe.framework in ("nvidia_examples", *_MEGATRON)
    return "tf32" if compute == "fp32" and allowed and "tf32" in machine.rates else compute


def runs(recipe: Recipe, machine: StepMachine) -> bool:
    """Whether the machine states a rate for the dtype of the products, or for one that runs in its place."""
    compute = _product_dtype(recipe, machine)
    return all(_supported(dtype, machine) in machine.rates for dtype in (compute, "bf16"))


def _supported(dtype: str, machine: StepMachine) -> str:
    seen: set[str] = set()
    while dtype not in machine.rates and dtype in _FALLBACK and dtype not in seen:
        seen.add(dtype)
        dtype = _FALLBACK[dtype]
    return dtype if dtype in machine.rates else "fp32"


def pick(table: Mapping[str, float], *keys: str) -> float:
    """The first of ``keys`` in ``table``, else its entry "any"."""
    for key in keys:
        if key in table:
            return table[key]
    return table["any"]


def power_share(machine: StepMachine, constants: StepConstants) -> float:
    """Clock of a card over its architecture's reference: power goes with clock and voltage squared."""
    reference = constants.power_watts_per_teraflop.get(machine.architecture)
    rate = machine.rates.get("fp16", machine.rates.get("bf16"))
    if machine.power_watts is None or reference is None or rate is None:
        return 1.0
    spare = (machine.power_watts / (rate / 1e12 * reference)) ** constants.power_exponent
    return float(min(1.0 + constants.clock_headroom, spare))


# Dense FLOP/s of one multiprocessor of an A100, 16-bit.
_REFERENCE_RATE = 312e12 / 108


def _ramp_share(machine: StepMachine, dtype: str) -> float:
    """Filling a tile's pipeline takes time, so that slower units lose less inner length in it.

    Faster units than the A100's do not lose more: from Hopper on kernels persist and fill while others drain.
    """
    return min(1.0, machine.rates[dtype] / machine.multiprocessors / _REFERENCE_RATE)


def _rate(dtype: str, machine: StepMachine, constants: StepConstants) -> Rate:
    architecture = machine.architecture
    table = constants.gemm_share.get(architecture, constants.gemm_share["any"])
    share = pick(table, dtype) * pick(constants.sustained_share, f"{architecture}_{dtype}", architecture)
    share *= power_share(machine, constants)
    return Rate(
        flops=machine.rates[dtype] * share,
        bytes=machine.memory_bytes_per_second * constants.memory_share,
        multiprocessors=machine.multiprocessors,
        ramp_depth=pick(constants.ramp_depth, architecture) * _ramp_share(machine, dtype),
        width=_WIDTH[dtype],
    )
