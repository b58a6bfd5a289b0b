"""Measured rates: within physics, marked where not, and the collected ones where those are at hand."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from weighbridge.errors import InputError
from weighbridge.facts import MeasuredFacts, load_gpus, load_measured
from weighbridge.facts.lint_tables import lint_measured
from weighbridge.facts.load import SHIPPED, read_sources
from weighbridge.facts.sourced import Sourced, Span, figure, is_unsure

FILE = SHIPPED / "measured.yaml"
MEASURED = load_measured(())
EMPTY = MeasuredFacts(**{item.name: () for item in fields(MeasuredFacts)})


def entry(table: str, id: str) -> Any:
    return next(item for item in getattr(MEASURED, table) if item.id == id)


def doubted(table: str, changed: Sourced) -> set[str]:
    one: dict[str, Any] = {table: (changed,)}
    measured = replace(EMPTY, **one)
    return {doubt.field for doubt in lint_measured(measured, load_gpus(()), changed.sources)}


def test_the_shipped_rates_hold() -> None:
    assert lint_measured(MEASURED, load_gpus(()), read_sources(FILE)) == ()


def test_every_source_that_the_file_explains_is_used() -> None:
    used = {
        source for item in fields(MEASURED) for one in getattr(MEASURED, item.name) for source in one.sources
    }

    assert set(read_sources(FILE)) == used


@pytest.mark.parametrize(
    ("table", "id", "change", "field"),
    [
        ("matrix_rates", "H100-SXM5-80GB/bf16/mamf-finder", {"teraflops": 1400}, "teraflops"),
        ("matrix_rates", "H100-SXM5-80GB/bf16/mamf-finder", {"teraflops": -1}, "teraflops"),
        ("matrix_rates", "Iluvatar-BI-V150/bf16/flagperf", {"gpu": "BI-V151"}, "gpu"),
        ("memory_rates", "T4/1eb8/dcgm", {"gigabytes_per_second": 350}, "gigabytes_per_second"),
        (
            "memory_rates",
            "T4/1eb8/dcgm",
            {"nominal_gigabytes_per_second": 300},
            "nominal_gigabytes_per_second",
        ),
        ("memory_rates", "A2/25b6/dcgm", {"dcgm_gigaflops": 24350}, "dcgm_gigaflops"),
        (
            "memory_rates",
            "T4/1eb8/dcgm",
            {"dcgm_lowest_gigabytes_per_second": 1.8},
            "dcgm_lowest_gigabytes_per_second",
        ),
        (
            "host_link_rates",
            "gen4-x16",
            {"gigabytes_per_second": Span(low=26, high=40)},
            "gigabytes_per_second",
        ),
        ("host_link_rates", "gen4-x16", {"lowest_gigabytes_per_second": 30}, "lowest_gigabytes_per_second"),
        ("host_link_rates", "gen4-x16", {"pcie_lanes": 8}, "nominal_gigabytes_per_second"),
        (
            "peer_rates",
            "A100-SXM4",
            {"gigabytes_per_second": Span(low=235, high=515)},
            "gigabytes_per_second",
        ),
        (
            "collective_rates",
            "H200-SXM-141GB/8/all_reduce/Ring/8GiB/ml_engineering_network",
            {"bus_gigabytes_per_second": Span(low=473, high=473)},
            "bus_gigabytes_per_second",
        ),
        ("network_rates", "10-gigabit", {"lowest_gigabits_per_second": 11}, "lowest_gigabits_per_second"),
        (
            "drive_rates",
            "Samsung-980-Pro-1GiB-file",
            {"random_mebibytes_per_second": 276},
            "random_mebibytes_per_second",
        ),
        ("power_draws", "8xH100/bert", {"mean_watts": 7500}, "mean_watts"),
        ("power_draws", "8xH100/bert", {"sources": ("hearsay",)}, None),
        ("latency_limits", "rdma", {"sources": ()}, "sources"),
        ("latency_limits", "rdma", {"read_on": ""}, "read_on"),
        ("latency_limits", "rdma", {"confidence": "C"}, "unsure"),
    ],
)
def test_a_figure_beyond_physics_is_noticed(
    table: str, id: str, change: dict[str, Any], field: str | None
) -> None:
    good = entry(table, id)

    assert doubted(table, good) == set()
    assert doubted(table, replace(good, **change)) == ({field} if field else set())


def test_a_source_that_nobody_explains_is_noticed() -> None:
    doubts = lint_measured(replace(EMPTY, power_draws=MEASURED.power_draws), load_gpus(()), ())

    assert {doubt.field for doubt in doubts} == {"sources"}


def test_a_figure_that_belongs_to_another_board_is_kept_and_marked() -> None:
    board = entry("memory_rates", "A100-SXM4-40GB/20b0/dcgm")

    assert board.gigabytes_per_second > board.nominal_gigabytes_per_second
    assert is_unsure(board, "gigabytes_per_second")
    assert not is_unsure(board, "dcgm_gigaflops")
    assert doubted("memory_rates", replace(board, unsure={})) >= {"gigabytes_per_second"}


def test_a_figure_as_a_quantity_has_si_unit_source_date_and_mark() -> None:
    rate = figure(entry("matrix_rates", "H200-SXM-141GB/bf16/own"), "teraflops")
    bus = figure(
        entry("collective_rates", "cpu/0/all_reduce/1-64MiB/own_virtual_machine"), "bus_gigabytes_per_second"
    )

    assert rate is not None
    assert bus is not None
    assert (rate.value, rate.unit, rate.origin) == (769e12, "flops_per_second", "catalogue")
    assert (rate.source, rate.date, rate.confidence) == (
        "H200-SXM-141GB/bf16/own: own_h200",
        "2026-12-01",
        "B",
    )
    assert (bus.value, bus.low, bus.high, bus.operator) == (None, 0.07e9, 1.5e9, "range")
    assert bus.confidence == "C"


def test_bits_become_bytes_and_what_is_unknown_stays_unknown() -> None:
    line = figure(entry("network_rates", "400-gigabit"), "line_gigabits_per_second")

    assert line is not None
    assert (line.value, line.unit) == (50e9, "bytes_per_second")
    assert figure(entry("host_link_rates", "gen6-x16"), "gigabytes_per_second") is None
    with pytest.raises(ValueError, match="no unit"):
        figure(entry("host_link_rates", "gen6-x16"), "pcie_lanes")


def test_an_overlay_replaces_one_entry_and_adds_another(tmp_path: Path) -> None:
    text = (
        "read_on: 2026-11-30\nlatency_limits:\n"
        "- {id: rdma, network: ours, most_microseconds: 3, sources: [log], confidence: B}\n"
        "- {id: own, network: ours, most_microseconds: 4, sources: [log], confidence: B}\n"
    )
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")

    found = {limit.id: limit.most_microseconds for limit in load_measured((tmp_path,)).latency_limits}

    assert found == {"rdma": 3, "rdma-loose": 9, "own": 4}


def test_an_error_names_file_entry_and_field(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "read_on: 2026-11-30\nlatency_limits:\n"
        "- {id: own, network: ours, most_microseconds: few, sources: [log], confidence: B}\n",
        encoding="utf-8",
    )

    with pytest.raises(InputError) as caught:
        load_measured((tmp_path,))

    assert (caught.value.code, caught.value.params["file"]) == ("facts.bad_field", str(file))
    assert (caught.value.params["id"], caught.value.params["line"]) == ("own", 3)
    assert "most_microseconds" in str(caught.value)


def test_what_an_accelerator_asks_of_storage_is_batch_times_sample_over_compute() -> None:
    # 7 samples of 146.6 MB every 0.323 s.
    assert entry("loader_demands", "unet3d/h100").bytes_per_second == pytest.approx(3.177e9, rel=1e-3)


@pytest.fixture(scope="module")
def table(shared: Path) -> dict[str, Any]:
    text = (shared / "facts" / "measured.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def test_no_row_of_the_collected_tables_is_lost(table: dict[str, Any]) -> None:
    ours = {item.name: len(getattr(MEASURED, item.name)) for item in fields(MEASURED)}
    same = {
        "matrix_rates": "gemm",
        "memory_rates": "gpu_memory_bandwidth",
        "host_link_rates": "h2d_d2h",
        "peer_rates": "p2p",
        "collective_rates": "nccl_all_reduce_measured",
        "collective_limits": "nccl_thresholds_used_by_others",
        "network_rates": "network",
        "drive_rates": "nvme",
        "shared_store_rates": "shared_fs",
        "host_memory_rates": "cpu_memory",
    }

    assert {name: ours[name] for name in same} == {name: len(table[key]) for name, key in same.items()}
    assert ours["loader_demands"] == sum("model" in row for row in table["dlio_emulation"])
    assert ours["latency_limits"] == len(table["ib_latency"]["oci_us"])


def test_matrix_rates_are_the_collected_ones(table: dict[str, Any]) -> None:
    def key(gpu: str, dtype: str, rate: float, nominal: float | None) -> tuple[object, ...]:
        return gpu, dtype, rate, nominal or 0

    ours = [key(one.gpu, one.dtype, one.teraflops, one.nominal_teraflops) for one in MEASURED.matrix_rates]
    theirs = [key(row["gpu"], row["dtype"], row["tflops"], row.get("peak")) for row in table["gemm"]]

    assert sorted(ours) == sorted(theirs)
    shares = {row["tflops"]: row["frac"] for row in table["gemm"] if "frac" in row}
    for one in MEASURED.matrix_rates:
        if one.share_of_nominal is not None:
            assert one.share_of_nominal == pytest.approx(shares[one.teraflops], abs=0.011), one.id


def test_memory_rates_are_the_collected_ones_with_their_marks(table: dict[str, Any]) -> None:
    same = {
        "measured_gbs": "gigabytes_per_second",
        "spec_gbs": "nominal_gigabytes_per_second",
        "pci_id": "pci_id",
        "dcgm_min_gbs": "dcgm_lowest_gigabytes_per_second",
        "dcgm_gflops": "dcgm_gigaflops",
        "dcgm_target_power_w": "dcgm_power_watts",
    }
    for one, row in zip(MEASURED.memory_rates, table["gpu_memory_bandwidth"], strict=True):
        assert one.gpu == row["gpu"].partition("(")[0]
        assert {name: getattr(one, field) for name, field in same.items()} == {
            name: row.get(name) for name in same
        }
        assert is_unsure(one, "gigabytes_per_second") == ("unsure" in row), one.id
        assert is_unsure(one, "dcgm_lowest_gigabytes_per_second") == ("defect" in row), one.id


@pytest.mark.parametrize(
    ("name", "key", "field", "theirs"),
    [
        ("host_link_rates", "h2d_d2h", "nominal_gigabytes_per_second", "raw_per_dir"),
        ("host_link_rates", "h2d_d2h", "gigabytes_per_second", "expect"),
        ("host_link_rates", "h2d_d2h", "lowest_gigabytes_per_second", "fail_below"),
        ("peer_rates", "p2p", "gigabytes_per_second", "uni_gbs"),
        ("peer_rates", "p2p", "lowest_gigabytes_per_second", "fail_below"),
        ("collective_rates", "nccl_all_reduce_measured", "bus_gigabytes_per_second", "busbw_gbs"),
        ("collective_limits", "nccl_thresholds_used_by_others", "one_node_gigabytes_per_second", "single"),
        (
            "collective_limits",
            "nccl_thresholds_used_by_others",
            "between_nodes_gigabytes_per_second",
            "multi",
        ),
        (
            "collective_limits",
            "nccl_thresholds_used_by_others",
            "gpu_direct_gigabits_per_second",
            "ib_gdr_gbps",
        ),
        ("network_rates", "network", "line_gigabits_per_second", "line_gbps"),
        ("network_rates", "network", "gigabits_per_second", "expect_gbps"),
        ("network_rates", "network", "lowest_gigabits_per_second", "fail_below"),
        ("drive_rates", "nvme", "sequential_gigabytes_per_second", "seq_read_gbs"),
        ("drive_rates", "nvme", "random_mebibytes_per_second", "read_mibs"),
        ("shared_store_rates", "shared_fs", "gigabytes_per_second", "seq_gbs"),
    ],
)
def test_figures_are_the_collected_ones(
    table: dict[str, Any], name: str, key: str, field: str, theirs: str
) -> None:
    stated = [
        _ends(row.get(theirs, row.get("bi_gbs") if theirs == "uni_gbs" else None)) for row in table[key]
    ]

    assert [_ends(getattr(one, field)) for one in getattr(MEASURED, name)] == stated


def test_reads_watts_and_demands_are_the_collected_ones(table: dict[str, Any], shared: Path) -> None:
    reads = [_ends(row.get("rand4k_read_kiops", row.get("read_kiops"))) for row in table["nvme"]]
    thousands = [[end / 1000 for end in _ends(one.random_reads_per_second)] for one in MEASURED.drive_rates]
    other = yaml.safe_load((shared / "facts" / "platforms.yaml").read_text(encoding="utf-8"))

    assert thousands == reads
    assert sorted((one.mean_watts, one.peak_watts) for one in MEASURED.power_draws) == sorted(
        (row["mean_w"], row["max_w"]) for row in other["measured_power"]
    )
    for one, row in zip(MEASURED.loader_demands, table["dlio_emulation"], strict=False):
        assert one.bytes_per_second / 1e9 == pytest.approx(row["per_accel_gbs_needed"], rel=0.003)


def test_what_is_unsure_or_only_recalled_may_not_become_a_limit(table: dict[str, Any]) -> None:
    pairs = (
        ("host_link_rates", "h2d_d2h"),
        ("peer_rates", "p2p"),
        ("network_rates", "network"),
        ("drive_rates", "nvme"),
        ("shared_store_rates", "shared_fs"),
    )
    loose = [
        one.id
        for name, key in pairs
        for one, row in zip(getattr(MEASURED, name), table[key], strict=True)
        if (row.get("unsure") or "rec" in row["src"]) and one.confidence != "C"
    ]

    assert loose == []


def _ends(value: Any) -> list[float]:
    """Both ends of a Span, a number or a text such as 24-26.5; nothing for what is unknown."""
    if value is None or value == "unknown":
        return []
    if isinstance(value, Span):
        return [value.low, value.high]
    ends = [float(part) for part in str(value).split("-")]
    return ends if len(ends) == 2 else ends * 2
