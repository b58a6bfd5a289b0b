"""Seconds of the optimizer step: bytes of weights, gradients and states over the memory's bandwidth."""

from __future__ import annotations

from weighbridge.schema.recipe import Recipe
from weighbridge.schema.step_constants import StepConstants
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.parameters import Parameters
from weighbridge.weigh.step.kernels import Kernels, pick


def optimizer_seconds(
    counted: Parameters, recipe: Recipe, degrees: Degrees, kernels: Kernels, constants: StepConstants
) -> float:
    """An adapter's own parameters are so few that only the frozen case is told apart."""
    if recipe.training != "full":
        return (recipe.trained_parameters or 0.0) * 30.0 / kernels.memory_bytes_per_second
    local = (counted.dense + counted.all_experts / degrees.expert) / (degrees.tensor * degrees.pipeline)
    shards = degrees.state_shards(recipe)
    name = recipe.optimizer or "adamw"
    key = name if name in constants.optimizer_bytes else (recipe.optimizer_implementation or "any")
    return local / shards * pick(constants.optimizer_bytes, key) / kernels.memory_bytes_per_second
