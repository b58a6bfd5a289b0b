"""Calibration on one measured step: it reproduces that step and scales what bounded it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.schema.step_constants import StepSpread
from weighbridge.weigh.calibrate import apply, calibrate, calibrate_many
from weighbridge.weigh.step.records import StepEstimate


def _estimate(compute: float, host: float = 0.0, wire: float = 0.0, bubble: float = 0.0) -> StepEstimate:
    phases = {
        "forward": compute / 3,
        "backward": compute * 2 / 3,
        "recompute": 0.0,
        "launch": host,
        "communication": wire,
        "bubble": bubble,
        "optimizer": 0.0,
        "overhead": 0.0,
    }
    seconds = sum(phases.values())
    return StepEstimate(
        seconds=seconds,
        low=0.8 * seconds,
        high=1.25 * seconds,
        tier="stated",
        phases=phases,
        operators={},
        hidden_communication=0.0,
        tokens_per_step=1000.0,
        devices=1,
        model_flops=1e12,
        hardware_flops=1e12,
        rate=1e12,
        dtype="bf16",
    )


@given(st.floats(0.01, 10), st.floats(0, 10), st.floats(0, 10), st.floats(0.3, 3))
def test_the_measured_step_is_reproduced(compute: float, host: float, wire: float, ratio: float) -> None:
    estimate = _estimate(compute, host, wire)
    done = apply(calibrate(estimate, estimate.seconds * ratio), estimate)
    assert done.seconds == pytest.approx(estimate.seconds * ratio, rel=1e-3)


def test_compute_takes_the_difference_of_a_compute_bound_step() -> None:
    found = calibrate(_estimate(compute=9.0, wire=1.0), 12.0)
    assert found.bound_by == "compute"
    assert found.factors["compute"] == pytest.approx(1.22, abs=0.01)
    assert found.factors["communication"] < 1.01


def test_a_task_bound_by_something_else_is_left_alone() -> None:
    found = calibrate(_estimate(compute=9.0, wire=0.1), 18.0)
    wired = _estimate(compute=0.1, wire=9.0)
    assert apply(found, wired).seconds == pytest.approx(wired.seconds, rel=0.05)


def test_the_bubble_follows_the_work_it_waits_for() -> None:
    estimate = _estimate(compute=8.0, bubble=2.0)
    done = apply(calibrate(estimate, 20.0), estimate)
    assert done.phases["bubble"] == pytest.approx(4.0, rel=0.01)


def test_the_interval_of_the_tier_replaces_the_old_one() -> None:
    estimate = _estimate(compute=1.0)
    done = apply(calibrate(estimate, 2.0), estimate, StepSpread(low=0.9, high=1.1))
    assert [done.low, done.high] == pytest.approx([1.8, 2.2])
    assert done.tier == "calibrated"


def test_several_steps_give_the_geometric_mean() -> None:
    estimate = _estimate(compute=1.0)
    found = calibrate_many([(estimate, 2.0), (estimate, 0.5)])
    assert found.factors["compute"] == pytest.approx(1.0)


def test_a_step_without_time_is_refused() -> None:
    with pytest.raises(ValueError, match="takes time"):
        calibrate(_estimate(compute=1.0), 0.0)
