"""A Machine: the same type whether it is from the catalogue, specified, quoted, inventoried or measured.

What differs is the origin of its Quantities; any two Machines compare line by line (``machine_lines``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from weighbridge.schema.field_units import check_units
from weighbridge.schema.node import Node
from weighbridge.schema.price import Price
from weighbridge.schema.store import Burst, Store
from weighbridge.units import Quantity

GroupRole = Literal["compute", "storage", "management"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """Nodes that are alike."""

    role: GroupRole = "compute"
    count: Quantity | None = None
    node: Node = field(default_factory=Node)

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """What joins the nodes. Rate and latency are between two nodes, in one direction, all rails together.

    ``oversubscription_ratio`` is leaf downlinks over uplinks: 1 is non-blocking.
    """

    protocol: str | None = None
    topology: str | None = None
    rails: Quantity | None = None
    node_bytes_per_second: Quantity | None = None
    latency_seconds: Quantity | None = None
    oversubscription_ratio: Quantity | None = None
    switches: Quantity | None = None
    switch_ports: Quantity | None = None
    free_ports: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rental:
    """Terms of a rented machine: what one node costs and what the provider caps."""

    provider: str | None = None
    instance: str | None = None
    hourly_price: Price | None = None
    egress_price: Price | None = None
    disk_cap_bytes_per_second: Quantity | None = None
    nic_cap_bytes_per_second: Quantity | None = None
    disk_burst: Burst | None = None

    def __post_init__(self) -> None:
        check_units(self)
        if self.hourly_price is not None and self.hourly_price.per != "hour":
            raise ValueError("the hourly price of a Rental is per hour")
        if self.egress_price is not None and self.egress_price.per != "gigabyte":
            raise ValueError("the egress price of a Rental is per gigabyte")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Groups of nodes, the fabric between them and the stores they mount.

    ``rental`` None: owned, or to be bought. A rented node states no slots, rack units or power.
    """

    SCHEMA: ClassVar[str] = "weighbridge.machine/1"

    name: str = field(metadata={"identity": False})
    groups: tuple[NodeGroup, ...] = ()
    fabric: Fabric | None = None
    stores: tuple[Store, ...] = ()
    rental: Rental | None = None
    site: str | None = field(default=None, metadata={"identity": False})

    def __post_init__(self) -> None:
        names = [store.name for store in self.stores]
        if len(names) != len(set(names)):
            raise ValueError(f"two stores of {self.name!r} have one name: {sorted(names)}")
        if self.rental is not None and any(_has_site_figures(group.node) for group in self.groups):
            raise ValueError(f"{self.name!r} is rented and yet states slots, chassis or power")


def _has_site_figures(node: Node) -> bool:
    return bool(node.slots) or node.chassis is not None or node.power is not None
