"""Beside a prediction stand published measurements of the same kind, and our error on them."""

from __future__ import annotations

from weighbridge.estimate.describe.describe import describe
from weighbridge.estimate.machine import card_named
from weighbridge.estimate.nearest import neighbours
from weighbridge.facts.measured_runs import load_measured_runs
from weighbridge.facts.models import find_model


def test_every_measurement_is_of_a_known_network_and_cites_a_line() -> None:
    runs = load_measured_runs()
    assert len(runs) > 80
    assert [run.id for run in runs if find_model(run.model) is None] == []
    assert [run.id for run in runs if "@" not in run.source or ":" not in run.source] == []


def test_a_measured_run_is_its_own_nearest_neighbour() -> None:
    run = next(run for run in load_measured_runs() if run.model == "Mistral-7B-v0.1" and run.recipe.sequence)
    options = {
        "batch": run.recipe.micro_batch,
        "sequence": run.recipe.sequence,
        "training": run.recipe.training,
    }
    if run.recipe.checkpointing in ("none", "full"):
        options["checkpointing"] = run.recipe.checkpointing
    task = describe(run.model, options)
    found = neighbours(task, card_named("A100-SXM4-80GB"))
    assert len(found) == 3
    assert run.model in found[0].what
    assert str(run.recipe.training) in found[0].what


def test_our_error_is_predicted_over_measured_less_one_and_is_not_hidden() -> None:
    task = describe("llama-3.1-8b", {"batch": 1, "sequence": 2048, "rank": 8})
    found = neighbours(task, card_named("A100-SXM4-80GB"))
    assert found
    for near in found:
        assert near.measured.origin == "measured"
        assert near.error_share is not None
        assert -0.9 < near.error_share < 3


def test_a_vision_task_has_none_yet() -> None:
    task = describe("resnet-50", {"image_size": 224, "batch": 4})
    assert neighbours(task, card_named("L4")) == ()
