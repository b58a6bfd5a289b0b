"""The registry of machine lines: complete, labelled, and able to lay any two Machines side by side."""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from weighbridge import i18n
from weighbridge.schema.field_units import unit_of
from weighbridge.schema.machine import Machine, NodeGroup, Rental
from weighbridge.schema.machine_lines import LINES, compare, line_of, lines
from weighbridge.schema.node import Disk, Gpu, Node
from weighbridge.schema.price import Price
from weighbridge.schema.store import Store
from weighbridge.units import FORMATTERS, Curve, Quantity


def count(value: float) -> Quantity:
    return Quantity(value=value, unit="count", origin="quoted")


def gigabytes(value: float) -> Quantity:
    return Quantity(value=value * 1e9, unit="bytes", origin="quoted")


def filled(kind: Any, name: str = "") -> Any:
    """A value for a field of type ``kind``: records with every Quantity filled, all the way down."""
    if kind is Quantity:
        return Quantity(value=1.0, unit=unit_of(name), origin="agreed")
    if kind in (Price, Curve):
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{item.name: filled(hints[item.name], item.name) for item in fields(kind)})
    arguments = [part for part in typing.get_args(kind) if part is not type(None)]
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return filled(arguments[0], name)
    if typing.get_origin(kind) is tuple:
        return () if arguments[0] is Curve else (filled(arguments[0], name),)
    if typing.get_origin(kind) is typing.Literal:
        return arguments[0]
    return {str: "x", bool: True}[kind]


def quantities(record: Any) -> int:
    """How many Quantities stand anywhere in ``record``."""
    if isinstance(record, Quantity):
        return 1
    if isinstance(record, tuple):
        return sum(map(quantities, record))
    return (
        sum(quantities(getattr(record, item.name)) for item in fields(record)) if is_dataclass(record) else 0
    )


def owned() -> Machine:
    hints = typing.get_type_hints(Machine)
    parts = {name: filled(hints[name], name) for name in ("groups", "fabric", "stores")}
    return Machine(name="owned", **parts)


def rented() -> Machine:
    return Machine(name="rented", rental=filled(Rental))


def test_every_figure_of_a_machine_has_exactly_one_line_and_every_line_a_figure() -> None:
    found = [line_of(path) for machine in (owned(), rented()) for path in lines(machine)]

    assert len(found) == quantities(owned()) + quantities(rented())
    assert sorted(found, key=str) == sorted(LINES, key=str)


def test_paths_are_unique() -> None:
    paths = [line.path for line in LINES]

    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.path)
def test_a_line_has_a_label_in_both_languages_and_a_unit_that_can_be_printed(line: Any) -> None:
    labels = [i18n.speak(line.label, language) for language in i18n.LANGUAGES]

    assert all(labels)
    assert line.unit in FORMATTERS


def test_no_two_lines_share_a_label() -> None:
    for language in i18n.LANGUAGES:
        labels = [i18n.speak(line.label, language) for line in LINES]
        assert len(labels) == len(set(labels))


def test_parts_roles_directions_and_bases_have_words() -> None:
    for line in LINES:
        assert i18n.has(f"machine_part.{line.path.partition('.')[0]}")
        assert i18n.has(f"machine_better.{line.better}")
        assert line.basis is None or i18n.has(f"machine_basis.{line.basis}")
    for role in ("compute", "storage", "management", "system", "hot", "archive", "scratch"):
        assert i18n.has(f"machine_role.{role}")


def test_sizes_say_whether_they_are_nominal_or_usable() -> None:
    silent = [line.path for line in LINES if line.unit == "bytes" and line.basis is None]

    assert silent == []


def test_an_unstated_figure_has_no_line() -> None:
    machine = Machine(name="m", groups=(NodeGroup(node=Node(gpus=(Gpu(count=count(8)),))),))

    assert lines(machine) == {"gpu.count": count(8)}


def test_parts_that_occur_twice_are_told_apart_by_role_or_place() -> None:
    disks = (
        Disk(role="system", count=count(2)),
        Disk(role="hot", count=count(4)),
        Disk(role="hot", count=count(8)),
    )
    node = Node(gpus=(Gpu(count=count(6)), Gpu(count=count(2))), disks=disks)

    assert {
        path: value.value for path, value in lines(Machine(name="m", groups=(NodeGroup(node=node),))).items()
    } == {
        "gpu.count": 6,
        "gpu[2].count": 2,
        "disk[system].count": 2,
        "disk[hot].count": 4,
        "disk[hot,2].count": 8,
    }


def test_node_groups_are_told_apart_by_role_and_place() -> None:
    groups = (
        NodeGroup(count=count(4)),
        NodeGroup(role="storage", count=count(1), node=Node(disks=(Disk(count=count(24)),))),
        NodeGroup(count=count(2)),
    )

    assert list(lines(Machine(name="m", groups=groups))) == [
        "node.count",
        "storage/node.count",
        "storage/disk.count",
        "compute[2]/node.count",
    ]


@pytest.mark.parametrize(
    ("path", "registered"),
    [
        ("gpu.count", "gpu.count"),
        ("gpu[2].dense.bf16_flops_per_second", "gpu.dense.bf16_flops_per_second"),
        ("storage[2]/disk[hot,3].count", "disk.count"),
        ("store[archive].burst.credit_bytes", "store.burst.credit_bytes"),
    ],
)
def test_an_occurrence_leads_back_to_its_line(path: str, registered: str) -> None:
    assert line_of(path).path == registered


@pytest.mark.parametrize("path", ["gpu.colour", "gpu", "", "gpus.count"])
def test_a_path_that_nobody_registered_is_refused(path: str) -> None:
    with pytest.raises(KeyError):
        line_of(path)


def test_two_machines_lie_side_by_side_with_what_only_one_has() -> None:
    ordered = Machine(
        name="order", groups=(NodeGroup(node=Node(gpus=(Gpu(count=count(8), memory_bytes=gigabytes(80)),))),)
    )
    offered = Machine(
        name="offer",
        groups=(
            NodeGroup(
                count=count(2),
                node=Node(gpus=(Gpu(count=count(8)),), disks=(Disk(role="hot", count=count(4)),)),
            ),
        ),
    )

    assert [
        (pair.path, pair.first and pair.first.value, pair.second and pair.second.value)
        for pair in compare(ordered, offered)
    ] == [
        ("node.count", None, 2),
        ("gpu.count", 8, 8),
        ("gpu.memory_bytes", 80e9, None),
        ("disk[hot].count", None, 4),
    ]


def test_parts_with_a_role_meet_whatever_their_order() -> None:
    archive = Store(name="a", role="archive", shared=True, capacity_bytes=gigabytes(1))
    hot = Store(name="h", role="hot", shared=False, capacity_bytes=gigabytes(2))
    first = Machine(name="1", stores=(archive, hot))
    second = Machine(name="2", stores=(replace(hot, name="x"), replace(archive, name="y")))

    assert all(pair.first == pair.second for pair in compare(first, second))


def test_comparing_a_machine_with_itself_finds_every_line_equal() -> None:
    pairs = compare(owned(), owned())

    assert len(pairs) == len(lines(owned()))
    assert all(pair.first == pair.second for pair in pairs)
