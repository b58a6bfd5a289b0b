"""The shipped cards say what the collected table says, where that table is at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from weighbridge.facts import GpuFact
from weighbridge.facts.lint import computed_teraflops
from weighbridge.facts.load import SHIPPED, read_gpus, read_known_wrong

SAME = {
    "vendor": "vendor",
    "arch": "architecture",
    "cc": "compute_capability",
    "launch": "launched",
    "mem_gb": "memory_gigabytes",
    "mem_type": "memory_type",
    "mem_bw_gbs": "memory_bandwidth_gigabytes_per_second",
    "tdp_w": "power_watts",
    "mig": "mig_instances",
    "tpu": "techpowerup_id",
    "sm": "multiprocessors",
    "boost_mhz": "boost_megahertz",
    "confidence": "confidence",
}


@pytest.fixture(scope="module")
def table(shared: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(
        (shared / "facts" / "gpus.yaml").read_text(encoding="utf-8"),
        Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
    )
    return loaded


@pytest.fixture(scope="module")
def ours() -> dict[str, GpuFact]:
    return {gpu.id: gpu for gpu in read_gpus(SHIPPED / "gpus.yaml")}


def test_the_same_cards_stand_in_the_same_order(table: dict[str, Any], ours: dict[str, GpuFact]) -> None:
    assert list(ours) == [entry["id"] for entry in table["gpus"]]


def test_every_plain_value_is_the_same(table: dict[str, Any], ours: dict[str, GpuFact]) -> None:
    differ = [
        (entry["id"], name, entry.get(name), getattr(ours[entry["id"]], field))
        for entry in table["gpus"]
        for name, field in SAME.items()
        if entry.get(name) != getattr(ours[entry["id"]], field)
    ]

    assert differ == []


def test_every_rate_link_and_slot_is_the_same(table: dict[str, Any], ours: dict[str, GpuFact]) -> None:
    for entry in table["gpus"]:
        gpu = ours[entry["id"]]
        for name, rate in entry["tflops_dense"].items():
            assert getattr(gpu.dense_teraflops, name.removesuffix("_tops")) == rate, (gpu.id, name)
        link = entry["link"] or {}
        assert (gpu.link is None) == (not link)
        if gpu.link is not None:
            assert gpu.link.both_directions_gigabytes_per_second == link["total_gbs"], gpu.id
            assert gpu.link.per_direction_gigabytes_per_second == link["per_dir_gbs"], gpu.id
        assert gpu.pcie is not None
        assert (gpu.pcie.generation, gpu.pcie.lanes) == (entry["pcie"]["gen"], entry["pcie"]["lanes"])
        assert gpu.ecc == (entry["ecc"] == "yes"), gpu.id
        assert list(gpu.pci_ids) == [str(item) for item in entry.get("pci_ids", [])], gpu.id


def test_reported_memory_is_the_same_where_the_table_has_it(
    table: dict[str, Any], ours: dict[str, GpuFact]
) -> None:
    stated = {entry["id"]: entry["smi_mib"] for entry in table["gpus"] if entry.get("smi_mib")}

    assert {id: ours[id].reported_memory_mebibytes for id in stated} == stated


def test_the_lint_computes_the_same_tensor_rates(table: dict[str, Any], ours: dict[str, GpuFact]) -> None:
    for entry in table["gpus"]:
        if entry.get("calc_tensor16") and entry.get("sm"):
            assert computed_teraflops(ours[entry["id"]]) == pytest.approx(entry["calc_tensor16"], rel=0.002)


def test_what_the_table_is_unsure_of_stays_marked(table: dict[str, Any], ours: dict[str, GpuFact]) -> None:
    # Totals of the driver alone may have been confirmed since.
    unmarked = [
        entry["id"]
        for entry in table["gpus"]
        if set(entry.get("unsure", [])) - {"smi_mib"} and not ours[entry["id"]].unsure
    ]

    assert unmarked == []


def test_every_known_error_of_a_source_is_kept(table: dict[str, Any]) -> None:
    records = {key.split()[-1] for key in table["_tpu_wrong"]}

    assert {wrong.record for wrong in read_known_wrong(SHIPPED / "gpus.yaml")} == records
