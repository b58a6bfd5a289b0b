"""Bytes of logits and loss at the fullest moment of the loss, which is where backward begins.

The constant per logit depends on how the loss is computed (``Recipe.loss``); a model whose published code
computes the loss in the dtype of the logits has constants of its own.
"""

from __future__ import annotations

from weighbridge.schema.memory_constants import MemoryConstants
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe


def loss_key(shape: ModelShape, recipe: Recipe) -> str:
    """The name under which the constants know this loss."""
    name = recipe.loss or "eager"
    if shape.loss_in_fp32 or not name.startswith(("eager", "fused")):
        return name
    kind = "own_dtype_fused" if name.startswith("fused") else "own_dtype"
    return kind + ("_autocast" if recipe.autocast else "")


def loss_bytes(
    shape: ModelShape, recipe: Recipe, tokens: float, tensor: int, constants: MemoryConstants
) -> float:
    """Logits, their copies, the loss and its gradient, and the last norm, for ``tokens`` on this device."""
    per_logit = constants.loss_bytes_per_logit[loss_key(shape, recipe)]
    last_norm = constants.final_norm_bytes_per_hidden * shape.hidden
    return tokens * (per_logit * shape.vocabulary / tensor + last_norm)
