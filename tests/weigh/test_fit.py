"""The Fit as a sum of what the kernels said: identities hold, intervals and waits follow by hand."""

from __future__ import annotations

import pytest

from weighbridge.schema.fit import Provenance
from weighbridge.schema.prediction import Versions
from weighbridge.schema.run import Layout
from weighbridge.schema.share import Share
from weighbridge.schema.vision import Said, VisionMemory, VisionTime
from weighbridge.units import Quantity
from weighbridge.weigh.fit import breakdown, language_fit, language_wait, vision_fit, vision_memory_fit
from weighbridge.weigh.step import StepEstimate

GIB = 2.0**30


def provenance() -> Provenance:
    return Provenance(
        load_hash="a",
        machine_hash="b",
        layout=Layout(),
        share=Share(),
        versions=Versions(model="1", facts="1"),
    )


def step(**phases: float) -> StepEstimate:
    seconds = sum(phases.values())
    return StepEstimate(
        seconds=seconds,
        low=seconds * 0.8,
        high=seconds * 1.25,
        tier="stated",
        phases=phases,
        operators={"gemm": phases.get("forward", 0.0), "memory": phases.get("backward", 0.0)},
        hidden_communication=0.0,
        tokens_per_step=1000.0,
        devices=2,
        model_flops=4.0e14,
        hardware_flops=5.0e14,
        rate=1.0e15,
        dtype="bf16",
    )


def card(gib: float | None) -> Quantity:
    return Quantity(value=None if gib is None else gib * GIB, unit="bytes", origin="catalogue")


def vision_memory(allocated: float, device: float) -> VisionMemory:
    return VisionMemory(
        allocated=Said(allocated * GIB, allocated * 0.9 * GIB, allocated * 1.1 * GIB),
        reserved=Said(device * GIB - GIB, device * GIB * 0.8, device * GIB),
        device=Said(device * GIB, device * 0.9 * GIB, device * 1.2 * GIB),
        phase="backward",
        parts={"weights": 1.0 * GIB, "16-bit weights": 0.5 * GIB, "activations": 4.5 * GIB},
        phases={"forward": 5.0 * GIB, "backward": 6.0 * GIB, "step": 2.0 * GIB},
    )


def test_the_parts_of_a_step_add_up_and_nothing_is_unattributed() -> None:
    found = breakdown({"forward": 1.0, "backward": 2.0, "launch": 0.0}, Said(3.0, 2.4, 3.9))
    assert [(part.name, part.seconds.value) for part in found.parts] == [
        ("forward", 1.0),
        ("backward", 2.0),
        ("unattributed", 0.0),
    ]
    assert found.total.value == sum(part.seconds.value or 0 for part in found.parts)
    assert (found.total.low, found.total.high) == (2.4, 3.9)


def test_utilisation_is_flops_over_seconds_rate_and_devices() -> None:
    fit = language_fit(None, step(forward=0.3, backward=0.7), provenance())
    assert fit.model_flops_share is not None
    assert fit.hardware_flops_share is not None
    # 4e14 / (1 s x 1e15 x 2 devices); a slower step, 1.25 times, has 0.16.
    assert fit.model_flops_share.value == pytest.approx(0.2)
    assert fit.model_flops_share.low == pytest.approx(0.16)
    assert fit.hardware_flops_share.value == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("phases", "resource"),
    [
        ({"forward": 0.6, "backward": 0.4}, "tensor_rate"),
        ({"forward": 0.2, "backward": 0.4, "optimizer": 0.2}, "gpu_memory_rate"),
        ({"forward": 0.2, "backward": 0.1, "launch": 0.3, "overhead": 0.1}, "kernel_launch"),
        ({"forward": 0.2, "backward": 0.1, "communication": 0.5}, "gpu_link"),
    ],
)
def test_a_step_waits_for_what_takes_most_of_it(phases: dict[str, float], resource: str) -> None:
    assert language_wait(step(**phases)) == resource


def test_a_job_over_several_nodes_waits_for_the_fabric() -> None:
    waiting = step(forward=0.2, backward=0.1, communication=0.5)
    assert language_fit(None, waiting, provenance(), crosses_nodes=True).waits_for == "fabric"


@pytest.mark.parametrize(
    ("gib", "fits"),
    [(9.7, True), (9.5, None), (6.5, None), (6.3, False), (None, None)],
)
def test_a_vision_task_fits_when_even_the_upper_end_does(gib: float | None, fits: bool | None) -> None:
    # Device at most 8 x 1.2 = 9.6 GiB; tensors at least 6 x 0.9 and 1 of context: 6.4 GiB.
    assert vision_memory_fit(vision_memory(6.0, 8.0), card(gib)).fits is fits


def test_parts_of_one_kind_are_added_and_stand_in_the_peak_phase() -> None:
    found = vision_memory_fit(vision_memory(6.0, 8.0), card(24))
    by_phase = {phase.phase: phase for phase in found.phases}
    parts = {part.part: part.alive_bytes.value for part in by_phase["backward"].parts}
    assert found.peak_phase == "backward"
    assert parts == {"weights": 1.5 * GIB, "activations": 4.5 * GIB}
    assert by_phase["backward"].alive_bytes.value == sum(parts.values())


def test_headroom_is_what_the_device_counter_leaves() -> None:
    memory = vision_memory_fit(vision_memory(6.0, 8.0), card(16))
    time = VisionTime(Said(1.0, 0.8, 1.2), {"matrix": 0.7, "host": 0.3}, 8.0)
    fit = vision_fit(memory, time, provenance())
    (headroom,) = fit.headroom
    assert headroom.free_share.value == pytest.approx(0.5)
    assert headroom.free_share.low == pytest.approx(1 - 9.6 / 16)
    assert fit.waits_for == "tensor_rate"
