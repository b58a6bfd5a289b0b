"""A vision network by name with what was said of its training; its layers are laid out by ``vision``.

Options that only language models have are refused rather than passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.estimate.describe.vision import Asked, describe_vision
from weighbridge.facts.models import nearest_models
from weighbridge.schema.description import Description
from weighbridge.schema.run import Layout
from weighbridge.schema.vision import Network, VisionRecipe

_PRECISION: Final = {
    "fp32": "fp32", "tf32": "tf32", "bf16-mixed": "amp_bf16", "fp16-mixed": "amp_fp16", "bf16": "bf16",
}  # fmt: skip
_OPTIMIZER: Final = {
    "adamw": "adam", "adamw-fused": "adam", "adamw-8bit": "adamw8bit", "sgd": "sgd", "sgd-momentum": "sgd",
}  # fmt: skip
_HONOURED: Final = frozenset(
    {
        "batch", "image_size", "precision", "optimizer", "checkpointing", "framework", "gpus",
        "gpus_per_node", "dp", "compile", "sharding",
    }
)  # fmt: skip


def describe_image_task(name: str, said: Mapping[str, Any], source: str | None) -> Description:
    """Raises InputError for an unknown name (with the nearest) and for options that cannot be honoured."""
    size = said.get("image_size")
    if network_of(name, (512, 512), said.get("framework"), half=False, checkpointing=False) is None:
        near = nearest_models(name)
        code = "estimate.unknown_model" if near else "estimate.unknown_model_plain"
        raise InputError(code, name=name, near=near)
    if size is None:
        raise InputError("estimate.missing_options", names=["image_size"])
    if said.get("sharding") == "none":
        said = {key: value for key, value in said.items() if key != "sharding"}
    for key in sorted(set(said) - _HONOURED):
        raise InputError("estimate.option_for_language", name=key, network=name)
    if said.get("sharding", "ddp") != "ddp" or said.get("checkpointing") == "selective":
        key = "checkpointing" if said.get("sharding", "ddp") == "ddp" else "sharding"
        raise InputError("estimate.option_for_language", name=key, network=name)
    gpus = said.get("gpus", said.get("dp", 1))
    if said.get("dp", gpus) != gpus:
        product = said["dp"]
        raise InputError(
            "estimate.degrees_multiply", gpus=gpus, dp=said["dp"], tp=1, pp=1, cp=1, product=product
        )
    return Description(
        name=name,
        kind="vision",
        gpus=gpus,
        gpus_per_node=said.get("gpus_per_node"),
        layout=Layout(data_parallel=gpus, checkpointing=said.get("checkpointing")),
        network=name,
        image=size,
        vision=VisionRecipe(
            framework=said.get("framework"),
            images=said.get("batch"),
            precision=_choice(_PRECISION, said.get("precision"), "precision", name),  # type: ignore[arg-type]
            optimizer=_choice(_OPTIMIZER, said.get("optimizer"), "optimizer", name),  # type: ignore[arg-type]
            data_parallel=gpus,
            compiled=said.get("compile"),
        ),
        source=source,
    )


def _choice(table: Mapping[str, str], said: str | None, key: str, network: str) -> str | None:
    if said is None:
        return None
    if said not in table:
        raise InputError("estimate.option_for_language", name=f"{key} {said}", network=network)
    return table[said]


@lru_cache(maxsize=256)
def network_of(
    name: str, image: tuple[int, int], framework: str | None, *, half: bool, checkpointing: bool
) -> Network | None:
    """The network's operators at one image size, or None where the name is not understood."""
    asked = Asked(
        height=float(image[0]),
        width=float(image[1]),
        framework=framework,
        autocast=half,
        checkpointing=checkpointing,
    )
    try:
        return describe_vision(name, asked)
    except (ZeroDivisionError, IndexError, KeyError, StopIteration):
        # Part of the name is known, the rest is no network of that family.
        return None
