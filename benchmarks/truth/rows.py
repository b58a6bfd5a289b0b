"""Rows of the measured tables as the kernel's records: ModelShape, Recipe, Layout, card.

The n_* columns (a fixed vocabulary) are read first; the prose is read where they are silent and the source
states it there (kernels, loss, optimizer details). Blank stays None. Shared by every scorer of this package.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from truth.shapes import key
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout

Row = Mapping[str, str]

_FRAMEWORKS = (
    ("fms", "hf_trainer"),
    ("peft", "peft"),
    ("ms-swift", "ms_swift"),
    ("swift", "ms_swift"),
    ("unsloth", "unsloth"),
    ("deepspeed", "deepspeed"),
    ("hf trainer", "hf_trainer"),
    ("transformers", "hf_trainer"),
    ("torchtitan", "torchtitan"),
    ("torchtune", "torchtune"),
    ("litgpt", "litgpt"),
    ("nemo", "nemo"),
    ("megatron", "nemo"),
    ("torchao", "torchao"),
)


@dataclass(frozen=True, slots=True)
class Described:
    """A row as records, and what the scorer needs beside them."""

    row: Row
    shape: ModelShape | None
    recipe: Recipe
    layout: Layout
    card_bytes: float | None

    @property
    def stratum(self) -> str:
        return " / ".join((self.row["family"], self.row["gpu"].split(" (")[0], self.row["source_repo"]))


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def describe_all(rows: list[Row], shapes: Mapping[str, ModelShape]) -> Iterator[Described]:
    for row in rows:
        yield Described(row, shapes.get(key(row["model"])), recipe_of(row), layout_of(row), card_bytes(row))


def card_bytes(row: Row) -> float | None:
    """Usable bytes: what drivers report of cards of a nominal size, about 1.5 % above the nominal 10^9."""
    size = _number(row.get("gpu_mem_gb"))
    return None if size is None else size * 1.0e9 * (1.06 if size in (16, 24, 40, 48, 80, 96) else 1.03)


def layout_of(row: Row) -> Layout:
    sharding = row["n_sharding"]
    data = _whole(row["dp_shard"]) or _whole(row["n_dp"])
    pipeline = _whole(row["n_pp"])
    gpus = _whole(row["n_gpus"])
    degrees = (_whole(row["n_tp"]), pipeline, _whole(row["n_cp"]))
    if data is None and gpus is not None and all(degrees):
        data = max(1, gpus // (degrees[0] * degrees[1] * degrees[2]))  # type: ignore[operator]
    if sharding == "none":
        data = 1
    return Layout(
        data_parallel=data,
        tensor_parallel=degrees[0],
        pipeline_parallel=pipeline,
        context_parallel=degrees[2],
        expert_parallel=_whole(row["n_ep"]) or _whole(row["ep"]) or 1,
    )


def recipe_of(row: Row) -> Recipe:
    prose = _prose(row)
    framework = framework_of(row)
    checkpointing, every = _checkpointing(row)
    optimizer = row["optimizer"].lower()
    loss = _loss(row, prose)
    return Recipe(
        framework=framework,
        framework_version=row["framework_version"] or None,
        training=row["n_train"] or None,  # type: ignore[arg-type]
        master=row["n_master"] or None,  # type: ignore[arg-type]
        compute=row["n_compute"] or None,  # type: ignore[arg-type]
        autocast=_autocast(row),
        base_quant=row["n_base_quant"] or None,  # type: ignore[arg-type]
        double_quant=_double_quant(row),
        optimizer=_optimizer(row, optimizer),
        optimizer_in_backward="optimizer-in-backward" in optimizer or "fused into backward" in prose,
        paged_optimizer="paged" in optimizer,
        checkpointing=checkpointing,  # type: ignore[arg-type]
        checkpoint_every=every,
        activation_offload="activation offloading" in row["act_ckpt"].lower(),
        attention=row["n_attention"] or None,  # type: ignore[arg-type]
        fused_kernels=_fused(prose, framework),
        compile={"yes": True, "no": False}.get(row["n_compile"]),
        loss=loss,
        fp32_norms="baseline-peft-bnb" in prose and row["n_sharding"] == "none",
        lora_rank=_whole(row["lora_rank"]),
        lora_targets=_targets(row),
        trained_parameters=_trained(row),
        trains_embeddings=row["run_type"] == "lora+emb",
        output_scales=row["run_type"] == "adapter-v2" or "dora" in row["run_type"].lower(),
        sharding=_sharding(row),  # type: ignore[arg-type]
        fsdp_version=1 if "fsdp1" in prose else 2 if "fsdp2" in prose else None,
        pipeline_schedule=_schedule(prose),  # type: ignore[arg-type]
        virtual_stages=_whole(row["vp"]),
        empties_cache="cache emptied" in row["notes"],
        micro_batch=_micro_batch(row),
        accumulation=_whole(row["grad_accum"]),
        sequence=_whole(row["seq_len"]),
        sequence_kind=row["n_seq"] or None,  # type: ignore[arg-type]
    )


def framework_of(row: Row) -> str | None:
    text = row["framework"].lower()
    if "deepspeed" in text or "deepspeed" in row["parallelism"].lower():
        # QwenLM's finetune_lora_single_gpu.sh is the one of its scripts that does not start the engine.
        engine = row["source_repo"] != "QwenLM/Qwen" or row["n_train"] != "lora" or row["n_gpus"] != "1"
        return "deepspeed" if engine else "qwen_finetune"
    found = next((name for word, name in _FRAMEWORKS if word in text), None)
    return "nemo" if found is None and row["n_sharding"] == "megatron" else found


def _prose(row: Row) -> str:
    return " ".join((row["parallelism"], row["notes"].split(";")[0])).lower()


def _autocast(row: Row) -> bool | None:
    precision = row["precision"].lower()
    if "no autocast" in precision or "-true" in precision:
        return False
    if "autocast" in precision or "mixed" in precision:
        return True
    return None


def _double_quant(row: Row) -> bool | None:
    quant = row["quant"].lower()
    if "nf4-dq" in quant or "double" in quant:
        return True
    if "bnb.nf4" in quant:
        return False
    # fms-acceleration sets bnb_4bit_use_double_quant (accelerated-peft, framework_plugin_bnb.py, read).
    return True if "fms" in row["framework"] and "bnb" in quant else None


def _optimizer(row: Row, prose: str) -> str | None:
    if row["n_optimizer"] == "adamw8bit" or "8bit" in prose or "8-bit" in prose:
        return "adamw8bit"
    if row["n_optimizer"] == "other":
        return next((name for name in ("sgd", "adafactor", "muon", "lion") if name in prose), "adamw")
    return row["n_optimizer"] or None


def _checkpointing(row: Row) -> tuple[str | None, int]:
    every = re.search(r"every (\d)", row["act_ckpt"].lower())
    if every:
        return "selective_layers", int(every.group(1))
    return row["n_ckpt"] or None, 2


def _fused(prose: str, framework: str | None) -> bool | None:
    if "accelerator config" in prose:
        return "foak" in prose or "fast-kernels" in prose
    return True if framework == "unsloth" or "liger" in prose else None


def _loss(row: Row, prose: str) -> str | None:
    if "liger" in prose:
        return "linear_fused"
    if framework_of(row) == "torchtune":
        if "chunked" in prose:
            return "chunked"
        if "cumulative ablation" in prose:
            return "compiled_fp32" if row["n_compile"] == "yes" else "eager"
    return None


def _targets(row: Row) -> tuple[str, ...] | None:
    text = row["lora_targets"].lower()
    if row["run_type"] == "adapter-v2":
        return ("qkv", "o_proj", "mlp")  # litgpt adapter_v2.py scales and shifts every linear layer
    if not text:
        return None
    if "all (" in text or "all linear" in text:
        return ("qkv", "o_proj", "mlp")
    if "default" in text and "qkv" in text:
        return ("qkv",)
    return tuple(re.findall(r"[a-z0-9_]+", text))


def _trained(row: Row) -> float | None:
    stated = _number(row["trainable_params_m"])
    if stated is not None:
        return stated * 1e6
    # Adapters of a form we do not count (adapter, prefix, ...) are small: nothing is assumed of them.
    return 0.0 if row["n_train"] == "other" else None


def _sharding(row: Row) -> str | None:
    if row["n_sharding"] == "device_map":
        return "none"
    return row["n_sharding"] or None


def _schedule(prose: str) -> str | None:
    if "interleaved" in prose:
        return "interleaved"
    return "1f1b" if "1f1b" in prose else None


def _micro_batch(row: Row) -> int | None:
    """As stated; else from the global batch where every degree that divides it is stated."""
    stated = _whole(row["micro_batch"])
    pipeline = _whole(row["n_pp"]) or 1
    if stated is not None:
        # torchtitan's local batch is cut into as many micro-batches as stages unless stated (2024 default).
        cut = framework_of(row) == "torchtitan" and pipeline > 1
        return max(1, stated // pipeline) if cut else stated
    parts = [_whole(row[name]) for name in ("global_batch", "n_gpus", "n_tp", "n_pp", "n_cp")]
    if any(part is None for part in parts):
        return None
    batch, gpus, tensor, stages, context = (part or 1 for part in parts)
    data = max(1, gpus // (tensor * stages * context))
    return max(1, batch // (data * (_whole(row["grad_accum"]) or 1)))


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _whole(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)
