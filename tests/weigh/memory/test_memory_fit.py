"""An estimate held against a card."""

from __future__ import annotations

import pytest
from memory_builders import Weigh

from weighbridge.units import Quantity
from weighbridge.weigh.memory.fit import memory_fit


def card(size: float | None) -> Quantity:
    return Quantity(value=size, unit="bytes", origin="catalogue")


def test_parts_of_every_phase_add_up_to_what_is_alive(weigh: Weigh) -> None:
    fit = memory_fit(weigh(training="qlora", base_quant="nf4"), card(80e9))
    assert [phase.phase for phase in fit.phases] == ["forward", "backward", "optimizer"]
    for phase in fit.phases:
        assert sum(part.alive_bytes.value or 0 for part in phase.parts) == pytest.approx(
            phase.alive_bytes.value
        )


def test_the_peak_is_the_fullest_phase(weigh: Weigh) -> None:
    estimate = weigh()
    fit = memory_fit(estimate, card(80e9))
    assert fit.peak_phase == "optimizer"
    assert max(phase.alive_bytes.value or 0 for phase in fit.phases) == estimate.allocated.value


def test_a_card_fits_only_when_the_whole_interval_does(weigh: Weigh) -> None:
    estimate = weigh()
    context = estimate.needed - estimate.allocated.value
    assert memory_fit(estimate, card(estimate.device.high)).fits is True
    assert memory_fit(estimate, card(estimate.device.high - 1)).fits is None
    assert memory_fit(estimate, card(estimate.allocated.low + context)).fits is None
    assert memory_fit(estimate, card(estimate.allocated.low + context - 1)).fits is False
    assert memory_fit(estimate, card(None)).fits is None
