"""An Offer: a Machine with a price, a date and terms. A Quote holds one or more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weighbridge.schema.field_units import check_units
from weighbridge.schema.machine import Machine
from weighbridge.schema.price import Price
from weighbridge.units import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferLine:
    """One priced position. ``part`` is the machine line's part it pays for, None for services and freight."""

    text: str
    price: Price
    count: Quantity | None = None
    part: str | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What is promised after delivery. Response, on site and recovery count from the report of a fault."""

    warranty_seconds: Quantity | None = None
    response_seconds: Quantity | None = None
    on_site_seconds: Quantity | None = None
    recovery_seconds: Quantity | None = None
    keep_disks: bool | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """``total`` is what the offer states as its sum; dates are YYYY-MM-DD."""

    SCHEMA: ClassVar[str] = "weighbridge.offer/1"

    id: str
    machine: Machine
    vendor: str | None = None
    lines: tuple[OfferLine, ...] = ()
    total: Price | None = None
    quoted_on: str | None = None
    valid_until: str | None = None
    delivery_seconds: Quantity | None = None
    service: Service = Service()

    def __post_init__(self) -> None:
        check_units(self)
        if self.quoted_on and self.valid_until and self.valid_until < self.quoted_on:
            raise ValueError(f"offer {self.id!r} is valid until {self.valid_until}, before {self.quoted_on}")
