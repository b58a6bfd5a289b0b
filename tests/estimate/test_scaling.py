"""The curve over GPU counts: what stays with the task, and that copies do not come for free."""

from __future__ import annotations

import pytest

from weighbridge.estimate.describe.describe import describe
from weighbridge.estimate.machine import card_named
from weighbridge.estimate.scaling import copies, scaling


def test_the_curve_doubles_the_job_and_starts_at_full_efficiency() -> None:
    options = {"batch": 1, "sequence": 4096, "gpus": 8, "sharding": "fsdp", "precision": "bf16-mixed"}
    points = scaling(describe("llama-3.1-8b", options), card_named("L40S"))
    assert [point.gpus for point in points] == [8, 16, 32, 64]
    assert points[0].efficiency_share.value == pytest.approx(1.0)
    # A box of PCIe cards has 1.5 GB/s of network a card: gathering 8 billion parameters shows.
    assert (points[3].efficiency_share.value or 0) < 0.8
    rate, seconds = points[1].rate_per_second, points[1].step_seconds
    assert (rate.value or 0) * (seconds.value or 0) == pytest.approx(16 * 4096)


def test_copies_of_one_gpu_hold_the_whole_network_each() -> None:
    task = copies(describe("llama-3.2-1b", {"batch": 1, "sequence": 512}), 4)
    assert (task.gpus, task.layout.data_parallel, task.recipe.sharding) == (4, 4, "ddp")


def test_a_card_without_a_rate_has_no_curve() -> None:
    task = describe("llama-3.2-1b", {"batch": 1, "sequence": 512})
    assert scaling(task, card_named("Kunlun-P800")) == ()


def test_images_scale_as_well() -> None:
    task = describe("resnet-50", {"image_size": 224, "batch": 32, "precision": "fp16-mixed"})
    points = scaling(task, card_named("A100-SXM4-80GB"))
    assert [point.gpus for point in points] == [1, 2, 4, 8]
    assert all(0 < (point.efficiency_share.value or 0) <= 1.0001 for point in points)
