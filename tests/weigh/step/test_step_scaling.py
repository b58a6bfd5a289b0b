"""The scaling curve: more copies keep or lose efficiency, never the tokens."""

from __future__ import annotations

from dataclasses import replace

from weighbridge.facts.step_constants import load_step_tables
from weighbridge.weigh.step import Missing, scaling_curve

from .step_builders import MACHINE, ONE, RECIPE, SHAPE


def _curve(strong: bool, sequence: int | None = 2048) -> object:
    tables = load_step_tables()
    recipe = replace(RECIPE, sharding="fsdp", accumulation=16, sequence=sequence)
    return scaling_curve(
        SHAPE, recipe, ONE, MACHINE, tables.constants, (16, 1, 4), tables.defaults, strong=strong
    )


def test_weak_scaling_keeps_the_batch_of_each_copy() -> None:
    points = _curve(strong=False)
    assert isinstance(points, tuple)
    assert [point.devices for point in points] == [1, 4, 16]
    assert [point.estimate.tokens_per_step for point in points] == [16 * 4096 * n for n in (1, 4, 16)]
    assert points[0].efficiency == 1.0


def test_strong_scaling_keeps_the_global_batch() -> None:
    points = _curve(strong=True)
    assert isinstance(points, tuple)
    assert {point.estimate.tokens_per_step for point in points} == {16 * 4096}


def test_a_copy_beyond_the_node_is_less_efficient() -> None:
    points = _curve(strong=False)
    assert isinstance(points, tuple)
    assert points[2].efficiency < points[1].efficiency <= points[0].efficiency


def test_a_missing_field_is_passed_on() -> None:
    assert _curve(strong=False, sequence=None) == Missing(("sequence",))
