"""A catalogue card as a part of a Machine: SI units, source, date and mark on every figure."""

from __future__ import annotations

import pytest

from weighbridge.facts import GpuFact, gpu_from_fact, load_gpus
from weighbridge.schema.machine import Machine, NodeGroup
from weighbridge.schema.machine_lines import lines
from weighbridge.schema.node import Node


def card(id: str) -> GpuFact:
    return next(gpu for gpu in load_gpus(()) if gpu.id == id)


def test_figures_are_in_si_units() -> None:
    gpu = gpu_from_fact(card("H100-SXM5-80GB"), count=8)
    machine = Machine(name="m", groups=(NodeGroup(node=Node(gpus=(gpu,))),))

    assert {path: value.value for path, value in lines(machine).items()} == {
        "gpu.count": 8,
        "gpu.memory_bytes": 80e9,
        "gpu.usable_memory_bytes": 81559 * 2**20,
        "gpu.memory_bandwidth_bytes_per_second": 3.35e12,
        "gpu.dense.fp64_flops_per_second": 34e12,
        "gpu.dense.fp32_flops_per_second": 67e12,
        "gpu.dense.tf32_flops_per_second": 494.5e12,
        "gpu.dense.bf16_flops_per_second": 989e12,
        "gpu.dense.fp16_flops_per_second": 989e12,
        "gpu.dense.fp8_flops_per_second": 1979e12,
        "gpu.dense.int8_operations_per_second": 1979e12,
        "gpu.link_bytes_per_second": 450e9,
        "gpu.pcie_generation": 5,
        "gpu.pcie_lanes": 16,
        "gpu.multiprocessors": 132,
        "gpu.boost_hertz": 1.98e9,
        "gpu.power_watts": 700,
    }


def test_every_figure_says_that_it_is_from_the_catalogue_and_from_where() -> None:
    memory = gpu_from_fact(card("L40S")).memory_bytes

    assert memory is not None
    assert (memory.origin, memory.date, memory.confidence) == ("catalogue", "2026-12-01", "A")
    assert memory.source == "L40S: ml_engineering, techpowerup, dcgm, driver_print, mlperf_systems"


def test_what_the_facts_are_unsure_of_carries_confidence_c() -> None:
    gpu = gpu_from_fact(card("B300-SXM-288GB"))

    assert gpu.power_watts is not None
    assert gpu.dense.fp4_flops_per_second is not None
    assert gpu.dense.bf16_flops_per_second is not None
    assert gpu.power_watts.confidence == "C"
    assert gpu.dense.fp4_flops_per_second.confidence == "C"
    assert gpu.dense.bf16_flops_per_second.confidence == "B"


def test_a_doubt_about_all_rates_marks_each_of_them() -> None:
    rate = gpu_from_fact(card("A10G")).dense.fp16_flops_per_second

    assert rate is not None
    assert rate.confidence == "C"


def test_a_card_of_two_devices_is_divided_among_them() -> None:
    gpu = gpu_from_fact(card("MI250X"))

    assert gpu.memory_bytes is not None
    assert gpu.dense.bf16_flops_per_second is not None
    assert (gpu.memory_bytes.value, gpu.dense.bf16_flops_per_second.value) == (64e9, 191.5e12)


@pytest.mark.parametrize("fact", load_gpus(()), ids=lambda fact: fact.id)
def test_what_a_card_does_not_state_stays_unknown(fact: GpuFact) -> None:
    gpu = gpu_from_fact(fact)

    assert gpu.count is None
    assert (gpu.power_watts is None) == (fact.power_watts is None)
    assert (gpu.link_bytes_per_second is None) == (
        fact.link is None or fact.link.per_direction_gigabytes_per_second is None
    )
