"""Parallel degrees: what was said, completed where it follows, refused where it cannot be.

data x tensor x pipeline x context = GPUs. Expert parallelism takes its ranks out of data x context
(x tensor), it does not multiply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weighbridge.errors import InputError
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout


def layout_of(said: Mapping[str, Any], recipe: Recipe) -> tuple[Layout, int]:
    """The degrees and the GPUs of the whole job. Raises InputError for degrees that do not multiply."""
    tensor, pipeline, context = (int(said.get(name, 1)) for name in ("tp", "pp", "cp"))
    model = tensor * pipeline * context
    gpus, data = said.get("gpus"), said.get("dp")
    if gpus is None:
        gpus = model * (data or 1)
    if gpus % model:
        raise InputError(
            "estimate.degrees_divide", gpus=gpus, tp=tensor, pp=pipeline, cp=context, product=model
        )
    if data is not None and data * model != gpus:
        raise InputError(
            "estimate.degrees_multiply",
            gpus=gpus,
            dp=data,
            tp=tensor,
            pp=pipeline,
            cp=context,
            product=data * model,
        )
    data = gpus // model
    expert = int(said.get("ep", 1))
    if (data * context * tensor) % expert:
        raise InputError("estimate.expert_ranks", ep=expert, ranks=data * context * tensor)
    if recipe.shard_degree is not None and recipe.sharding != "hsdp":
        raise InputError("estimate.shard_degree_alone")
    if recipe.shard_degree is not None and (data * context) % recipe.shard_degree:
        raise InputError("estimate.shard_degree", degree=recipe.shard_degree, ranks=data * context)
    if recipe.sharding == "hsdp" and recipe.shard_degree is None:
        raise InputError("estimate.missing_options", names=["shard_degree"])
    layout = Layout(
        data_parallel=data,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        context_parallel=context,
        expert_parallel=expert,
    )
    return layout, gpus


def check_network(shape: ModelShape, recipe: Recipe, layout: Layout) -> None:
    """Whether the network divides so. Raises InputError with the one degree that does not fit."""
    tensor, pipeline = layout.tensor_parallel or 1, layout.pipeline_parallel or 1
    if shape.heads % tensor:
        raise InputError("estimate.heads_divide", tp=tensor, heads=shape.heads)
    if shape.kv_heads % tensor and tensor % shape.kv_heads:
        raise InputError("estimate.kv_heads_divide", tp=tensor, heads=shape.kv_heads)
    if pipeline > shape.layers:
        raise InputError("estimate.layers_divide", pp=pipeline, layers=shape.layers)
    context = layout.context_parallel or 1
    if recipe.sequence is not None and recipe.sequence % context:
        raise InputError("estimate.sequence_divides", cp=context, sequence=recipe.sequence)
    expert = layout.expert_parallel or 1
    if expert > 1 and shape.experts is None:
        raise InputError("estimate.no_experts", ep=expert, name=shape.name)
    if shape.experts is not None and shape.experts % expert:
        raise InputError("estimate.experts_divide", ep=expert, experts=shape.experts)
