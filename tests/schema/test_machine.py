"""What a Machine refuses to be."""

from __future__ import annotations

import pytest

from weighbridge.schema.machine import Machine, NodeGroup, Rental
from weighbridge.schema.node import Chassis, Gpu, Node, Power, Slot
from weighbridge.schema.price import Per, Price
from weighbridge.schema.store import Store
from weighbridge.units import Quantity


def price(per: Per) -> Price:
    return Price(amount=1.0, currency="USD", per=per)


def test_two_stores_need_two_names() -> None:
    nas = Store(name="nas", role="hot", shared=True)

    with pytest.raises(ValueError, match="one name"):
        Machine(name="m", stores=(nas, nas))


@pytest.mark.parametrize("node", [Node(slots=(Slot(),)), Node(chassis=Chassis()), Node(power=Power())])
def test_a_rented_node_states_no_slots_chassis_or_power(node: Node) -> None:
    with pytest.raises(ValueError, match="rented"):
        Machine(name="m", groups=(NodeGroup(node=node),), rental=Rental())

    assert Machine(name="m", groups=(NodeGroup(node=node),)).rental is None


def test_rental_prices_are_per_hour_and_per_gigabyte() -> None:
    rental = Rental(hourly_price=price("hour"), egress_price=price("gigabyte"))

    assert rental.hourly_price is not None
    with pytest.raises(ValueError, match="per hour"):
        Rental(hourly_price=price("month"))
    with pytest.raises(ValueError, match="per gigabyte"):
        Rental(egress_price=price("hour"))


def test_a_part_refuses_a_figure_in_another_unit() -> None:
    with pytest.raises(ValueError, match=r"Gpu\.power_watts"):
        Gpu(power_watts=Quantity(value=0.7, unit="kilowatts", origin="quoted"))


@pytest.mark.parametrize("currency", ["yuan", "CN", "cny", ""])
def test_a_price_needs_an_iso_currency(currency: str) -> None:
    with pytest.raises(ValueError, match="ISO 4217"):
        Price(amount=1.0, currency=currency)


def test_an_unknown_price_stays_unknown() -> None:
    assert Price(amount=None, currency="CNY").amount is None
