"""A Store: where data lie, and how fast they come from there. Not the workspace (``weighbridge.store``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weighbridge.schema.field_units import check_units
from weighbridge.units import Curve, Quantity

StoreRole = Literal["hot", "archive", "scratch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """A rate above the sustained one while the credit lasts; the credit fills at the sustained rate."""

    burst_bytes_per_second: Quantity | None = None
    credit_bytes: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Rates are those that all clients together get, sustained, in large sequential files.

    ``read_curves`` and ``write_curves``: bytes a second over concurrent clients, one Curve for each file size
    (context ``file_bytes``). ``seconds_per_open`` is the latency of opening one file. ``other_users`` counts
    the clients that use it at the same time besides us.
    """

    name: str
    role: StoreRole
    shared: bool
    kind: str | None = None
    capacity_bytes: Quantity | None = None
    usable_bytes: Quantity | None = None
    read_bytes_per_second: Quantity | None = None
    write_bytes_per_second: Quantity | None = None
    opens_per_second: Quantity | None = None
    seconds_per_open: Quantity | None = None
    other_users: Quantity | None = None
    burst: Burst | None = None
    read_curves: tuple[Curve, ...] = ()
    write_curves: tuple[Curve, ...] = ()

    def __post_init__(self) -> None:
        check_units(self)
