"""Collectives: ring arithmetic by hand, paths over link and network, curves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.facts.collectives import load_collective_curves
from weighbridge.facts.step_constants import load_step_tables
from weighbridge.schema.measured_curves import CollectiveCurve
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.collectives import collective_seconds, curve_seconds, interpolate, path, wire_share

MACHINE = StepMachine(
    name="card",
    architecture="Hopper",
    rates={"bf16": 989e12},
    memory_bytes_per_second=3.35e12,
    memory_bytes=80e9,
    multiprocessors=132,
    power_watts=700.0,
    link_kind="nvlink",
    link_bytes_per_second=450e9,
    domain=8,
    network_bytes_per_second=50e9,
)
CONSTANTS = replace(
    load_step_tables().constants,
    link_share={"nvlink": 0.8, "pcie": 0.5},
    link_latency_seconds={"nvlink": 0.0, "pcie": 0.0},
    network_share=0.9,
    network_latency_seconds=0.0,
)


@pytest.mark.parametrize(
    ("kind", "ranks", "share"),
    [
        ("all_reduce", 8, 14 / 8),
        ("all_gather", 8, 7 / 8),
        ("reduce_scatter", 2, 1 / 2),
        ("all_to_all", 4, 3 / 4),
        ("p2p", 2, 1.0),
        ("all_reduce", 1, 0.0),
    ],
)
def test_wire_bytes_of_a_ring(kind: str, ranks: int, share: float) -> None:
    assert wire_share(kind, ranks) == pytest.approx(share)  # type: ignore[arg-type]


def test_an_all_reduce_inside_the_node_runs_at_the_link() -> None:
    # 1 GB x 14/8 over 360 GB/s.
    seconds = collective_seconds("all_reduce", 1e9, 8, 1, MACHINE, CONSTANTS)
    assert seconds == pytest.approx(1e9 * 1.75 / 360e9)


def test_all_rails_of_a_node_carry_a_ring_that_crosses_nodes() -> None:
    assert path("all_reduce", 16, 1, MACHINE, CONSTANTS)[1] == pytest.approx(360e9)  # 8 x 50 x 0.9
    assert path("all_reduce", 16, 8, MACHINE, CONSTANTS)[1] == pytest.approx(45e9)  # one rail each


def test_one_rank_sends_nothing() -> None:
    assert collective_seconds("all_reduce", 1e9, 1, 1, MACHINE, CONSTANTS) == 0.0


@given(st.floats(1.0, 1e11), st.floats(1.0, 1e11), st.integers(2, 512))
def test_more_bytes_never_take_less_time(first: float, second: float, ranks: int) -> None:
    low, high = sorted((first, second))
    times = [collective_seconds("all_gather", size, ranks, 1, MACHINE, CONSTANTS) for size in (low, high)]
    assert times[0] <= times[1]


POINTS = ((1e6, 10e9), (1e8, 100e9), (1e9, 200e9))


def test_a_curve_passes_through_its_points() -> None:
    assert [interpolate(POINTS, size) for size, _ in POINTS] == pytest.approx([rate for _, rate in POINTS])


def test_a_straight_line_in_logarithms_stays_straight() -> None:
    assert interpolate(((1e6, 1e9), (1e8, 1e11)), 1e7) == pytest.approx(1e10)


def test_below_the_curve_time_is_constant_and_above_it_the_rate() -> None:
    assert interpolate(POINTS, 1e5) == pytest.approx(1e9)
    assert interpolate(POINTS, 1e12) == pytest.approx(200e9)


@given(st.floats(1e6, 1e9))
def test_a_monotone_curve_stays_between_its_points(size: float) -> None:
    assert 10e9 * (1 - 1e-9) <= interpolate(POINTS, size) <= 200e9 * (1 + 1e-9)


def test_a_curve_gives_seconds() -> None:
    curve = CollectiveCurve(
        system="box",
        gpu="card",
        kind="all_reduce",
        ranks=8,
        domain=8,
        points=POINTS,
        source="s",
        licence="MIT",
        date="2026-12-01",
    )
    assert curve_seconds(curve, 1e9) == pytest.approx(1e9 * 1.75 / 200e9)


def test_shipped_curves_are_within_physics() -> None:
    for curve in load_collective_curves():
        assert all(0 < rate < 500e9 for _, rate in curve.points), curve.system
        assert len(curve.points) >= 4
