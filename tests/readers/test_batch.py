"""Rows become column batches of one shape."""

from __future__ import annotations

from weighbridge.readers.batch import Batch
from weighbridge.readers.patterns import pattern


def test_a_cell_that_a_row_does_not_name_is_unknown() -> None:
    batch = Batch(("step", "line"))
    batch.add({"step": 1})
    batch.add({"line": 2, "no_column": 3})
    (steps,) = batch.steps(rest=True)
    assert steps.columns == {"step": [1, None], "line": [None, 2]}
    assert steps.rows == 2


def test_a_batch_is_handed_on_when_it_is_full_and_counts_on() -> None:
    batch = Batch(("step",), size=2)
    handed = []
    for step in range(5):
        batch.add({"step": step})
        handed += [piece.columns["step"] for piece in batch.steps()]
    assert handed == [[0, 1], [2, 3]]
    assert batch.total == 5
    assert [piece.rows for piece in batch.samples(rest=True)] == [1]
    assert list(batch.steps(rest=True)) == []


def test_numbers_in_patterns_are_bounded() -> None:
    step = pattern(rb"step <count> takes <number> s")
    found = step.search(b"step 12 takes 3.5 s")
    assert found is not None
    assert found.groups() == (b"12", b"3.5")
    assert step.search(b"step " + b"9" * 16 + b" takes 1 s") is None
