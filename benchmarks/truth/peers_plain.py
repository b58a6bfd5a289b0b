"""Peers that count without a layer model: packages with a formula over the total, and documented formulae."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from pathlib import Path

from truth.peers import (
    GIB,
    Asked,
    Cannot,
    Peer,
    _package,
    calculon,
    cookbook,
    llm_analysis,
    megatron,
)
from weighbridge.weigh.memory.parameters import count

_LINEAR = ("gate_proj", "up_proj", "down_proj", "mlp", "fc1", "fc2", "w1", "w2", "w3")


def ftuneai(file: Path) -> Callable[[Asked], float]:
    memory = _package("ftuneai.core.memory", file)
    words = importlib.import_module("ftuneai.core.models")
    optimizers = {"adamw": "adamw", "adamw8bit": "adam_8bit", "sgd": "sgd", "adafactor": "adafactor"}
    shardings = {"zero1": "zero_1", "zero2": "zero_2", "zero3": "zero_3", "fsdp": "fsdp", "hsdp": "fsdp"}

    def ask(asked: Asked) -> float:
        asked.needs(full=False)
        shape, recipe = asked.shape, asked.recipe
        if asked.tensor * asked.pipeline > 1:
            raise Cannot("tensor or pipeline parallelism")
        if recipe.training not in ("full", "lora", "qlora"):
            raise Cannot("other training")
        if recipe.optimizer not in optimizers:
            raise Cannot(f"optimizer {recipe.optimizer}")
        targets = recipe.lora_targets or ("q_proj", "v_proj")
        target = "all_linear" if set(targets) & set(_LINEAR) else "attention_all"
        if not set(targets) & {"qkv", "o_proj", "k_proj", *_LINEAR}:
            target = "attention"
        spec = words.ModelSpec(
            name=shape.name,
            parameters=int(asked.parameters),
            hidden_size=shape.hidden,
            num_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_kv_heads=shape.kv_heads,
            intermediate_size=shape.ffn_hidden,
            vocab_size=shape.vocabulary,
            max_seq_length=max(asked.sequence, 1),
            default_dtype="float32" if recipe.master == "fp32" else "bfloat16",
            is_moe=bool(shape.experts),
            num_experts=shape.experts,
            num_active_experts=shape.experts_per_token,
        )
        quantised = "none"
        if recipe.training == "qlora":
            quantised = "8bit" if recipe.base_quant in ("int8", "fp8") else "4bit"
        config = words.TrainingConfig(
            model=shape.name,
            method=words.FineTuneMethod(recipe.training),
            quantization=words.Quantization(quantised),
            batch_size=asked.batch,
            seq_length=asked.sequence,
            gradient_checkpointing=recipe.checkpointing == "full",
            optimizer=words.OptimizerType(optimizers[recipe.optimizer]),
            lora_rank=recipe.lora_rank or 8,
            lora_target=words.LoRATarget(target),
            flash_attention=recipe.attention == "flash",
            sharding=words.ShardingStrategy(shardings.get(recipe.sharding or "none", "none")),
            num_gpus=asked.gpus,
        )
        return float(memory.MemoryEstimator(spec, config).estimate().total_gb) * GIB

    return ask


def qmemcalc(file: Path) -> Callable[[Asked], float]:
    module = _package("qmemcalc.memory", file)

    def ask(asked: Asked) -> float:
        asked.needs(full=False, one_gpu=True)
        recipe = asked.recipe
        if recipe.training not in ("full", "lora", "qlora"):
            raise Cannot("other training")
        if recipe.optimizer not in ("adamw", "sgd"):
            raise Cannot(f"optimizer {recipe.optimizer}")
        # Its own look-up needs the network of the Hub; the count it would otherwise guess is given.
        known = types.SimpleNamespace(
            hidden_size=asked.shape.hidden,
            num_hidden_layers=asked.shape.layers,
            num_parameters=asked.parameters,
        )
        module.AutoConfig = types.SimpleNamespace(from_pretrained=lambda _: known)
        quantised = "none"
        if recipe.training == "qlora":
            quantised = "8bit" if recipe.base_quant in ("int8", "fp8") else "4bit"
        found = module.estimate_memory(
            asked.shape.name,
            asked.batch,
            asked.sequence,
            lora_r=(recipe.lora_rank or 8) if recipe.training != "full" else 0,
            precision="fp32" if recipe.master == "fp32" else "bf16",
            quantization=quantised,
            optimizer=recipe.optimizer,
            num_trainable_params=int(asked.parameters) if recipe.training == "full" else None,
            gradient_checkpointing=recipe.checkpointing == "full",
        )
        return float(found["total_MB"]) * 1e6

    return ask


def gpu_estimator(file: Path) -> Callable[[Asked], float]:
    estimator = _package("gpu_estimator.estimator", file).GPUEstimator()

    def ask(asked: Asked) -> float:
        asked.needs(one_gpu=True)
        recipe = asked.recipe
        if recipe.optimizer not in ("adamw", "sgd"):
            raise Cannot(f"optimizer {recipe.optimizer}")
        found = estimator.estimate(
            asked.parameters,
            batch_size=asked.batch,
            sequence_length=asked.sequence,
            precision="fp32" if recipe.master == "fp32" else "bf16",
            optimizer=recipe.optimizer,
            gpu_memory_gb=1e6,
            gradient_checkpointing=recipe.checkpointing == "full",
        )
        return float(found.total_memory_gb) * GIB

    return ask


def alloc(file: Path) -> Callable[[Asked], float]:
    module = _package("alloc.ghost", file)
    optimizers = {"adamw": "AdamW", "adamw8bit": "AdamW8bit", "sgd": "SGD", "adafactor": "Adafactor"}

    def ask(asked: Asked) -> float:
        asked.needs(one_gpu=True)
        recipe = asked.recipe
        if recipe.optimizer not in optimizers:
            raise Cannot(f"optimizer {recipe.optimizer}")
        found = module.ghost(
            param_count=int(asked.parameters),
            dtype="fp32" if recipe.compute == "fp32" else "bf16",
            batch_size=asked.batch,
            seq_length=asked.sequence,
            hidden_dim=asked.shape.hidden,
            optimizer_type=optimizers[recipe.optimizer],
        )
        assert not found.estimation_failed
        return float(found.total_gb) * GIB

    return ask


def hf_vram_calc(file: Path) -> Callable[[Asked], float]:
    module = _package("hf_vram_calc.calculator", file)
    sizes = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "nf4": 0.5, "int4": 0.5, "int8": 1.0, "fp8": 1.0}
    calculator = module.VRAMCalculator(types.SimpleNamespace(get_data_types=lambda: sizes))

    def ask(asked: Asked) -> float:
        asked.needs(full=False)
        recipe = asked.recipe
        if recipe.training not in ("full", "lora", "qlora"):
            raise Cannot("other training")
        if asked.data > 1:
            raise Cannot("sharding over data-parallel ranks")
        kind = (recipe.base_quant if recipe.training == "qlora" else recipe.master) or "bf16"
        base = calculator.calculate_model_memory(asked.parameters, kind)
        if recipe.training == "full":
            found = calculator.calculate_training_memory(base)
        else:
            found = calculator.calculate_lora_memory(base, asked.parameters, recipe.lora_rank or 8)
        return float(found) * GIB / (asked.tensor * asked.pipeline)

    return ask


def accelerate(file: Path) -> Callable[[Asked], float]:
    module = _package("accelerate.commands.estimate", file)

    def ask(asked: Asked) -> float:
        asked.needs(one_gpu=True)
        if asked.recipe.optimizer != "adamw":
            raise Cannot(f"optimizer {asked.recipe.optimizer}")
        kind = "float32" if asked.recipe.compute == "fp32" else "bfloat16"
        return float(max(module.estimate_training_usage(int(asked.parameters * 4), kind).values()))

    return ask


def deepspeed_documented(_: Path) -> Callable[[Asked], float]:
    """The formulae of DeepSpeed's documentation (code-docs, Memory Requirements): states, no activations."""

    def ask(asked: Asked) -> float:
        asked.needs()
        if asked.tensor * asked.pipeline > 1:
            raise Cannot("tensor or pipeline parallelism")
        if asked.zero < 2 and asked.recipe.sharding != "zero2":
            raise Cannot("anything but ZeRO-2 and ZeRO-3 (FSDP is asked as ZeRO-3)")
        if asked.zero == 3:
            counted = count(asked.shape)
            largest = max(asked.shape.vocabulary, asked.shape.ffn_hidden) * asked.shape.hidden
            return 4.0 * largest + 18.0 * counted.total / asked.gpus
        return 4.0 * asked.parameters + 16.0 * asked.parameters / asked.gpus

    return ask


NO_KERNELS = "attention kernel, allocator, CUDA context"
PEERS = (
    Peer(
        "ftuneai (PyPI)",
        "ftuneai/core/memory.py",
        ftuneai,
        "logits, precision of states, attention kernel but for a factor; overhead is 20 % of the rest",
    ),
    Peer(
        "EleutherAI cookbook calc_transformer_mem",
        "calc_transformer_mem.py",
        cookbook,
        f"adapters, logits, real checkpointing, pure 16-bit states, 8-bit optimizers, {NO_KERNELS}",
    ),
    Peer(
        "llm-analysis",
        "llm_analysis/analysis.py",
        llm_analysis,
        f"adapters, quantised base, context parallelism, pipeline in flight, {NO_KERNELS}",
    ),
    Peer(
        "calculon",
        "calculon/llm/llm.py",
        calculon,
        f"embedding and head, gated MLP, grouped heads, FSDP, pure 16 bits, adapters, {NO_KERNELS}",
    ),
    Peer(
        "Megatron-LM theoretical_memory_usage",
        "theoretical_memory_usage.py",
        megatron,
        f"full recomputation, FSDP, adapters, pure 16 bits, {NO_KERNELS}",
    ),
    Peer(
        "gpu-estimator (PyPI)",
        "gpu_estimator/estimator.py",
        gpu_estimator,
        "adapters, layers (activations are tokens x sqrt of the parameters), sharding, kernels",
    ),
    Peer(
        "alloc ghost (PyPI)",
        "alloc/ghost.py",
        alloc,
        "adapters, checkpointing, layers' interiors, logits, sharding, pure 16 bits, kernels",
    ),
    Peer(
        "qmemcalc (PyPI)",
        "qmemcalc/memory.py",
        qmemcalc,
        "layers' interiors, logits, gradients' precision, sharding, kernels",
    ),
    Peer(
        "hf-vram-calc (PyPI)",
        "hf_vram_calc/calculator.py",
        hf_vram_calc,
        "activations of training, batch and sequence, optimizer, checkpointing, sharding",
    ),
    Peer(
        "accelerate estimate-memory",
        "accelerate/commands/estimate.py",
        accelerate,
        "activations, batch and sequence, adapters, checkpointing, sharding, pure 16 bits",
    ),
    Peer(
        "DeepSpeed ZeRO-2 and ZeRO-3, as documented",
        None,
        deepspeed_documented,
        "activations, logits, batch and sequence, buckets, adapters, pure 16 bits",
    ),
)
