"""A Site: the room a Machine will stand in, as far as it limits what can be bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weighbridge.schema.field_units import check_units
from weighbridge.schema.store import Store
from weighbridge.units import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One supply: a breaker and what lies behind it. ``ups_seconds`` is how long it holds at full load."""

    name: str
    voltage_volts: Quantity | None = None
    breaker_amperes: Quantity | None = None
    phases: Quantity | None = None
    ups_seconds: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerStrip:
    """A PDU in a rack and its free outlets."""

    feed: str
    free_c13: Quantity | None = None
    free_c19: Quantity | None = None
    rated_amperes: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """A rack: what is free in it and what it and the floor bear."""

    name: str
    free_rack_units: Quantity | None = None
    depth_metres: Quantity | None = None
    load_kilograms: Quantity | None = None
    strips: tuple[PowerStrip, ...] = ()

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A switch with ports to spare; the rate is that of one port in one direction."""

    name: str
    protocol: str | None = None
    port_bytes_per_second: Quantity | None = None
    free_ports: Quantity | None = None
    free_uplinks: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooling:
    """Heat that can still be taken away, and the air a machine would breathe. Humidity is relative, 0..1."""

    spare_watts: Quantity | None = None
    inlet_celsius: Quantity | None = None
    humidity_share: Quantity | None = None
    liquid: bool | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The narrowest place between the lorry and the rack."""

    door_width_metres: Quantity | None = None
    door_height_metres: Quantity | None = None
    lift_kilograms: Quantity | None = None
    loading_dock: bool | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Racks, feeds, cooling, switches and the shared Stores. Every strip hangs on a feed of this site."""

    SCHEMA: ClassVar[str] = "weighbridge.site/1"

    name: str
    racks: tuple[Rack, ...] = ()
    feeds: tuple[Feed, ...] = ()
    cooling: Cooling | None = None
    switches: tuple[Switch, ...] = ()
    stores: tuple[Store, ...] = ()
    delivery: Delivery | None = None
    altitude_metres: Quantity | None = None
    earthing_ohms: Quantity | None = None
    noise_limit_decibels: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)
        known = {feed.name for feed in self.feeds}
        for rack in self.racks:
            for strip in rack.strips:
                if strip.feed not in known:
                    raise ValueError(
                        f"rack {rack.name!r} hangs on the feed {strip.feed!r}, which is not there"
                    )
