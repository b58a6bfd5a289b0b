"""Pipeline ranks without work: filling and draining, by schedule."""

from __future__ import annotations

from weighbridge.schema.recipe import Recipe


def bubble_share(stages: int, micro_batches: int, schedule: str | None, virtual_stages: int | None) -> float:
    """Idle time over busy time of one rank: (p - 1)/m for GPipe and 1F1B, (p - 1)/(v m) interleaved.

    Narayanan 2021, section 2.2.
    """
    if stages <= 1:
        return 0.0
    chunks = (virtual_stages or 1) if schedule != "gpipe" else 1
    return (stages - 1) / (micro_batches * chunks)


def schedule_of(recipe: Recipe) -> str:
    if recipe.pipeline_schedule:
        return recipe.pipeline_schedule
    return "interleaved" if (recipe.virtual_stages or 1) > 1 else "1f1b"
