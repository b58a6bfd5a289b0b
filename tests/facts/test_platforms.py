"""Platforms by name, as Machines, against physics, and against the collected table where it is at hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from weighbridge.errors import InputError
from weighbridge.facts import PlatformFact, find_platform, load_gpus, load_platforms, platform_candidates
from weighbridge.facts.lint import lint_gpus
from weighbridge.facts.lint_tables import check_sourced, lint_platforms
from weighbridge.facts.load import ENVIRONMENT, SHIPPED, read_sources
from weighbridge.facts.platform_machine import machine_from_platform
from weighbridge.facts.platform_records import MemoryFact, SupplyFact
from weighbridge.facts.platforms import (
    load_contradictions,
    load_platform_practices,
    load_processor_families,
    processor_family,
)
from weighbridge.facts.sourced import Span, is_unsure
from weighbridge.schema.machine_lines import lines

FILE = SHIPPED / "platforms.yaml"
MINE = """read_on: 2026-11-30
platforms:
- id: {id}
  kind: pcie_8
  gpus: 8
  maximum_watts: {watts}
  cooling: air
  supplies: {{count: 4, watts: {{low: 2000, high: 2700}}}}
  sources: [stamped sheet]
  confidence: B
"""


@pytest.fixture
def dgx() -> PlatformFact:
    found = find_platform("DGX H100")
    assert found is not None
    return found


def doubted(platform: PlatformFact) -> set[str]:
    found = lint_platforms([platform], load_gpus(()), load_processor_families(()), platform.sources)
    return {doubt.field for doubt in found}


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        load_platforms((path.parent,))
    return caught.value


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("DGX H100", "DGX-H100"),
        ("nvidia dgx-a100", "DGX-A100"),
        ("Dell PowerEdge XE9680", "HGX-H100-Dell-XE9680"),
        ("XE9680L", "HGX-B200-Dell-XE9680L"),
        ("Supermicro SYS-821GE-TNHR", "HGX-H100-SMC-SYS-821GE-TNHR"),
        ("SMC AS-8125GS-TNMR2", "MI300X-SMC-AS-8125GS-TNMR2"),
        ("Huawei Atlas 800T A2", "Atlas-800T-A2"),
        ("GB300 NVL72", "GB300-NVL72"),
    ],
)
def test_a_name_finds_its_platform(name: str, id: str) -> None:
    found = find_platform(name)

    assert found is not None
    assert found.id == id


@pytest.mark.parametrize("name", ["H100", "Supermicro", "XE9999", "", "server"])
def test_a_name_that_is_open_or_unknown_is_not_guessed(name: str) -> None:
    assert find_platform(name) is None


def test_an_open_name_has_its_candidates() -> None:
    ids = {platform.id for platform in platform_candidates("Lenovo SR680a")}

    assert ids == {"HGX-Lenovo-SR680a-V3", "HGX-Lenovo-SR680a-V4"}


def test_every_id_finds_its_own_platform() -> None:
    assert [platform.id for platform in load_platforms(()) if find_platform(platform.id) != platform] == []


def test_a_dgx_as_a_machine_is_in_si_units(dgx: PlatformFact) -> None:
    figures = {path: value.value for path, value in lines(machine_from_platform(dgx)).items()}

    expected = {
        "node.count": 1,
        "gpu.count": 8,
        "gpu.memory_bytes": 80e9,
        "cpu.sockets": 2,
        "cpu.cores": 112,
        "cpu.memory_channels": 8,
        "cpu.pcie_lanes": 80,
        "memory.capacity_bytes": 2 * 2**40,
        "chassis.rack_units": 8,
        "chassis.depth_metres": 0.897,
        "power.maximum_watts": 10200,
        "power.supplies": 6,
        "power.supply_watts": 3300,
        "power.supplies_that_may_fail": 2,
        "disk.count": 8,
        "disk.capacity_bytes": 3.84e12,
        "nic.count": 8,
        "nic.port_bytes_per_second": 50e9,
    }
    assert {path: figures[path] for path in expected} == expected


def test_a_mark_of_doubt_travels_into_the_machine(dgx: PlatformFact) -> None:
    figures = lines(machine_from_platform(dgx))

    assert figures["chassis.weight_kilograms"].confidence == "C"
    assert figures["power.maximum_watts"].confidence == "B"
    assert figures["power.maximum_watts"].date == "2026-12-01"
    assert (figures["power.maximum_watts"].source or "").startswith("DGX-H100: dgx_h100_reference")


def test_what_a_platform_leaves_open_stays_unknown() -> None:
    open_cards = find_platform("XE9680")
    assert open_cards is not None
    machine = machine_from_platform(open_cards)
    node = machine.groups[0].node

    assert node.cpu is not None
    assert (node.gpus[0].model, node.gpus[0].memory_bytes, node.cpu.model) == (None, None, None)
    assert node.power is not None
    assert node.power.supply_watts is not None
    watts = node.power.supply_watts
    assert (watts.value, watts.low, watts.high, watts.operator) == (None, 2800, 3200, "range")


def test_the_card_that_is_named_fills_the_open_place() -> None:
    platform = find_platform("XE9680")
    assert platform is not None
    card = next(gpu for gpu in load_gpus(()) if gpu.id == "H200-SXM-141GB")

    assert machine_from_platform(platform, card).groups[0].node.gpus[0].model == "H200-SXM-141GB"


def test_a_card_that_the_platform_does_not_take_is_refused(dgx: PlatformFact) -> None:
    card = next(gpu for gpu in load_gpus(()) if gpu.id == "L40S")

    with pytest.raises(InputError) as caught:
        machine_from_platform(dgx, card)

    assert caught.value.params["gpu"] == "L40S"
    assert "H100-SXM5-80GB" in str(caught.value)


def test_a_rack_is_many_nodes_and_its_watts_are_not_those_of_one() -> None:
    rack = find_platform("GB200-NVL72")
    assert rack is not None
    group = machine_from_platform(rack).groups[0]

    assert group.count is not None
    assert group.node.gpus[0].count is not None
    assert group.count.value == 18
    assert group.node.gpus[0].count.value == 4
    assert group.node.power is None


@pytest.mark.parametrize("platform", load_platforms(()), ids=lambda platform: platform.id)
def test_every_platform_makes_a_machine(platform: PlatformFact) -> None:
    figures = lines(machine_from_platform(platform))

    assert figures["gpu.count"].value == platform.gpus
    assert all(figure.date and figure.source and figure.confidence for figure in figures.values())


def test_the_shipped_platforms_hold() -> None:
    doubts = lint_platforms(
        load_platforms(()), load_gpus(()), load_processor_families(()), read_sources(FILE)
    )

    assert doubts == ()


def test_families_contradictions_and_practices_have_sources() -> None:
    known = read_sources(FILE)
    entries = [*load_processor_families(()), *load_contradictions(), *load_platform_practices()]

    assert [doubt for entry in entries for doubt in check_sourced(entry, known)] == []


def test_every_source_that_the_file_explains_is_used() -> None:
    entries = [*load_platforms(()), *load_processor_families(()), *load_contradictions()]
    used = {source for entry in [*entries, *load_platform_practices()] for source in entry.sources}

    assert set(read_sources(FILE)) == used


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"maximum_watts": 5000}, "maximum_watts"),
        ({"maximum_watts": 102_000}, "maximum_watts"),
        ({"gpu_models": ("H100-SXM5",)}, "gpu_models"),
        ({"rack_units": 80}, "rack_units"),
        ({"rack_units": 2}, "rack_units"),
        ({"memory_slots": 30}, "memory_slots"),
        ({"gpus": 16, "gpu_models": (), "processor": None}, None),
        ({"memory": MemoryFact(modules=Span(low=48, high=48))}, "memory"),
        ({"memory": MemoryFact(rated_megatransfers=4800, running_megatransfers=5600)}, "memory"),
        ({"supplies": SupplyFact(count=Span(low=3, high=3), watts=Span(low=3000, high=3000))}, "supplies"),
        ({"sources": ()}, "sources"),
        ({"unsure": {"watts": "misspelt"}}, "unsure"),
    ],
)
def test_a_slip_is_noticed_in_its_field(dgx: PlatformFact, change: dict[str, Any], field: str | None) -> None:
    doubts = doubted(replace(dgx, **change))

    assert field in doubts if field else doubts == set()


def test_more_lanes_than_the_processors_can_feed_are_noticed(dgx: PlatformFact) -> None:
    processor = replace(dgx.processor, sockets=Span(low=1, high=1), models=("Core i9",))  # type: ignore[type-var]

    assert "processor" in doubted(replace(dgx, processor=processor))


def test_supplies_that_cannot_carry_the_load_when_some_fail_are_noticed(dgx: PlatformFact) -> None:
    # Two of 3300 W left: 5940 W at nine tenths, and a training load of 10.2 kW draws about 7.3.
    supplies = replace(dgx.supplies, may_fail=Span(low=4, high=4))  # type: ignore[type-var]

    assert doubted(replace(dgx, supplies=supplies)) == {"supplies"}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("EPYC 7763", "EPYC-7002-7003"),
        ("EPYC 9575F", "EPYC-9004-9005"),
        ("Xeon 8380", "Xeon-Scalable-3"),
        ("Xeon 8480C", "Xeon-Scalable-4-5"),
        ("Xeon 6448Y", "Xeon-Scalable-4-5"),
        ("Xeon 6747P", "Xeon-6700P"),
        ("Xeon 6972P", "Xeon-6900P"),
        ("Kunpeng 920", None),
        ("Xeon 6240R", None),
    ],
)
def test_a_processor_belongs_to_one_family_or_none(model: str, family: str | None) -> None:
    found = processor_family(model)

    assert (found.id if found else None) == family


def test_an_overlay_adds_and_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(MINE.format(id="Own-Box", watts=4000), encoding="utf-8")
    text = MINE.format(id="DGX-H100", watts=10300)
    (tmp_path / "b.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))

    own, replaced = find_platform("own box"), find_platform("DGX-H100")

    assert own is not None
    assert replaced is not None
    assert own.supplies is not None
    assert own.supplies.watts == Span(low=2000, high=2700)
    assert own.supplies.count == Span(low=4, high=4)
    assert (own.read_on, replaced.maximum_watts, replaced.depth_millimetres) == ("2026-11-30", 10300, None)


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        ("max_watts: 7", "facts.unknown_field", "max_watts"),
        ("maximum_watts: lots", "facts.bad_field", "maximum_watts"),
        ("kind: blade", "facts.bad_field", "kind"),
        ("supplies: {count: {low: 6, high: 4}}", "facts.bad_field", "supplies"),
        ("supplies: {watt: 3000}", "facts.unknown_field", "supplies.watt"),
        ("drives: [{size: 1}]", "facts.unknown_field", "drives.size"),
    ],
)
def test_an_error_names_file_entry_and_field(tmp_path: Path, change: str, code: str, named: str) -> None:
    field = change.partition(":")[0]
    kept = [
        row for row in MINE.format(id="Own", watts=4000).splitlines() if not row.startswith(f"  {field}:")
    ]
    file = tmp_path / "mine.yaml"
    file.write_text("\n".join([*kept, f"  {change}", ""]), encoding="utf-8")

    error = refused(file)

    assert (error.code, error.params["file"], error.params["id"]) == (code, str(file), "Own")
    assert named in str(error)


def test_an_edited_overlay_is_not_read_from_memory(tmp_path: Path) -> None:
    # The tables of one file share one reading of it.
    from weighbridge.facts.platform_records import PlatformFact
    from weighbridge.facts.table import read_table

    file = tmp_path / "mine.yaml"
    file.write_text(MINE.format(id="One", watts=4000), encoding="utf-8")
    first = read_table(file, "platforms", PlatformFact)
    file.write_text(MINE.format(id="Two", watts=40000), encoding="utf-8")

    assert [entry.id for entry in [*first, *read_table(file, "platforms", PlatformFact)]] == ["One", "Two"]


def test_files_of_platforms_hold_no_cards() -> None:
    from weighbridge.facts.load import read_gpus

    assert lint_gpus(read_gpus(FILE), ()) == ()
    assert read_gpus(FILE) == ()


@pytest.fixture(scope="module")
def table(shared: Path) -> dict[str, Any]:
    text = (shared / "facts" / "platforms.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def test_every_collected_platform_is_here_with_its_figures(table: dict[str, Any]) -> None:
    shipped = load_platforms(())
    same = ("rack_units", "maximum_watts", "cooling", "memory_slots", "weight_kilograms", "depth_millimetres")
    theirs = ("u", "max_w", "cooling", "dimm_slots", "weight_kg", "depth_mm")

    assert [platform.id for platform in shipped] == [entry["id"] for entry in table["platforms"]]
    for platform, entry in zip(shipped, table["platforms"], strict=True):
        assert [getattr(platform, name) for name in same] == [entry.get(name) for name in theirs], platform.id
        assert platform.gpus * platform.nodes == int(entry["gpus"].partition("x")[0]), platform.id
        assert platform.heat_btu_per_hour == pytest.approx(entry["btu_h"], abs=1), platform.id
        assert (platform.airflow_cubic_feet_per_minute is None) == ("cfm_at_20C" not in entry), platform.id
        if "cfm_at_20C" in entry:
            assert platform.airflow_cubic_feet_per_minute == pytest.approx(entry["cfm_at_20C"], rel=0.002)


def test_supplies_processors_and_modules_are_the_collected_ones(table: dict[str, Any]) -> None:
    for platform, entry in zip(load_platforms(()), table["platforms"], strict=True):
        supplies = re.match(r"([\d-]+) x ([\d-]+) W", entry.get("psu", ""))
        if supplies:
            assert platform.supplies is not None
            assert [_ends(platform.supplies.count), _ends(platform.supplies.watts)] == [
                _numbers(supplies[1]),
                _numbers(supplies[2]),
            ]
        sockets = re.match(r"([\d-]+)x ", entry.get("cpu", ""))
        if sockets:
            assert platform.processor is not None
            first, last = _ends(platform.processor.sockets)
            assert [first * platform.nodes, last * platform.nodes] == _numbers(sockets[1])
        modules = re.match(r"(\d+)x ([\d/]+) GB", entry.get("memory", ""))
        if modules:
            assert platform.memory is not None
            assert _ends(platform.memory.modules) == _numbers(modules[1])
            assert _ends(platform.memory.module_gibibytes) == _numbers(modules[2].replace("/", "-"))


def test_what_the_table_is_unsure_of_stays_marked(table: dict[str, Any]) -> None:
    fields = {"max_w": "maximum_watts", "u": "rack_units", "psu": "supplies", "weight": "weight_kilograms"}
    for platform, entry in zip(load_platforms(()), table["platforms"], strict=True):
        for name in entry.get("unsure", []):
            assert is_unsure(platform, fields.get(name, name)), (platform.id, name)


def test_processor_families_and_contradictions_are_all_here(table: dict[str, Any]) -> None:
    families = load_processor_families(())

    assert [family.memory_channels for family in families] == [row["channels"] for row in table["cpu_pcie"]]
    assert [_ends(family.pcie_lanes) for family in families] == [
        _numbers(str(row["lanes"])) for row in table["cpu_pcie"]
    ]
    assert [_ends(family.pcie_generation) for family in families] == [
        _numbers(str(row["gen"]).replace("/", "-")) for row in table["cpu_pcie"]
    ]
    assert len(load_contradictions()) == len(table["declared_spec_contradictions"])


def _ends(span: Span | None) -> list[float]:
    assert span is not None
    return [span.low, span.high]


def _numbers(text: str) -> list[float]:
    found = [float(part) for part in text.split("-")]
    return found if len(found) == 2 else found * 2
