"""Small records for the tests of step time: one network, one recipe, one machine, the shipped constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from weighbridge.facts.step_constants import load_step_tables
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.step import Missing, StepEstimate, step_time

SHAPE = ModelShape(
    name="seven",
    layers=32,
    hidden=4096,
    ffn_hidden=11008,
    heads=32,
    kv_heads=32,
    head_dim=128,
    vocabulary=32000,
)
RECIPE = Recipe(
    framework="hf_trainer",
    training="full",
    master="bf16",
    compute="bf16",
    optimizer="adamw",
    checkpointing="none",
    attention="flash",
    sharding="none",
    micro_batch=2,
    accumulation=1,
    sequence=2048,
    sequence_kind="fixed",
)
ONE = Layout(data_parallel=1, tensor_parallel=1, pipeline_parallel=1, context_parallel=1, expert_parallel=1)
MACHINE = StepMachine(
    name="card",
    architecture="Ampere",
    rates={"bf16": 312e12, "fp16": 312e12, "tf32": 156e12, "fp32": 19.5e12},
    memory_bytes_per_second=2.0e12,
    memory_bytes=80e9,
    multiprocessors=108,
    power_watts=400.0,
    link_kind="nvlink",
    link_bytes_per_second=300e9,
    domain=8,
    network_bytes_per_second=25e9,
)


def weigh(
    recipe: Recipe = RECIPE,
    layout: Layout = ONE,
    machine: StepMachine = MACHINE,
    shape: ModelShape = SHAPE,
    **changes: Any,
) -> StepEstimate:
    tables = load_step_tables()
    answer = step_time(shape, replace(recipe, **changes), layout, machine, tables.constants, tables.defaults)
    assert not isinstance(answer, Missing), answer
    return answer


def copies(count: int, tensor_parallel: int = 1, pipeline_parallel: int = 1) -> Layout:
    return replace(
        ONE, data_parallel=count, tensor_parallel=tensor_parallel, pipeline_parallel=pipeline_parallel
    )
