"""Model names of the tables to ModelShapes: the folder's models.csv, then models_more.csv beside this file.

models.csv states sizes; what follows from the family (biases, norms, tied embeddings) is written here, from
the published model code.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from weighbridge.schema.model import ModelShape

_TIED = ("gemma", "llama-3.2", "mpt", "falcon-7b", "falcon-40b")
# models.csv gives the width of a dense layer for these; their experts are narrower (HF config,
# moe_intermediate_size).
_EXPERT_WIDTH = {"qwen3-30b-a3b": 768, "qwen3-235b-a22b": 1536}


def key(name: str) -> str:
    """Names compare without case, separators and the suffixes that do not change the network."""
    plain = re.sub(r"\(.*?\)", "", name.lower().rsplit("/", 1)[-1]).strip().removeprefix("meta-")
    plain = re.sub(r"-(hf|base|instruct|chat|v0\.[0-9]|4k-instruct|[0-9]+k)(?=$|-)", "", plain)
    plain = re.sub(r"-(base|instruct|chat|it)(?=$|-)", "", plain)
    plain = re.sub(r"(?<=\d)[._](?=\d)", "p", plain)
    return re.sub(r"[^a-z0-9]", "", plain)


def load_shapes(folder: Path) -> dict[str, ModelShape]:
    shapes: dict[str, ModelShape] = {}
    with (folder / "models.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["vocab"] or row["padded_vocab"]:
                shapes[key(row["model"])] = _stated(row)
    with (Path(__file__).parent / "models_more.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            shapes.setdefault(key(row["model"]), _full(row))
    aliases = {"tinyllama": "tinyllama1p1b", "zephyr7bbeta": "mistral7b", "zephyr7b": "mistral7b"}
    for alias, target in aliases.items():
        if target in shapes:
            shapes.setdefault(alias, shapes[target])
    return shapes


def _stated(row: dict[str, str]) -> ModelShape:
    name, mlp = row["model"].lower(), row["mlp"]
    gated = "LLaMA" in mlp or "Gemma" in mlp
    experts = int(row["n_expert"]) if row["n_expert"] else None
    biased = name.startswith(("phi-1", "phi-2", "pythia", "stablelm", "gpt-"))
    layer_norm = not gated
    vocabulary = int(row["padded_vocab"] or row["vocab"])
    if name.startswith(("phi-1", "phi-2")):
        vocabulary = 51200
    gemma2 = name.startswith("gemma-2-")
    return ModelShape(
        name=row["model"],
        layers=int(row["layers"]),
        hidden=int(row["hidden"]),
        ffn_hidden=int(row["ffn_hidden"]),
        heads=int(row["heads"]),
        kv_heads=int(row["kv_heads"]),
        head_dim=int(row["head_dim"]),
        vocabulary=vocabulary,
        gated=gated,
        tied_embeddings=name.startswith(_TIED) or name.startswith("gpt-"),
        position_rows=2048 if name.startswith(("mpt", "gpt-")) else 0,
        experts=experts,
        experts_per_token=int(row["n_expert_per_token"]) if experts else None,
        expert_ffn_hidden=_EXPERT_WIDTH.get(name) if experts else None,
        norm="layer" if layer_norm else "rms",
        norms_per_layer=4 if gemma2 else 1 if name.startswith(("phi-1", "phi-2", "falcon-7b")) else 2,
        norm_bias=layer_norm and not name.startswith("mpt"),
        qk_norm=name.startswith("qwen3"),
        attention_input_bias=biased or name.startswith("qwen2"),
        attention_output_bias=biased,
        mlp_bias=biased,
        head_bias=name.startswith(("phi-1", "phi-2")),
    )


def _full(row: dict[str, str]) -> ModelShape:
    experts = int(row["n_expert"]) if row["n_expert"] else None
    return ModelShape(
        name=row["model"],
        layers=int(row["layers"]),
        hidden=int(row["hidden"]),
        ffn_hidden=int(row["ffn_hidden"]),
        heads=int(row["heads"]),
        kv_heads=int(row["kv_heads"]),
        head_dim=int(row["head_dim"]),
        vocabulary=int(row["vocab"]),
        gated=row["gated"] == "1",
        tied_embeddings=row["tied"] == "1",
        position_rows=int(row["positions"]),
        experts=experts,
        experts_per_token=int(row["n_expert_per_token"]) if experts else None,
        expert_ffn_hidden=int(row["expert_ffn"]) if row["expert_ffn"] else None,
        shared_expert_ffn_hidden=int(row["shared_ffn"]),
        norm="layer" if row["norm"] == "layer" else "rms",
        norms_per_layer=int(row["norms"]),
        norm_bias=row["norm_bias"] == "1",
        qk_norm=row["qk_norm"] == "1",
        attention_input_bias=row["qkv_bias"] == "1",
        attention_output_bias=row["o_bias"] == "1",
        mlp_bias=row["mlp_bias"] == "1",
        head_bias=row["head_bias"] == "1",
        loss_in_fp32=row["loss_fp32"] == "1",
    )
