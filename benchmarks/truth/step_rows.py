"""Rows of throughput_lm.csv as the step part's records: shape, recipe, layout, machine, measured time.

Reads what ``rows`` reads and adds what only speed needs: copies of the model from the GPU count, links from
the prose, networks that are described by their name. A row whose tokens per step are unknown is not answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from truth.rows import Row, read_rows, recipe_of
from truth.shapes import key, load_shapes
from weighbridge.facts import candidates, find_gpu
from weighbridge.facts.records import GpuFact
from weighbridge.facts.step_machine import step_machine
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.schema.step_machine import StepMachine
from weighbridge.units import GB
from weighbridge.weigh.memory import count

# Tokens of a Wikipedia sample in BERT's phase 2 over its length of 512 (Krell 2021, arXiv 2107.02027: half is
# padding), which submissions remove.
_BERT_FILL = 0.5
# The NVIDIA example since 21.11 reads through LDDL, which bins samples by length in steps of 64.
_BINNED_FILL = 0.5 + 32 / 512


@dataclass(frozen=True, slots=True)
class StepRow:
    """``measured`` is seconds per optimizer step as far as the row's figures give it, else ``reason``."""

    row: Row
    shape: ModelShape | None
    recipe: Recipe
    layout: Layout
    machine: StepMachine | None
    gpus: int
    tokens_per_second_per_gpu: float | None
    step_seconds: float | None
    flops_per_second_per_gpu: float | None
    assumed: tuple[str, ...]
    padding_free: bool = False
    reason: str | None = None

    @property
    def stratum(self) -> str:
        return " / ".join((self.row["family"], self.row["gpu"].split(" (")[0], self.row["source_repo"]))


def read_step_rows(folder: Path) -> list[StepRow]:
    path = folder / "throughput_lm.csv"
    if not path.exists():
        return []
    shapes = load_shapes(folder) | {key(name): shape for name, shape in _SPEED_SHAPES.items()}
    rows = [row for row in read_rows(path) if row["quality"] in ("A", "B")]
    return list(_describe(rows, shapes))


def _describe(rows: list[Row], shapes: Mapping[str, ModelShape]) -> Iterator[StepRow]:
    for row in rows:
        yield _one(row, shapes)


def _one(row: Row, shapes: Mapping[str, ModelShape]) -> StepRow:
    shape = _shape(row["model"], shapes)
    recipe = _recipe(row)
    gpus = _whole(row["n_gpus"]) or 1
    layout, recipe, assumed = _layout(row, recipe, gpus, shape)
    machine, filled = _machine(row)
    tokens, step, flops, reason = _measured(row, recipe, gpus)
    if "power limited" in row["gpu"] and not re.search(r"\d+W", row["gpu"]):
        reason = "power_watts"
    if shape is None:
        reason = "network"
    return StepRow(
        row,
        shape,
        recipe,
        layout,
        machine,
        gpus,
        tokens,
        step,
        flops,
        (*assumed, *filled),
        padding_free(row),
        reason,
    )


def padding_free(row: Row) -> bool:
    """Stated, or what the code does: PEFT's comparison draws batches from buckets of like length, MLPerf's
    BERT removes padding."""
    prose = row["notes"].lower()
    return (
        "padding-free" in prose or row["source_repo"] == "huggingface/peft" or "unpadded" in row["seq_kind"]
    )


def _recipe(row: Row) -> Recipe:
    recipe = recipe_of(row)
    text = row["framework"].lower()
    framework = recipe.framework
    if row["source_repo"].startswith("mlcommons/"):
        framework = "mlperf"
    elif "megatron-deepspeed" in text:
        framework = "megatron_deepspeed"
    elif "megatron-lm 2" in text:
        framework = "megatron_lm"
    elif "llm-foundry" in text:
        framework = "llm_foundry"
    elif "deeplearningexamples" in text:
        framework = "nvidia_examples"
    elif "megatron" in text or "nemo" in text:
        framework = "nemo"
    elif "torchtitan" in text:
        framework = "torchtitan"
    changes: dict[str, object] = {"framework": framework}
    if row["run_type"].startswith("peft:") and recipe.training is None:
        changes["training"] = "other"
    if row["n_train"] == "lora" and framework == "mlperf":
        changes["lora_targets"] = ("qkv", "o_proj")
    blackwell = row["gpu"].startswith(("B", "GB"))
    if "Training v5.1" in row["framework_version"] and blackwell and row["family"] != "bert":
        changes["compute"] = "fp4"  # NVIDIA's v5.1 code trains the language models in NVFP4 on Blackwell
    if framework == "nvidia_examples":
        changes["fused_kernels"] = row["run_type"] == "pretrain"  # run_pretraining.py scripts its layers
    if row["family"] == "bert":
        changes["loss"] = "masked" if row["run_type"] == "pretrain" else "span"
    lengths = _lengths(row)
    if recipe.sequence_kind == "variable" and lengths is not None:
        changes["sequence"] = lengths
    if "+sp" in row["parallelism"].lower():
        changes["sequence_parallel"] = True
    virtual = re.search(r"VP(\d+)", row["parallelism"])
    if virtual and recipe.virtual_stages is None:
        changes["virtual_stages"] = int(virtual[1])
    if "recompute" in row["act_ckpt"] or row["act_ckpt"].startswith("norm, act"):
        changes["checkpointing"] = "none"
    return replace(recipe, **changes)  # type: ignore[arg-type]


def _lengths(row: Row) -> int | None:
    """Mean tokens per sample where lengths vary: a property of the data, from two figures of one run."""
    tokens, step = _number(row["tokens_per_s_gpu"]), _number(row["step_time_s"])
    micro, gpus = _whole(row["micro_batch"]), _whole(row["n_gpus"]) or 1
    samples = _number(row["samples_per_s"])
    if tokens and samples:
        return round(tokens * gpus / samples)
    if tokens and step and micro:
        return round(tokens * step / (micro * (_whole(row["grad_accum"]) or 1)))
    return None


def _degree(row: Row, name: str) -> int | None:
    found = _whole(row[f"n_{name}"]) or _whole(row[name])
    if found is None:
        match = re.search(rf"\b{name.upper()}\s?(\d+)", row["parallelism"])
        found = int(match[1]) if match else None
    return found


def _layout(
    row: Row, recipe: Recipe, gpus: int, shape: ModelShape | None
) -> tuple[Layout, Recipe, tuple[str, ...]]:
    """Every degree; where the row is silent, one model per device group as batch and accumulation imply."""
    tensor, pipeline, context = (_degree(row, name) for name in ("tp", "pp", "cp"))
    stated = re.search(r"-ep(\d+)\b", row["notes"])
    expert = _degree(row, "ep") or (int(stated[1]) if stated else 1)
    batch, steps = _whole(row["global_batch"]), _whole(row["grad_accum"])
    assumed: list[str] = []
    micro = recipe.micro_batch if row["micro_batch"] else None
    if tensor is None or pipeline is None:
        assumed.append("layout")
        micro = micro or 1
        copies = max(1, (batch or gpus) // (micro * (steps or 1)))
        apart = max(1, gpus // copies) if copies <= gpus else 1
        if copies > gpus:
            micro = max(1, (batch or 1) // (gpus * (steps or 1)))
        tensor, pipeline, context = _spread(apart, shape, row)
    tensor, pipeline, context = tensor or 1, pipeline or 1, context or 1
    data = max(1, gpus // (tensor * pipeline * context))
    if micro is None and pipeline > 1 and recipe.sharding == "megatron":
        micro = 1
    if micro is None:
        micro = recipe.micro_batch or (max(1, (batch or data) // (data * (steps or 1))) if batch else None)
    local = _whole(row["micro_batch"])
    if steps is None and batch and micro:
        steps = max(1, batch // (data * micro))
    elif steps is None and pipeline > 1 and local and micro:
        steps = max(1, local // micro)
    return (
        Layout(
            data_parallel=data,
            tensor_parallel=tensor,
            pipeline_parallel=pipeline,
            context_parallel=context,
            expert_parallel=expert,
        ),
        replace(recipe, micro_batch=micro, accumulation=steps),
        tuple(assumed),
    )


def _spread(devices: int, shape: ModelShape | None, row: Row) -> tuple[int, int, int]:
    """Tensor, pipeline and context degrees of one model over ``devices``.

    The least tensor degree whose 16-bit weights leave room, pipeline stages where eight tensor ranks do not,
    context for what is left.
    """
    card = _card(row["gpu"])
    if shape is None or card is None:
        return min(devices, 8), 1, max(1, devices // 8)
    weights, memory = 2.0 * count(shape).total, card.memory_gigabytes * GB
    tensor = 1
    # With an optimizer beside them weights may take a quarter of what they may take alone.
    room = (0.2 if row["n_train"] == "full" else 0.8) * memory
    stages = 8 if weights / 8 > room and devices >= 64 else 1
    while tensor < 8 and tensor * stages < devices and weights / (tensor * stages) > room:
        tensor *= 2
    return tensor, stages, max(1, devices // (tensor * stages))


def _measured(
    row: Row, recipe: Recipe, gpus: int
) -> tuple[float | None, float | None, float | None, str | None]:
    tokens = _number(row["tokens_per_s_gpu"])
    if tokens is None and _number(row["tokens_per_s_total"]):
        tokens = (_number(row["tokens_per_s_total"]) or 0.0) / gpus
    sequence = recipe.sequence
    samples = _number(row["samples_per_s"])
    variable = recipe.sequence_kind == "variable"
    if tokens is None and samples and sequence and not variable:
        tokens = samples * sequence / gpus
    if tokens is None and samples and row["family"] == "bert" and sequence:
        tokens = samples * sequence * _BERT_FILL / gpus
    if tokens and row["family"] == "bert" and sequence == 512 and recipe.framework == "nvidia_examples":
        tokens *= _BINNED_FILL
    step = _number(row["step_time_s"])
    if step is not None and (variable or "micro" in row["notes"]):
        step = None
    flops = _number(row["tflops_per_gpu"])
    if tokens is None and step is None and flops is None:
        return None, None, None, "tokens per step (lengths vary)"
    if sequence is None:
        return None, None, None, "sequence"
    return tokens, step, flops * 1e12 if flops else None, None


@cache
def _card(name: str) -> GpuFact | None:
    found = find_gpu(name)
    if found is None:
        fits = candidates(name)
        found = next(
            (card for card in fits if "80" in card.id and "SXM" in card.id), fits[0] if fits else None
        )
    return found


def _machine(row: Row) -> tuple[StepMachine | None, tuple[str, ...]]:
    card = _card(row["gpu"])
    if card is None:
        return None, ("gpu",)
    domain, network = links(row["interconnect"], _whole(row["gpus_per_node"]) or 8, card)
    watts = re.search(r"(\d+)W\b", row["gpu"])
    joined = step_machine(
        card,
        domain=domain,
        network_bytes_per_second=network,
        power_watts=float(watts[1]) if watts else None,
    )
    return joined.machine, joined.assumed


def links(text: str, per_node: int, card: GpuFact) -> tuple[int | None, float | None]:
    """Domain of the fast link and network per GPU, where the prose states them."""
    domain = None if card.id in ("GB200", "GB300") else per_node
    total = re.search(r"(\d+) ?Gb(?:ps|/s)(?: node-node| ?\(|.*per node)", text)
    single = re.search(r"(\d+) ?Gb/s RDMA per GPU", text)
    if single:
        return domain, float(single[1]) / 8 * GB
    if total:
        return domain, float(total[1]) / 8 * GB / per_node
    return domain, None


_BERT = {"gated": False, "tied_embeddings": True, "position_rows": 512, "norm": "layer",
         "norm_bias": True, "attention_input_bias": True, "attention_output_bias": True, "mlp_bias": True,
         "causal": False}  # fmt: skip
_GPT = {"gated": False, "tied_embeddings": True, "position_rows": 2048, "norm": "layer", "norm_bias": True,
        "attention_input_bias": True, "attention_output_bias": True, "mlp_bias": True}  # fmt: skip


def _plain(name: str, layers: int, hidden: int, heads: int, vocabulary: int, more: Any) -> ModelShape:
    return ModelShape(
        name=name,
        layers=layers,
        hidden=hidden,
        ffn_hidden=4 * hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        vocabulary=vocabulary,
        **more,
    )


def _gpt(name: str, layers: int, hidden: int, heads: int) -> ModelShape:
    return _plain(name, layers, hidden, heads, 51200, _GPT)


def _bert(name: str, layers: int, hidden: int, heads: int) -> ModelShape:
    return _plain(name, layers, hidden, heads, 30528, _BERT)


# Published sizes: BERT (Devlin 2018), GPT-3 (Brown 2020), Megatron models (Korthikanti 2022 Table 3; MT-NLG,
# Smith 2022), gpt-oss (HF openai/gpt-oss-120b config.json). Latent attention, state-space and hybrid networks
# are not described by a ModelShape and stay unanswered.
_SPEED_SHAPES = {
    "BERT-large": _bert("BERT-large", 24, 1024, 16),
    "BERT-base": _bert("BERT-base", 12, 768, 12),
    "GPT3-20B": _gpt("GPT3-20B", 44, 6144, 48),
    "GPT-3-175B": _gpt("GPT3-175B", 96, 12288, 96),
    "GPT3-175B": _gpt("GPT3-175B", 96, 12288, 96),
    "GPT-175B": _gpt("GPT-175B", 96, 12288, 96),
    "GPT-22B": _gpt("GPT-22B", 48, 6144, 64),
    "GPT-530B": _gpt("GPT-530B", 105, 20480, 128),
    "MT-NLG-530B": _gpt("MT-NLG-530B", 105, 20480, 128),
    "GPT-1T": _gpt("GPT-1T", 128, 25600, 160),
    "GPT OSS 120B": ModelShape(
        name="gpt-oss-120b", layers=36, hidden=2880, ffn_hidden=2880, heads=64, kv_heads=8, head_dim=64,
        vocabulary=201088, experts=128, experts_per_token=4, expert_ffn_hidden=2880,
    ),
}  # fmt: skip


def _named(name: str) -> ModelShape | None:
    match = re.fullmatch(r"GPT h(\d+) L(\d+) a(\d+)", name)
    if match:
        hidden, layers, heads = (int(part) for part in match.groups())
        return _gpt(name, layers, hidden, heads)
    return None


def _shape(name: str, shapes: Mapping[str, ModelShape]) -> ModelShape | None:
    for written in (name, name.replace("_", "-"), name.upper().replace("LLAMA3-405B", "Llama-3.1-405B")):
        if key(written) in shapes:
            return shapes[key(written)]
    return _named(name)


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _whole(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)
