"""One hash for what means the same, another for what does not."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruled_records import EXAMPLES, count, load, machine, quantity

from weighbridge.codec import decode, encode, stable_hash
from weighbridge.schema.machine import NodeGroup
from weighbridge.units import Quantity


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_a_hash_survives_being_written_and_read_back(example: Any) -> None:
    again = decode(encode(example), type(example), name="a.json")

    assert stable_hash(again) == stable_hash(example)


@given(value=st.integers(-(2**53), 2**53))
def test_whole_numbers_hash_alike_however_they_are_written(value: int) -> None:
    assert stable_hash(count(value)) == stable_hash(count(float(value)))


@given(
    origin=st.sampled_from(["measured", "quoted", "catalogue"]),
    source=st.none() | st.text(max_size=5),
    date=st.none() | st.text(max_size=5),
    confidence=st.sampled_from([None, "A", "C"]),
)
def test_where_a_figure_came_from_does_not_count(
    origin: Any, source: str, date: str, confidence: str
) -> None:
    told = Quantity(value=8.0, unit="count", origin=origin, source=source, date=date, confidence=confidence)

    assert stable_hash(told) == stable_hash(Quantity(value=8.0, unit="count", origin="agreed"))


@given(
    first=st.floats(allow_nan=False, allow_infinity=False),
    second=st.floats(allow_nan=False, allow_infinity=False),
)
def test_different_figures_hash_differently(first: float, second: float) -> None:
    alike = stable_hash(quantity(first, "bytes")) == stable_hash(quantity(second, "bytes"))

    assert alike == (first == second)


@pytest.mark.parametrize(
    "change", [{"unit": "bytes"}, {"value": 9.0}, {"low": 7.0}, {"operator": ">="}, {"value": None}]
)
def test_value_unit_interval_and_operator_count(change: dict[str, Any]) -> None:
    assert stable_hash(replace(count(8), **change)) != stable_hash(count(8))


def test_names_do_not_count_and_parts_do() -> None:
    box = machine("a")

    assert stable_hash(box) == stable_hash(machine("b"))
    assert stable_hash(box) != stable_hash(replace(box, groups=(NodeGroup(count=count(2)),)))


def test_records_of_two_kinds_with_equal_fields_differ() -> None:
    @dataclass(frozen=True)
    class First:
        SCHEMA: ClassVar[str] = "weighbridge.first/1"
        size: int = 1

    @dataclass(frozen=True)
    class Second:
        SCHEMA: ClassVar[str] = "weighbridge.second/1"
        size: int = 1

    assert stable_hash(First()) != stable_hash(Second())


def test_a_field_that_is_added_later_changes_nothing_until_it_is_used() -> None:
    @dataclass(frozen=True)
    class Old:
        SCHEMA: ClassVar[str] = "weighbridge.thing/1"
        size: int = 1

    @dataclass(frozen=True)
    class New:
        SCHEMA: ClassVar[str] = "weighbridge.thing/1"
        size: int = 1
        colour: str | None = None
        holes: tuple[int, ...] = ()

    assert stable_hash(New()) == stable_hash(Old())
    assert stable_hash(New(colour="red")) != stable_hash(Old())


def test_the_hash_is_the_same_in_another_process() -> None:
    script = (
        "import ruled_records, weighbridge.codec as codec; print(codec.stable_hash(ruled_records.load()))"
    )
    other = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )

    assert other.stdout.strip() == stable_hash(load())


def test_the_hash_of_a_known_record_stays_what_it_was() -> None:
    # SHA-256 of ["Quantity",{"operator":"=","unit":"bytes","value":80000000000}], worked out by sha256sum.
    assert stable_hash(quantity(8e10, "bytes")) == (
        "53a889168487d782cfb78d893561b6545f665143b557aee72b0c8999cd73ffc6"
    )


@pytest.mark.parametrize("thing", [7, "text", {"a": 1}, None, Quantity])
def test_what_is_no_record_has_no_hash(thing: Any) -> None:
    with pytest.raises(TypeError):
        stable_hash(thing)


def test_a_record_that_holds_something_foreign_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd:
        thing: Any = json

    with pytest.raises(TypeError):
        stable_hash(Odd())
