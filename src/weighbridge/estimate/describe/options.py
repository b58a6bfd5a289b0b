"""What a user may say of a training task beside the network, and how it becomes a Recipe and a Layout.

One table for the command line, the description file and Python alike: names, kinds, choices. Values are
checked here, combinations in ``layout``. Nothing is filled in that was not said: defaults are the kernel's,
and listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal

from weighbridge.errors import InputError
from weighbridge.schema.recipe import Recipe

Kind = Literal["whole", "choice", "flag", "text", "size", "names"]


@dataclass(frozen=True, slots=True)
class Option:
    kind: Kind
    choices: tuple[str, ...] = ()
    most: int = 10**9


PRECISIONS: Final = ("fp32", "tf32", "bf16-mixed", "fp16-mixed", "bf16", "fp16", "fp8")
SHARDINGS: Final = ("none", "ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp", "megatron")
FRAMEWORKS: Final = (
    "hf_trainer", "deepspeed", "torchtitan", "torchtune", "litgpt", "nemo", "megatron", "peft", "ms_swift",
    "unsloth", "llm_foundry", "mmdet", "mmseg", "detectron2", "timm",
)  # fmt: skip
OPTIONS: Final[dict[str, Option]] = {
    "batch": Option("whole", most=10**6),
    "sequence": Option("whole", most=10**8),
    "image_size": Option("size"),
    "precision": Option("choice", PRECISIONS),
    "optimizer": Option(
        "choice",
        (
            "adamw", "adamw-fused", "adamw-8bit", "adamw-8bit-paged", "sgd", "sgd-momentum", "adafactor",
            "lion", "muon",
        ),
    ),
    "accumulation": Option("whole", most=10**6),
    "checkpointing": Option("choice", ("none", "selective", "full")),
    "attention": Option("choice", ("flash", "sdpa", "eager")),
    "training": Option("choice", ("full", "lora", "dora", "qlora")),
    "rank": Option("whole", most=10**5),
    "lora_targets": Option("names"),
    "sharding": Option("choice", SHARDINGS),
    "shard_degree": Option("whole", most=10**6),
    "offload": Option("choice", ("none", "optimizer", "parameters", "activations")),
    "gpus": Option("whole", most=10**6),
    "gpus_per_node": Option("whole", most=10**4),
    "dp": Option("whole", most=10**6),
    "tp": Option("whole", most=10**4),
    "pp": Option("whole", most=10**4),
    "cp": Option("whole", most=10**4),
    "ep": Option("whole", most=10**4),
    "sequence_parallel": Option("flag"),
    "pipeline_schedule": Option("choice", ("gpipe", "1f1b", "interleaved")),
    "framework": Option("choice", FRAMEWORKS),
    "framework_version": Option("text"),
    "compile": Option("flag"),
    "fused_kernels": Option("flag"),
    "variable_lengths": Option("flag"),
}  # fmt: skip
_SPELLINGS: Final = {
    "micro_batch": "batch",
    "seq": "sequence",
    "sequence_length": "sequence",
    "lora_rank": "rank",
}
# (master, compute, autocast) of a full training; adapters keep the frozen base in 16 bits.
_PRECISION: Final[dict[str, tuple[str, str, bool]]] = {
    "fp32": ("fp32", "fp32", False),
    "tf32": ("fp32", "fp32", False),
    "bf16-mixed": ("fp32", "bf16", True),
    "fp16-mixed": ("fp32", "fp16", True),
    "bf16": ("bf16", "bf16", False),
    "fp16": ("fp16", "fp16", False),
    "fp8": ("fp32", "fp8", True),
}
_OPTIMIZER: Final[dict[str, dict[str, Any]]] = {
    "adamw": {"optimizer": "adamw"},
    "adamw-fused": {"optimizer": "adamw", "optimizer_implementation": "fused"},
    "adamw-8bit": {"optimizer": "adamw8bit"},
    "adamw-8bit-paged": {"optimizer": "adamw8bit", "paged_optimizer": True},
    "sgd-momentum": {"optimizer": "sgd_momentum"},
}
_OFFLOAD: Final = {
    "optimizer": {"optimizer_offload": True},
    "parameters": {"optimizer_offload": True, "parameter_offload": True},
    "activations": {"activation_offload": True},
}
_AS_THEY_ARE: Final = (
    "accumulation", "attention", "training", "sharding", "shard_degree", "framework", "framework_version",
    "compile", "fused_kernels", "pipeline_schedule", "sequence", "checkpointing", "sequence_parallel",
)  # fmt: skip


def read_options(given: Mapping[str, Any], *, file: str | None = None) -> dict[str, Any]:
    """The values that were said (None is not said), checked one by one.

    Raises InputError that names the key, with the nearest known one, or what its value should be.
    """
    found: dict[str, Any] = {}
    for written, value in given.items():
        name = str(written).replace("-", "_").lower()
        name = _SPELLINGS.get(name, name)
        if name not in OPTIONS:
            refuse_key(str(written), list(OPTIONS), file)
        if value is not None:
            found[name] = _value(name, OPTIONS[name], value, file)
    return found


def refuse_key(written: str, known: list[str], file: str | None) -> None:
    near = get_close_matches(written, known, n=1, cutoff=0.5)
    code = "estimate.unknown_key_near" if near else "estimate.unknown_key"
    raise InputError(code, file=file or "-", key=written, near=near[0] if near else "", known=known)


def _value(name: str, option: Option, value: Any, file: str | None) -> Any:
    if option.kind == "whole":
        return _whole(name, option, value, file)
    if option.kind == "size":
        return _size(name, value, file)
    if option.kind == "flag":
        if isinstance(value, bool):
            return value
        raise InputError("estimate.option_flag", name=name, value=value)
    if option.kind == "names":
        parts = value if isinstance(value, list | tuple) else str(value).split(",")
        return tuple(str(part).strip() for part in parts if str(part).strip())
    text = "none" if value is False else str(value).strip()
    if option.kind == "text":
        return text
    plain = text.lower().replace("_", "-")
    for choice in option.choices:
        if choice.replace("_", "-") == plain:
            return choice
    near = get_close_matches(plain, option.choices, n=1, cutoff=0.4)
    raise InputError(
        "estimate.option_choice", name=name, value=text, near=near[0] if near else "-", choices=option.choices
    )


def _whole(name: str, option: Option, value: Any, file: str | None) -> int:
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        try:
            number = float(value.replace("_", "").replace(",", ""))
        except ValueError:
            number = None
    if number is None or number != number or not number.is_integer() or not 1 <= number <= option.most:
        raise InputError("estimate.option_whole", name=name, value=value, most=option.most)
    return int(number)


def _size(name: str, value: Any, file: str | None) -> tuple[int, int]:
    """640, "640x480" or [640, 480]: height x width."""
    parts = value if isinstance(value, list | tuple) else str(value).lower().replace("*", "x").split("x")
    if len(parts) not in (1, 2):
        raise InputError("estimate.option_size", name=name, value=value)
    numbers = [_whole(name, Option("whole", most=10**5), part, file) for part in parts]
    return numbers[0], numbers[-1]


def recipe_of(said: Mapping[str, Any]) -> Recipe:
    """What was said of the training, as a Recipe; the rest stays None."""
    fields: dict[str, Any] = {name: said[name] for name in _AS_THEY_ARE if name in said}
    fields["micro_batch"] = said.get("batch")
    fields.update(_OPTIMIZER.get(said.get("optimizer", ""), {"optimizer": said.get("optimizer")}))
    fields.update(_OFFLOAD.get(said.get("offload", "none"), {}))
    if "rank" in said:
        fields.setdefault("training", "lora")
        fields["lora_rank"] = said["rank"]
    if "lora_targets" in said:
        fields["lora_targets"] = said["lora_targets"]
    adapted = fields.get("training") in ("lora", "dora", "qlora")
    if "precision" in said:
        master, compute, autocast = _PRECISION[said["precision"]]
        if adapted and autocast:
            master = "fp16" if compute == "fp16" else "bf16"
        fields |= {"master": master, "compute": compute, "autocast": autocast}
    if fields.get("training") == "dora":
        fields |= {"training": "lora", "output_scales": True}
    if fields.get("training") == "qlora":
        fields["base_quant"] = "nf4"
    if "variable_lengths" in said:
        fields["sequence_kind"] = "variable" if said["variable_lengths"] else "fixed"
    if fields.get("training") == "full" and ("rank" in said or "lora_targets" in said):
        raise InputError("estimate.rank_without_lora")
    return Recipe(**fields)
