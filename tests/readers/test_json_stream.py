"""The cursor over a big JSON document, against json.loads."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weighbridge.readers.json_stream import BrokenJson, JsonCursor

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
)
OBJECTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=6)


def cursor(data: bytes, size: int = 7) -> JsonCursor:
    return JsonCursor(io.BytesIO(data), block_bytes=size)


def members(data: bytes, size: int) -> dict[str, Any]:
    at = cursor(data, size)
    return {name: at.value() for name in at.members()}


@settings(max_examples=300)
@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 2]), st.booleans())
def test_members_are_what_json_loads_reads(
    value: dict[str, Any], size: int, indent: int | None, ascii_: bool
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_).encode("utf-8", "replace")
    assert members(data, size) == json.loads(data)


@settings(max_examples=200)
@given(st.lists(OBJECTS, max_size=6), st.integers(1, 40), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_elements_come_one_by_one_in_any_encoding(values: list[Any], size: int, encoding: str) -> None:
    data = json.dumps(values).encode(encoding)
    assert [value for _, value in cursor(data, size).elements()] == values


@settings(max_examples=200)
@given(st.lists(OBJECTS, min_size=1, max_size=5), st.integers(1, 40), st.data())
def test_a_cut_array_gives_its_first_elements_and_says_that_it_is_cut(
    values: list[Any], size: int, data: st.DataObject
) -> None:
    text = json.dumps(values).encode()
    place = data.draw(st.integers(0, len(text) - 1))
    found: list[Any] = []
    with pytest.raises(BrokenJson) as caught:
        found.extend(value for _, value in cursor(text[:place], size).elements())
    assert caught.value.cut
    assert found == values[: len(found)]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_words_that_only_python_writes_are_read_and_remembered(size: int) -> None:
    at = cursor(b'{"a": NaN, "b": -Infinity, "c": [Infinity, 1]}', size)
    values = {name: at.value() for name in at.members()}
    assert math.isnan(values["a"])
    assert values["b"] == -math.inf
    assert values["c"] == [math.inf, 1]
    assert at.odd_tokens == {"NaN", "-Infinity", "Infinity"}


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_number_at_the_cut_is_not_believed(size: int) -> None:
    at = cursor(b'{"a": 12', size)
    names = at.members()
    assert next(names) == "a"
    with pytest.raises(BrokenJson) as caught:
        at.value()
    assert caught.value.cut


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_broken_object_is_stepped_over(size: int) -> None:
    at = cursor(b'[{"a": 1},\n{"a": 2,, "b": 3},\n{"a": 4}]', size)
    assert list(at.elements()) == [(1, {"a": 1}), (3, {"a": 4})]
    assert (at.skipped, at.skipped_line) == (1, 2)


def test_a_broken_last_object_does_not_cost_what_follows_the_array() -> None:
    at = cursor(b'{"list": [{"a": 1}, {"a": oops}], "after": 5}')
    found: dict[str, Any] = {}
    for name in at.members():
        found[name] = [value for _, value in at.elements()] if name == "list" else at.value()
    assert found == {"list": [{"a": 1}], "after": 5}


def test_lines_are_counted() -> None:
    at = cursor(b'[\n {"a":\n 1},\n\n {"b": 2}\n]', 4)
    assert [line for line, _ in at.elements()] == [2, 5]


def test_nesting_without_end_is_broken_and_no_crash() -> None:
    with pytest.raises(BrokenJson):
        list(cursor(b"[" * 100_000, 4096).elements())


def test_memory_stays_bounded_over_many_elements() -> None:
    at = cursor(b"[" + b",".join([b'{"loss": 1.5, "step": 10}'] * 20_000) + b"]", 1024)
    largest = 0
    for _ in at.elements():
        largest = max(largest, len(at._text))
    assert largest < 8 * 1024
