"""The unit in a field's name and the unit of what it holds."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from weighbridge.schema.field_units import check_units, unit_of
from weighbridge.units import Quantity


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("memory_bytes", "bytes"),
        ("memory_bandwidth_bytes_per_second", "bytes_per_second"),
        ("bf16_flops_per_second", "flops_per_second"),
        ("int8_operations_per_second", "operations_per_second"),
        ("transfers_per_second", "transfers_per_second"),
        ("random_reads_per_second", "per_second"),
        ("seconds_per_open", "seconds"),
        ("deadline_seconds", "seconds"),
        ("oversubscription_ratio", "times"),
        ("batch_factor", "times"),
        ("rate_share", "share"),
        ("rack_units", "rack_units"),
        ("free_rack_units", "rack_units"),
        ("count", "count"),
        ("pcie_generation", "count"),
        ("gigabytes", "count"),
    ],
)
def test_the_longest_unit_at_the_end_of_a_name_is_its_unit(name: str, unit: str) -> None:
    assert unit_of(name) == unit


@dataclass(frozen=True)
class Box:
    weight_kilograms: Quantity | None = None
    name: str = "box"


def test_a_field_holds_its_own_unit_or_nothing() -> None:
    check_units(Box())
    check_units(Box(weight_kilograms=Quantity(value=3, unit="kilograms", origin="agreed")))


def test_another_unit_is_refused_with_record_and_field() -> None:
    box = Box(weight_kilograms=Quantity(value=3, unit="bytes", origin="agreed"))

    with pytest.raises(ValueError, match=r"Box\.weight_kilograms is in bytes, not in kilograms"):
        check_units(box)
