"""The Python entry: fits as the kernel says, guesses are listed, limits are what was weighed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from weighbridge.errors import InputError
from weighbridge.estimate.cards import catalogue, fit_table, smallest_card
from weighbridge.estimate.describe.describe import describe
from weighbridge.estimate.machine import card_bytes, card_named
from weighbridge.estimate.search import cheapest_change, fits, largest_batch, longest
from weighbridge.estimate.weigh import weigh, with_batch
from weighbridge.schema.description import Description
from weighbridge.units import GIB, Quantity

LORA: dict[str, Any] = {
    "batch": 4,
    "sequence": 1024,
    "rank": 16,
    "lora_targets": "q_proj,v_proj",
    "precision": "bf16-mixed",
    "optimizer": "adamw",
    "checkpointing": "full",
    "attention": "flash",
}


def task(name: str = "llama-3.2-1b", **options: Any) -> Description:
    return describe(name, {**LORA, **options})


def size(gib: float) -> Quantity:
    return Quantity(value=gib * GIB, unit="bytes", origin="catalogue")


def test_the_package_answers_when_it_is_called() -> None:
    fit = weighbridge.weigh("llama-3.2-1b", gpu="L40S", **LORA)  # type: ignore[operator]
    assert fit == weigh("llama-3.2-1b", "L40S", **LORA)


def test_weights_states_and_gradients_of_a_full_training_are_16_bytes_a_parameter() -> None:
    # fp32 weights, gradients and two states of 1,235,814,400 parameters, nothing split.
    options = {
        "batch": 1,
        "sequence": 128,
        "training": "full",
        "precision": "bf16-mixed",
        "optimizer": "adamw",
    }
    fit = weigh("llama-3.2-1b", "H200-SXM-141GB", **options, checkpointing="full")
    assert fit.memory is not None
    update = next(phase for phase in fit.memory.phases if phase.phase == "optimizer")
    parts = {part.part: part.alive_bytes.value for part in update.parts}
    assert parts["weights"] == pytest.approx(4 * 1_235_814_400)
    assert parts["states"] == pytest.approx(8 * 1_235_814_400)
    assert parts["gradients"] == pytest.approx(4 * 1_235_814_400)


def test_a_step_is_no_faster_than_its_flops_over_the_dense_rate() -> None:
    options = {**LORA, "training": "full", "batch": 8}
    options.pop("rank")
    options.pop("lora_targets")
    fit = weigh("llama-3.2-1b", "H100-SXM5-80GB", **options)
    assert fit.step is not None
    # 6 x parameters x tokens at 989 TFLOP/s, the embedding's rows (not a product) left out.
    least = 6 * (1_235_814_400 - 128_256 * 2048) * 8 * 1024 / 989e12
    assert (fit.step.total.value or 0) > least
    assert fit.model_flops_share is not None
    assert 0 < (fit.model_flops_share.value or 0) < 1


def test_a_figure_that_rests_on_a_default_says_so() -> None:
    bare = weigh("llama-3.2-1b", "L40S", batch=1, sequence=512)
    fields = {finding.params["field"] for finding in bare.guesses if finding.severity == "warning"}
    assert {"training", "precision", "optimizer", "checkpointing"} <= fields
    stated = weigh("llama-3.2-1b", "L40S", **LORA)
    assert [finding for finding in stated.guesses if finding.severity == "warning"] == []


def test_a_default_that_moves_the_answer_widens_the_interval() -> None:
    stated = weigh("llama-3.2-1b", "L40S", **LORA)
    guessed = weigh("llama-3.2-1b", "L40S", **{**LORA, "optimizer": None})
    assert stated.memory is not None
    assert guessed.memory is not None
    assert guessed.memory.device_bytes.value == stated.memory.device_bytes.value
    assert (guessed.memory.device_bytes.high or 0) > (stated.memory.device_bytes.high or 0)


@pytest.mark.parametrize(
    ("options", "names"),
    [({"sequence": 512}, ["batch"]), ({"batch": 1}, ["sequence"]), ({}, ["batch", "sequence"])],
)
def test_what_must_be_said_is_asked_for_by_name(options: dict[str, int], names: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        weigh("llama-3.2-1b", "L40S", **options)
    assert caught.value.params["names"] == names


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("H100", "estimate.open_gpu"),
        ("H1000", "estimate.unknown_gpu_near"),
        ("teapot", "estimate.unknown_gpu"),
    ],
)
def test_a_gpu_that_is_open_or_unknown_is_refused(name: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        card_named(name)
    assert caught.value.code == code


def test_every_card_of_the_catalogue_answers() -> None:
    asked = task()
    table = fit_table(asked, catalogue(every=True))
    assert len(table.cards) > 150
    assert all(row.verdict in ("fits", "may_not_fit", "fits_with_change", "cannot") for row in table.cards)


def test_the_largest_batch_fits_and_the_next_does_not() -> None:
    asked, card = task(), size(24)
    most = largest_batch(asked, card)
    assert most >= 1
    assert fits(with_batch(asked, most), card) is True
    assert fits(with_batch(asked, most + 1), card) is not True
    assert largest_batch(asked, card, sure=False) >= most


def test_the_longest_sequence_is_a_multiple_of_128_tokens_per_context_rank() -> None:
    asked = task(gpus=2, cp=2, sharding="fsdp")
    assert longest(asked, size(24)) % 256 == 0
    assert longest(asked, size(48)) > longest(asked, size(24))


@settings(max_examples=25, deadline=None)
@given(batch=st.integers(1, 64), more=st.integers(1, 64), gpus=st.sampled_from([2, 4, 8]))
def test_tensors_grow_with_the_batch_and_sharding_never_adds_states(batch: int, more: int, gpus: int) -> None:
    def allocated(**options: Any) -> float:
        memory = weigh("llama-3.2-1b", "B200-SXM-180GB", **{**LORA, **options}).memory
        assert memory is not None
        return memory.allocated_bytes.value or 0.0

    assert allocated(batch=batch) <= allocated(batch=batch + more)

    def states(sharding: str) -> float:
        options = {**LORA, "training": "full", "gpus": gpus, "sharding": sharding}
        options.pop("rank")
        options.pop("lora_targets")
        memory = weigh("llama-3.2-1b", "B200-SXM-180GB", **options).memory
        assert memory is not None
        update = next(phase for phase in memory.phases if phase.phase == "optimizer")
        return sum(part.alive_bytes.value or 0 for part in update.parts if part.part == "states")

    assert states("fsdp") == pytest.approx(states("ddp") / gpus)


def test_the_cheapest_change_is_the_first_in_order_that_fits() -> None:
    # One sample cannot be cut, so that checkpointing is the first to help where it is enough.
    before, after = task(checkpointing="none", batch=1, sequence=4096), task(batch=1, sequence=4096)
    sizes = [gib for gib in range(4, 40) if fits(before, size(gib)) is not True]
    enough = [gib for gib in sizes if fits(after, size(gib)) is True]
    assert enough
    for gib in enough:
        change = cheapest_change(before, size(gib))
        assert change is not None
        assert [step.code for step in change.steps] == ["estimate.change.checkpointing"]


def test_a_smaller_batch_divides_the_old_one_and_keeps_it_by_accumulation() -> None:
    change = cheapest_change(task(batch=64), size(16))
    assert change is not None
    (step,) = change.steps
    assert step.code == "estimate.change.smaller_batch"
    assert int(str(step.params["batch"])) * int(str(step.params["passes"])) == 64


def test_the_smallest_card_fits_and_no_smaller_one_does() -> None:
    asked = task("qwen2.5-7b", batch=2)
    name = smallest_card(asked)
    assert name is not None
    limit = card_bytes(card_named(name)).value or 0.0
    smaller = [card for card in catalogue() if (card_bytes(card).value or 0) < limit * 0.98]
    assert [c.id for c in smaller if c.vendor == "NVIDIA" and fits(asked, card_bytes(c)) is True] == []


def test_rates_are_relative_to_the_smallest_card_that_fits() -> None:
    cards = [card_named(name) for name in ("L4", "L40S", "A100-SXM4-80GB")]
    table = fit_table(task("qwen2.5-7b", batch=4, sequence=2048), cards)
    by_name = {row.gpu: row for row in table.cards}
    assert table.reference is not None
    assert by_name[table.reference].relative_rate == pytest.approx(1.0)
    assert by_name["L4"].verdict != "fits"


def test_a_small_card_is_named_as_a_trap_with_what_it_leaves() -> None:
    options = {"batch": 8, "image_size": "800x1344", "precision": "fp32", "framework": "mmdet"}
    cards = [card_named(name) for name in ("RTX-2080-Ti", "A100-SXM4-80GB")]
    table = fit_table(describe("faster-rcnn_r50_fpn", options), cards)
    first, second = table.traps[:2]
    assert first.code == "estimate.trap.pixels"
    assert 1 <= int(str(first.params["batch"])) < 8
    assert second.code == "estimate.trap.more_cards"
