"""What tasks, shares, sites, offers and answers refuse to be."""

from __future__ import annotations

from typing import Any

import pytest

from weighbridge.schema.fit import MemoryFit, PhaseMemory
from weighbridge.schema.load import Load
from weighbridge.schema.machine import Machine
from weighbridge.schema.offer import Offer
from weighbridge.schema.prediction import Constant, Measurement
from weighbridge.schema.share import Share, StoreShare
from weighbridge.schema.site import Feed, PowerStrip, Rack, Site
from weighbridge.schema.task import Growth, Portfolio, StartWindow, Task
from weighbridge.units import Curve, Quantity

SIZE = Quantity(value=1e9, unit="bytes", origin="estimated")
LOAD = Load(name="l", made_from="run")


def test_a_portfolio_holds_every_task_once() -> None:
    with pytest.raises(ValueError, match=r"one id: \['a'\]"):
        Portfolio(name="p", tasks=(Task(id="a", load=LOAD), Task(id="b", load=LOAD), Task(id="a", load=LOAD)))


def test_a_start_window_ends_after_it_begins() -> None:
    with pytest.raises(ValueError, match="before it begins"):
        StartWindow(first_date="2027-03-01", last_date="2027-02-28")


def test_growth_needs_a_span() -> None:
    with pytest.raises(ValueError, match="0 months"):
        Growth(months=0)


@pytest.mark.parametrize(
    "fields",
    [
        {"gpus": 0},
        {"cores": -1},
        {"gpus": 2, "gpu_indexes": (0,)},
        {"gpu_indexes": (1, 1)},
        {"memory_bytes": 0},
    ],
)
def test_a_share_of_nothing_or_of_one_gpu_twice_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Share(**fields)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_a_share_of_a_store_lies_above_nothing_and_up_to_all(share: float) -> None:
    with pytest.raises(ValueError, match="nas"):
        StoreShare(store="nas", rate_share=share)

    assert StoreShare(store="nas", rate_share=1.0).rate_share == 1.0


def test_a_power_strip_hangs_on_a_feed_of_its_site() -> None:
    racks = (Rack(name="r1", strips=(PowerStrip(feed="A"),)),)

    with pytest.raises(ValueError, match="'A', which is not there"):
        Site(name="s", racks=racks, feeds=(Feed(name="B"),))

    assert Site(name="s", racks=racks, feeds=(Feed(name="A"),)).racks == racks


def test_an_offer_is_valid_after_its_date() -> None:
    with pytest.raises(ValueError, match="before 2026-11-20"):
        Offer(id="q", machine=Machine(name="m"), quoted_on="2026-11-20", valid_until="2026-11-01")


def test_the_peak_is_in_one_of_the_phases() -> None:
    with pytest.raises(ValueError, match="not among the phases"):
        MemoryFit(
            phases=(PhaseMemory(phase="forward", alive_bytes=SIZE, parts=()),),
            peak_phase="optimizer",
            allocated_bytes=SIZE,
            reserved_bytes=SIZE,
            device_bytes=SIZE,
            card_bytes=SIZE,
            fits=None,
        )


def test_a_measurement_is_one_figure_or_one_curve() -> None:
    curve = Curve(unit="bytes_per_second", at_unit="bytes", points=(), origin="measured")

    for fields in ({}, {"value": SIZE, "curve": curve}):
        with pytest.raises(ValueError, match="one figure or one curve"):
            Measurement(quantity="x", **fields)  # type: ignore[arg-type]


def test_a_constant_rests_on_no_negative_number_of_measurements() -> None:
    assert Constant(name="c", gpu_family="Ada", value=SIZE, n=0).n == 0
    with pytest.raises(ValueError, match="-1 measurements"):
        Constant(name="c", gpu_family="Ada", value=SIZE, n=-1)
