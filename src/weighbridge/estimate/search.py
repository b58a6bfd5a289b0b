"""The largest batch, the longest input and the cheapest change that fit, by asking the memory kernel again.

Memory grows with batch and length, so a doubling and a bisection find the limit; every answer returned was
itself weighed. Knows one card size at a time; the catalogue is in ``cards``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from weighbridge.estimate.weigh import batch_of, memory_of, with_batch
from weighbridge.schema.description import Description
from weighbridge.schema.estimate import Advice, Change
from weighbridge.schema.finding import Finding
from weighbridge.schema.recipe import Sharding
from weighbridge.units import Quantity

_MOST_BATCH: Final = 1 << 16
_MOST_TOKENS: Final = 1 << 22
# Lengths are asked in steps of this many tokens, image sides in strides of a network.
_TOKENS: Final = 128
_PIXELS: Final = 32
_MOST_PIXELS: Final = 1 << 13
_LORA_RANK: Final = 16
_ALL_LINEAR: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

Variant = Callable[[Description], Description | None]


def fits(task: Description, card: Quantity) -> bool | None:
    """True: surely; False: cannot; None: the interval reaches over the card."""
    found = memory_of(task, card)
    return None if found is None else found.fits


def advice(task: Description, card: Quantity, *, smallest_card: str | None = None) -> Advice:
    """What this card could carry of the task, and the cheapest change when it does not carry all."""
    found = fits(task, card)
    return Advice(
        largest_batch=largest_batch(task, card),
        perhaps_batch=largest_batch(task, card, sure=False),
        longest=longest(task, card),
        change=None if found is True else cheapest_change(task, card),
        smallest_card=smallest_card,
    )


def largest_batch(task: Description, card: Quantity, *, sure: bool = True) -> int:
    """Samples per GPU and pass; ``sure`` False asks for what is not refused outright. 0: not even one."""

    def carries(batch: int) -> bool:
        answer = fits(with_batch(task, batch), card)
        return answer is True if sure else answer is not False

    return _largest(carries, _MOST_BATCH)


def longest(task: Description, card: Quantity) -> int:
    """Tokens (in steps of 128 x context degree), or pixels of a square image's side; 0: not the least."""
    if task.kind == "vision":
        return _PIXELS * _largest(
            lambda sides: fits(replace(task, image=(sides * _PIXELS,) * 2), card) is True,
            _MOST_PIXELS // _PIXELS,
        )
    step = _TOKENS * (task.layout.context_parallel or 1)

    def carries(steps: int) -> bool:
        recipe = replace(task.recipe, sequence=steps * step)
        return fits(replace(task, recipe=recipe), card) is True

    return step * _largest(carries, _MOST_TOKENS // step)


def _largest(carries: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that is carried, taking it that smaller ones are as well."""
    low, high = 0, 1
    while high <= most and carries(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if carries(middle) else (low, middle)
    return low


def cheapest_change(task: Description, card: Quantity) -> Change | None:
    """The first single change that surely fits, in order of cost; else the shortest run of them together."""
    for variant in VARIANTS:
        found = _try(task, card, (variant,))
        if found is not None:
            return found
    for count in range(2, len(VARIANTS) + 1):
        found = _try(task, card, VARIANTS[:count])
        if found is not None:
            return found
    return None


def _try(task: Description, card: Quantity, variants: tuple[Variant, ...]) -> Change | None:
    changed = task
    steps: list[Finding] = []
    for variant in variants:
        if variant is smaller_batch:
            continue
        after = variant(changed)
        if after is not None:
            # A later step that replaces an earlier one leaves that out of the list.
            steps = [step for step in steps if step.code not in _REPLACES.get(variant, ())]
            steps.append(Finding(code=f"estimate.change.{variant.__name__}", severity="note"))
            changed = after
    if smaller_batch in variants:
        return _with_smaller_batch(changed, card, steps)
    if not steps or fits(changed, card) is not True:
        return None
    return Change(steps=tuple(steps), batch=batch_of(task) or 1)


def _with_smaller_batch(task: Description, card: Quantity, steps: list[Finding]) -> Change | None:
    """The largest divisor of the batch that fits, its passes made up by accumulation."""
    batch = batch_of(task) or 1
    for divisor in (size for size in range(batch, 0, -1) if batch % size == 0):
        if divisor == batch and not steps:
            continue
        if fits(with_batch(task, divisor), card) is True:
            if divisor < batch:
                params: dict[str, Quantity | str | int | float | None] = {
                    "batch": divisor,
                    "passes": batch // divisor,
                }
                steps = [
                    *steps,
                    Finding(code="estimate.change.smaller_batch", severity="note", params=params),
                ]
            return Change(steps=tuple(steps), batch=divisor) if steps else None
    return None


def checkpointing(task: Description) -> Description | None:
    if task.kind == "vision":
        if task.layout.checkpointing == "full":
            return None
        return replace(task, layout=replace(task.layout, checkpointing="full"))
    if task.recipe.checkpointing == "full":
        return None
    return replace(task, recipe=replace(task.recipe, checkpointing="full"))


def smaller_batch(task: Description) -> Description | None:
    """Stands for the search over divisors in ``_with_smaller_batch``."""
    batch = batch_of(task)
    return with_batch(task, 1) if batch is not None and batch > 1 else None


def eight_bit_optimizer(task: Description) -> Description | None:
    if task.vision is not None:
        if task.vision.optimizer != "adam":
            return None
        return replace(task, vision=replace(task.vision, optimizer="adamw8bit"))
    if task.recipe.optimizer not in (None, "adamw") or task.recipe.training not in (None, "full"):
        return None
    return replace(task, recipe=replace(task.recipe, optimizer="adamw8bit"))


def sharded_states(task: Description) -> Description | None:
    many = (task.layout.data_parallel or 1) > 1
    if (
        task.kind == "vision"
        or not many
        or task.recipe.sharding not in (None, "none", "ddp", "zero1", "zero2")
    ):
        return None
    sharding: Sharding = "zero3" if (task.recipe.sharding or "").startswith("zero") else "fsdp"
    return replace(task, recipe=replace(task.recipe, sharding=sharding))


def lora(task: Description) -> Description | None:
    if task.kind == "vision" or task.recipe.training not in (None, "full"):
        return None
    half = task.recipe.compute if task.recipe.compute in ("bf16", "fp16") else "bf16"
    recipe = replace(
        task.recipe,
        training="lora",
        lora_rank=_LORA_RANK,
        lora_targets=_ALL_LINEAR,
        master=half,
        compute=half,
        optimizer="adamw",
    )
    return replace(task, recipe=recipe)


def qlora(task: Description) -> Description | None:
    adapted = task if task.recipe.training == "lora" else lora(task)
    if adapted is None or adapted.kind == "vision":
        return None
    return replace(adapted, recipe=replace(adapted.recipe, training="qlora", base_quant="nf4"))


_REPLACES: Final[dict[Variant, tuple[str, ...]]] = {
    lora: ("estimate.change.eight_bit_optimizer",),
    qlora: ("estimate.change.lora",),
}
# In order of what they cost: time, time, a little accuracy, communication, another kind of training.
VARIANTS: Final[tuple[Variant, ...]] = (
    checkpointing,
    smaller_batch,
    eight_bit_optimizer,
    sharded_states,
    lora,
    qlora,
)
