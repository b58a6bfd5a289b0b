"""Parallel degrees as plain numbers, and over how many devices a kind of sharding spreads each part."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout


@dataclass(frozen=True, slots=True)
class Degrees:
    data: int
    tensor: int
    pipeline: int
    context: int
    expert: int

    def _sharded(self, recipe: Recipe) -> int:
        # FSDP and ZeRO spread over data x context ranks, hybrid sharding over a part of them.
        if recipe.sharding == "hsdp" and recipe.shard_degree is not None:
            return recipe.shard_degree
        return self.data * self.context

    def weight_shards(self, recipe: Recipe) -> int:
        return self._sharded(recipe) if recipe.sharding in ("fsdp", "hsdp", "zero3") else 1

    def gradient_shards(self, recipe: Recipe) -> int:
        return self._sharded(recipe) if recipe.sharding in ("fsdp", "hsdp", "zero3", "zero2") else 1

    def state_shards(self, recipe: Recipe) -> int:
        kinds = ("fsdp", "hsdp", "zero3", "zero2", "zero1", "megatron")
        return self._sharded(recipe) if recipe.sharding in kinds else 1


def degrees_of(layout: Layout, recipe: Recipe) -> Degrees | tuple[str, ...]:
    """The degrees, or the names of those that are unknown. Expert parallelism unknown is 1 (dense models)."""
    unknown = tuple(
        name
        for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")
        if getattr(layout, name) is None
    )
    if layout.data_parallel is None and recipe.sharding not in (None, "none", "ddp"):
        unknown = (*unknown, "data_parallel")
    if recipe.sharding == "hsdp" and recipe.shard_degree is None:
        unknown = (*unknown, "shard_degree")
    if unknown:
        return unknown
    return Degrees(
        data=layout.data_parallel or 1,
        tensor=layout.tensor_parallel or 1,
        pipeline=layout.pipeline_parallel or 1,
        context=layout.context_parallel or 1,
        expert=layout.expert_parallel or 1,
    )
