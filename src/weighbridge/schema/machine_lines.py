"""The registry of machine lines: every figure by which two Machines are compared, once, with a stable path.

Catalogue, specification rows, deviation forms, quotes, inventory checks and change diffs all use these paths.
A Machine may hold several disks or node groups; an occurrence's path then says which: ``gpu[2].count``,
``disk[hot].read_bytes_per_second``, ``storage/node.count``. Prices have no line: two of them need one
currency and one tax state before they compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from weighbridge.schema.field_units import unit_of
from weighbridge.schema.machine import Machine
from weighbridge.schema.node import Node
from weighbridge.units import Quantity

Better = Literal["higher", "lower", "exact"]
Basis = Literal["nominal", "usable"]


@dataclass(frozen=True, slots=True)
class Line:
    """``path`` is part and field, ``better`` what a buyer wants, ``basis`` sheet figure or usable figure."""

    path: str
    better: Better
    basis: Basis | None = None

    @property
    def part(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def field(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def unit(self) -> str:
        return unit_of(self.field)

    @property
    def label(self) -> str:
        """The code of its label in the catalogue of sentences."""
        return f"machine_line.{self.path}"


@dataclass(frozen=True, slots=True)
class LinePair:
    """One line of two Machines; None where a Machine does not have it."""

    path: str
    line: Line
    first: Quantity | None
    second: Quantity | None


LINES: Final[tuple[Line, ...]] = (
    Line("node.count", "higher"),
    Line("gpu.count", "higher"),
    Line("gpu.memory_bytes", "higher", "nominal"),
    Line("gpu.usable_memory_bytes", "higher", "usable"),
    Line("gpu.memory_bandwidth_bytes_per_second", "higher", "nominal"),
    Line("gpu.dense.fp64_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.fp32_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.tf32_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.bf16_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.fp16_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.fp8_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.fp4_flops_per_second", "higher", "nominal"),
    Line("gpu.dense.int8_operations_per_second", "higher", "nominal"),
    Line("gpu.link_bytes_per_second", "higher", "nominal"),
    Line("gpu.pcie_generation", "higher"),
    Line("gpu.pcie_lanes", "higher"),
    Line("gpu.multiprocessors", "higher"),
    Line("gpu.boost_hertz", "higher", "nominal"),
    # More watts are more speed and more heat: a part of another rating is another part.
    Line("gpu.power_watts", "exact", "nominal"),
    Line("cpu.sockets", "exact"),
    Line("cpu.cores", "higher"),
    Line("cpu.threads", "higher"),
    Line("cpu.base_hertz", "higher", "nominal"),
    Line("cpu.memory_channels", "higher"),
    Line("cpu.pcie_generation", "higher"),
    Line("cpu.pcie_lanes", "higher"),
    Line("cpu.numa_nodes", "exact"),
    Line("memory.capacity_bytes", "higher", "nominal"),
    Line("memory.usable_bytes", "higher", "usable"),
    Line("memory.modules", "exact"),
    Line("memory.module_bytes", "exact", "nominal"),
    Line("memory.transfers_per_second", "higher", "usable"),
    Line("memory.channels_populated", "higher"),
    Line("memory.free_slots", "higher"),
    Line("disk.count", "higher"),
    Line("disk.capacity_bytes", "higher", "nominal"),
    Line("disk.usable_bytes", "higher", "usable"),
    Line("disk.read_bytes_per_second", "higher", "nominal"),
    Line("disk.write_bytes_per_second", "higher", "nominal"),
    Line("disk.random_reads_per_second", "higher", "nominal"),
    Line("disk.random_writes_per_second", "higher", "nominal"),
    Line("disk.endurance_bytes", "higher", "nominal"),
    Line("nic.count", "higher"),
    Line("nic.ports", "higher"),
    Line("nic.port_bytes_per_second", "higher", "nominal"),
    Line("nic.pcie_generation", "higher"),
    Line("nic.pcie_lanes", "higher"),
    Line("slot.count", "higher"),
    Line("slot.free", "higher"),
    Line("slot.pcie_generation", "higher"),
    Line("slot.pcie_lanes", "higher"),
    Line("chassis.rack_units", "lower"),
    Line("chassis.depth_metres", "lower"),
    Line("chassis.weight_kilograms", "lower"),
    Line("chassis.noise_decibels", "lower"),
    Line("power.maximum_watts", "lower", "nominal"),
    Line("power.training_watts", "lower", "usable"),
    Line("power.supplies", "higher"),
    Line("power.supply_watts", "higher", "nominal"),
    Line("power.supplies_that_may_fail", "higher"),
    Line("fabric.rails", "higher"),
    Line("fabric.node_bytes_per_second", "higher", "nominal"),
    Line("fabric.latency_seconds", "lower"),
    Line("fabric.oversubscription_ratio", "lower"),
    Line("fabric.switches", "exact"),
    Line("fabric.switch_ports", "higher"),
    Line("fabric.free_ports", "higher"),
    Line("store.capacity_bytes", "higher", "nominal"),
    Line("store.usable_bytes", "higher", "usable"),
    Line("store.read_bytes_per_second", "higher", "usable"),
    Line("store.write_bytes_per_second", "higher", "usable"),
    Line("store.opens_per_second", "higher", "usable"),
    Line("store.seconds_per_open", "lower", "usable"),
    Line("store.other_users", "lower"),
    Line("store.burst.burst_bytes_per_second", "higher", "usable"),
    Line("store.burst.credit_bytes", "higher", "usable"),
    Line("rental.disk_cap_bytes_per_second", "higher", "usable"),
    Line("rental.nic_cap_bytes_per_second", "higher", "usable"),
    Line("rental.disk_burst.burst_bytes_per_second", "higher", "usable"),
    Line("rental.disk_burst.credit_bytes", "higher", "usable"),
)

BY_PATH: Final = {line.path: line for line in LINES}
_BY_PART: Final = {
    part: tuple(line for line in LINES if line.part == part)
    for part in dict.fromkeys(line.part for line in LINES)
}
_ORDER: Final = {line.path: place for place, line in enumerate(LINES)}
_PART_ORDER: Final = {
    part: place for place, part in enumerate(dict.fromkeys(path.partition(".")[0] for path in BY_PATH))
}
# What an occurrence's path has more than the registered one: the node group in front, and the brackets.
_WHICH: Final = re.compile(r"^[a-z]+(?:\[\d+\])?/|\[[^\]]*\]")


def line_of(path: str) -> Line:
    """The registry's line for an occurrence's path. Raises KeyError for a path that nobody registered."""
    return BY_PATH[_WHICH.sub("", path)]


def lines(machine: Machine) -> dict[str, Quantity]:
    """Every figure that ``machine`` states, by occurrence path, parts in the machine's order."""
    found: dict[str, Quantity] = {}
    for prefix, part, record in _parts(machine):
        for line in _BY_PART[part]:
            value = getattr(record, line.field)
            if value is not None:
                found[f"{prefix}.{line.field}"] = value
    return found


def compare(first: Machine, second: Machine) -> tuple[LinePair, ...]:
    """Two Machines side by side, with what only one has: by node group, by part, in the registry's order.

    Parts with a role meet by role, others by their place. Does not judge: tolerance belongs to the stage.
    """
    left, right = lines(first), lines(second)
    return tuple(
        LinePair(path, line_of(path), left.get(path), right.get(path))
        for path in sorted(left | right, key=_order)
    )


def _order(path: str) -> tuple[str, int, str, int]:
    group, _, rest = path.rpartition("/")
    registered = line_of(path).path
    return group, _PART_ORDER[registered.partition(".")[0]], rest.partition(".")[0], _ORDER[registered]


def _parts(machine: Machine) -> Iterator[tuple[str, str, Any]]:
    """(occurrence's prefix, registered part, record) of everything that has lines."""
    for role, number, group in _numbered(machine.groups):
        named = role if number == 1 else f"{role}[{number}]"
        # The plain path is that of the first compute nodes: most Machines have no others.
        prefix = "" if named == "compute" else f"{named}/"
        yield f"{prefix}node", "node", group
        for name, part, record in _node_parts(group.node):
            yield prefix + name, part, record
    if machine.fabric is not None:
        yield "fabric", "fabric", machine.fabric
    for name, store in _labelled("store", machine.stores):
        yield name, "store", store
        if store.burst is not None:
            yield f"{name}.burst", "store.burst", store.burst
    if machine.rental is not None:
        yield "rental", "rental", machine.rental
        if machine.rental.disk_burst is not None:
            yield "rental.disk_burst", "rental.disk_burst", machine.rental.disk_burst


def _node_parts(node: Node) -> Iterator[tuple[str, str, Any]]:
    for name, gpu in _labelled("gpu", node.gpus):
        yield name, "gpu", gpu
        yield f"{name}.dense", "gpu.dense", gpu.dense
    for part in ("cpu", "memory", "chassis", "power"):
        record = getattr(node, part)
        if record is not None:
            yield part, part, record
    for part, records in (("disk", node.disks), ("nic", node.nics), ("slot", node.slots)):
        for name, record in _labelled(part, records):
            yield name, part, record


def _labelled(part: str, records: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each record under its occurrence's name: disk, disk[2], disk[hot], disk[hot,2]."""
    for role, number, record in _numbered(records):
        which = ",".join(filter(None, [role, str(number) if number > 1 else None]))
        yield f"{part}[{which}]" if which else part, record


def _numbered(records: Sequence[Any]) -> Iterator[tuple[str | None, int, Any]]:
    """Each record with its role, if it has one, and its number among those of that role, from 1."""
    seen: dict[str | None, int] = {}
    for record in records:
        role = getattr(record, "role", None)
        seen[role] = seen.get(role, 0) + 1
        yield role, seen[role], record
