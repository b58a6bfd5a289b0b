"""The facts keep to physics and to their sources, and the lint notices when they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weighbridge.facts import GpuFact, load_gpus
from weighbridge.facts.lint import computed_teraflops, lint_gpus
from weighbridge.facts.load import GPU_FILES, SHIPPED, read_gpus, read_known_wrong, read_sources
from weighbridge.facts.records import DenseTeraflops, LinkFact, PcieFact


@pytest.fixture
def a100() -> GpuFact:
    return next(gpu for gpu in load_gpus(()) if gpu.id == "A100-SXM4-80GB")


def doubted(gpu: GpuFact) -> set[str]:
    return {doubt.field for doubt in lint_gpus([gpu], gpu.sources)}


@pytest.mark.parametrize("name", GPU_FILES)
def test_the_shipped_facts_hold(name: str) -> None:
    assert lint_gpus(read_gpus(SHIPPED / name), read_sources(SHIPPED / name)) == ()


@pytest.mark.parametrize("name", GPU_FILES)
def test_every_source_that_a_file_explains_is_used(name: str) -> None:
    used = {source for gpu in read_gpus(SHIPPED / name) for source in gpu.sources}

    assert set(read_sources(SHIPPED / name)) == used


def test_known_errors_of_sources_speak_of_cards_we_have() -> None:
    ids = {gpu.id for gpu in load_gpus(())}

    assert {wrong.gpu for wrong in read_known_wrong(SHIPPED / "gpus.yaml")} <= ids


def test_the_computed_rate_is_multiprocessors_times_clock_times_operations(a100: GpuFact) -> None:
    # 108 SMs x 1.41 GHz x 2048 operations a clock.
    assert computed_teraflops(a100) == pytest.approx(311.9, abs=0.05)


def test_a_sparse_rate_is_noticed(a100: GpuFact) -> None:
    assert doubted(replace(a100, dense_teraflops=DenseTeraflops(fp16=624))) == {"dense_teraflops.fp16"}


def test_a_rate_that_falls_with_precision_is_noticed(a100: GpuFact) -> None:
    assert doubted(replace(a100, dense_teraflops=DenseTeraflops(bf16=312, fp8=100))) == {
        "dense_teraflops.bf16"
    }


def test_memory_in_the_wrong_unit_is_noticed(a100: GpuFact) -> None:
    assert doubted(replace(a100, memory_gigabytes=81920)) == {"memory_gigabytes", "reported_memory_mebibytes"}


def test_a_card_that_reports_less_than_its_size_is_noticed(a100: GpuFact) -> None:
    assert doubted(replace(a100, reported_memory_mebibytes=40960)) == {"reported_memory_mebibytes"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"power_watts": 0.4}, "power_watts"),
        ({"memory_bandwidth_gigabytes_per_second": 2.039}, "memory_bandwidth_gigabytes_per_second"),
        ({"boost_megahertz": 1.41e9}, "boost_megahertz"),
        ({"form": "SXM"}, "form"),
        ({"pcie": PcieFact(generation=9, lanes=16)}, "pcie.generation"),
        ({"pcie": PcieFact(generation=4, lanes=3)}, "pcie.lanes"),
        ({"unsure": {"memory": "x"}}, "unsure"),
        ({"confidence": "C"}, "unsure"),
        ({"read_on": ""}, "read_on"),
        ({"sources": ()}, "sources"),
    ],
)
def test_a_slip_is_noticed_in_its_field(a100: GpuFact, change: dict[str, object], field: str) -> None:
    assert field in doubted(replace(a100, **change))  # type: ignore[arg-type]


def test_a_source_that_is_not_explained_is_noticed(a100: GpuFact) -> None:
    assert {doubt.field for doubt in lint_gpus([a100], ["dcgm"])} == {"sources"}


def test_a_link_whose_directions_do_not_add_up_is_noticed(a100: GpuFact) -> None:
    link = LinkFact(
        kind="NVLink3", both_directions_gigabytes_per_second=600, per_direction_gigabytes_per_second=600
    )

    assert doubted(replace(a100, link=link)) == {"link"}
