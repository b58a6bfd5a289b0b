"""Shapes, a recipe to vary and a layout of one device for the memory tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.weigh.memory import MemoryEstimate

Weigh = Callable[..., MemoryEstimate]

MISTRAL = ModelShape(
    name="Mistral-7B",
    layers=32,
    hidden=4096,
    ffn_hidden=14336,
    heads=32,
    kv_heads=8,
    head_dim=128,
    vocabulary=32000,
)
LLAMA3 = replace(MISTRAL, name="Llama-3-8B", vocabulary=128256)
MIXTRAL = replace(MISTRAL, name="Mixtral-8x7B", experts=8, experts_per_token=2)

RECIPE = Recipe(
    framework="hf_trainer",
    training="full",
    master="bf16",
    compute="bf16",
    autocast=False,
    optimizer="adamw",
    checkpointing="full",
    attention="flash",
    sharding="none",
    micro_batch=4,
    sequence=4096,
    sequence_kind="fixed",
    accumulation=1,
)
ONE = Layout(data_parallel=1, tensor_parallel=1, pipeline_parallel=1, context_parallel=1, expert_parallel=1)
