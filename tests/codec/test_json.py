"""Records to JSON and back: nothing lost, nothing invalid, and a clear word when a document does not fit."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import pkgutil
import types
import typing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruled_records import EXAMPLES

from weighbridge import schema
from weighbridge.codec import decode, document, encode
from weighbridge.errors import InputError
from weighbridge.schema.run import Planned, Run
from weighbridge.schema.task import Portfolio
from weighbridge.units import Quantity


def every_record() -> list[type[Any]]:
    """Every dataclass of the schema room that is a document of its own."""
    records = set()
    for module in pkgutil.iter_modules(schema.__path__, "weighbridge.schema."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and dataclasses.is_dataclass(thing) and hasattr(thing, "SCHEMA"):
                records.add(thing)
    return sorted(records, key=lambda record: record.__name__)


def has_rules(kind: Any) -> bool:
    """Whether a record, or anything inside it, refuses some values; a Quantity only tidies them."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        ruled = hasattr(kind, "__post_init__") and kind is not Quantity
        return ruled or any(has_rules(hints[field.name]) for field in dataclasses.fields(kind))
    return any(has_rules(argument) for argument in typing.get_args(kind))


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type as JSON can carry them: finite numbers, 64-bit integers, real text."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values_of(argument) for argument in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if origin is not None and issubclass(origin, typing.Mapping):
        return st.dictionaries(st.text(max_size=5), values_of(arguments[1]), max_size=2)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(
            kind, **{field.name: values_of(hints[field.name]) for field in dataclasses.fields(kind)}
        )
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: st.text(max_size=8),
        bool: st.booleans(),
        type(None): st.none(),
    }
    return plain[kind]


def test_there_are_records_to_look_at() -> None:
    assert {"Run", "Diagnosis"} <= {record.__name__ for record in every_record()}


FREE = [record for record in every_record() if not has_rules(record)]


@pytest.mark.parametrize("record", FREE, ids=lambda record: record.__name__)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
def test_a_record_survives_being_written_and_read_back(record: type[Any], data: st.DataObject) -> None:
    original = data.draw(values_of(record))

    assert decode(encode(original), record, name="a.json") == original


def test_every_record_that_refuses_values_has_an_example() -> None:
    assert {type(example) for example in EXAMPLES} == set(every_record()) - set(FREE)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
def test_a_record_that_refuses_values_survives_being_written_and_read_back(example: Any) -> None:
    assert decode(encode(example), type(example), name="a.json") == example


def test_a_document_that_breaks_a_rule_of_its_record_is_refused_by_name() -> None:
    text = b'{"schema": "weighbridge.portfolio/1", "name": "p", "tasks": [{"id": "a", "load": {"name": "l",'
    text += b' "made_from": "run", "steps_per_run": {"value": 1, "unit": "seconds", "origin": "agreed"}}}]}'
    with pytest.raises(InputError) as caught:
        decode(text, Portfolio, name="portfolio.json")

    assert caught.value.code == "codec.bad_field"
    assert "steps_per_run is in seconds, not in count" in str(caught.value.params["reason"])


@pytest.mark.parametrize("record", every_record(), ids=lambda record: record.__name__)
def test_every_document_names_its_record_and_its_version(record: type[Any]) -> None:
    name, _, version = record.SCHEMA.partition("/")

    assert name.startswith("weighbridge.")
    assert version.isdigit()


def test_every_document_has_a_schema_name_of_its_own() -> None:
    names = [record.SCHEMA for record in every_record()]

    assert len(names) == len(set(names))


def test_the_schema_name_comes_first_so_that_a_person_sees_it() -> None:
    text = encode(Run(id="r1")).decode()

    assert text.splitlines()[1].strip() == '"schema": "weighbridge.run/1",'


def test_a_number_that_is_no_number_is_written_as_null() -> None:
    run = Run(id="r1", stated_seconds=math.nan, details={"loss": math.inf, "epochs": 3})
    written = json.loads(encode(run))

    assert written["stated_seconds"] is None
    assert written["details"] == {"loss": None, "epochs": 3}
    assert decode(encode(run), Run, name="a.json").stated_seconds is None


def test_unknown_is_null_and_not_left_out_or_zero() -> None:
    assert document(Run(id="r1"))["planned"]["global_batch"] is None


def test_chinese_names_are_written_as_they_are() -> None:
    assert "\u8bad\u7ec3" in encode(Run(id="r1", name="\u8bad\u7ec3")).decode("utf-8")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"schema": "weighbridge.diagnosis/1", "id": "r1"}', "weighbridge.diagnosis/1"),
        ('{"schema": "weighbridge.run/2", "id": "r1"}', "weighbridge.run/2"),
        ('{"id": "r1"}', "None"),
        ("[1, 2]", "None"),
        ("null", "None"),
    ],
)
def test_a_document_of_another_kind_or_version_is_refused_by_name(text: str, found: str) -> None:
    with pytest.raises(InputError) as caught:
        decode(text.encode(), Run, name="run.json")

    assert caught.value.code == "codec.wrong_schema"
    assert caught.value.params == {"name": "run.json", "expected": "weighbridge.run/1", "found": found}


@pytest.mark.parametrize("data", [b"", b"{", b"not json", b'{"id": "\xff"}', b'{"id": NaN}'])
def test_what_is_not_json_is_refused_with_the_file_and_the_place(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        decode(data, Run, name="run.json")

    assert caught.value.code == "codec.not_json"
    assert caught.value.params["name"] == "run.json"
    assert caught.value.params["reason"]


def test_a_field_of_the_wrong_type_is_named() -> None:
    text = b'{"schema": "weighbridge.run/1", "id": "r1", "planned": {"epochs": "many"}}'
    with pytest.raises(InputError) as caught:
        decode(text, Run, name="run.json")

    assert caught.value.code == "codec.bad_field"
    assert "planned.epochs" in str(caught.value.params["reason"])


def test_a_field_that_a_later_release_added_does_not_stop_an_older_one() -> None:
    text = b'{"schema": "weighbridge.run/1", "id": "r", "planned": {"epochs": 3, "later": true}, "newer": 1}'

    assert decode(text, Run, name="run.json").planned == Planned(epochs=3)
