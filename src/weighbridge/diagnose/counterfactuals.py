"""What each change would give, as bounds; free changes before bought ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from weighbridge.diagnose.signals import Signals
from weighbridge.diagnose.verdict import HINT_SHARE
from weighbridge.schema.diagnosis import Counterfactual
from weighbridge.units import Quantity
from weighbridge.weigh.bounds import (
    SpeedUp,
    loading_beside_compute,
    more_gpus_in_another_box,
    more_gpus_in_this_box,
    without,
)

TWICE = 2.0
# Waits at epoch starts are worth a line of their own from this part of all waiting on.
EPOCH_START_PART = 0.5


def counterfactuals(signals: Signals, *, on_gpu: bool) -> tuple[Counterfactual, ...]:
    """The table of remedies. GPU rows are left out for a run that did not use one."""
    rows = [*_data(signals), *_communication(signals), *_outside_steps(signals)]
    if on_gpu and signals.windows:
        rows += _more_gpus(signals)
    return tuple(rows)


def _times(bound: SpeedUp) -> Quantity:
    """A speed-up as a Quantity: an estimate with its interval, a value only when both ends agree."""
    high = bound.high if math.isfinite(bound.high) else None
    same = high is not None and math.isclose(bound.low, high)
    return Quantity(
        value=bound.low if same else None, unit="times", origin="estimated", low=bound.low, high=high
    )


def _data(signals: Signals) -> Iterator[Counterfactual]:
    wait = signals.wait
    if wait is None or wait.share < HINT_SHARE:
        return
    start = signals.epoch_start_share
    if start is not None and start >= EPOCH_START_PART:
        yield Counterfactual(
            code="counterfactual.persistent_workers",
            speed_up=_times(without(wait.share, start)),
            tier="bound",
            scope="step",
            costs_money=False,
        )
    workers = signals.run.planned.workers
    if wait.steady and not workers and (start is None or start < EPOCH_START_PART):
        yield Counterfactual(
            code="counterfactual.loading_beside_compute",
            speed_up=_times(loading_beside_compute(wait.share)),
            tier="bound",
            scope="step",
            condition="condition.loader_had_no_workers",
            costs_money=False,
        )
    # Where the log prints running means the true share lies between the corrected and the printed one.
    share = max(wait.share, signals.printed.share if signals.printed is not None else 0.0)
    yield Counterfactual(
        code="counterfactual.no_data_wait",
        speed_up=_times(without(share)),
        tier="bound",
        scope="step",
        condition="condition.every_batch_in_time",
        params={"production": Quantity(
            value=max(wait.step_seconds - wait.wait_seconds_per_step, 0.0), unit="seconds", origin="estimated"
        )},
    )  # fmt: skip


def _communication(signals: Signals) -> Iterator[Counterfactual]:
    share = signals.timed_communication_share
    if share is not None and share >= HINT_SHARE:
        yield Counterfactual(
            code="counterfactual.hidden_communication",
            speed_up=_times(without(share)),
            tier="bound",
            scope="timed_part" if signals.step is not None and signals.step.rest > 0 else "step",
            condition="condition.overlap_or_faster_network",
        )


def _outside_steps(signals: Signals) -> Iterator[Counterfactual]:
    if signals.occupied is None or not signals.occupied.additive:
        return
    evaluation = signals.occupied.share("evaluation")
    if evaluation is not None and evaluation >= HINT_SHARE:
        yield Counterfactual(
            code="counterfactual.half_the_evaluation",
            speed_up=_times(without(min(evaluation, 1.0), 0.5)),
            tier="bound",
            scope="occupied",
            costs_money=False,
        )
    checkpoints = signals.occupied.share("checkpoints")
    if checkpoints is not None and checkpoints >= HINT_SHARE / 2:
        yield Counterfactual(
            code="counterfactual.checkpoints_in_background",
            speed_up=_times(without(min(checkpoints, 1.0))),
            tier="bound",
            scope="occupied",
            costs_money=False,
        )


def _more_gpus(signals: Signals) -> Iterator[Counterfactual]:
    wait = signals.wait
    communication = (signals.step.share("communication") if signals.step is not None else None) or 0.0
    if wait is None and not communication:
        # From one to n times, whatever the log: no statement at all.
        return
    share = wait.share if wait is not None else None
    if share is not None and signals.printed is not None:
        # The smaller share leaves more to gain: the upper end must cover both readings.
        share = min(share, signals.printed.share)
    # Waits at epoch starts are workers being started, not a loader at its limit.
    starts = signals.epoch_start_share is not None and signals.epoch_start_share >= EPOCH_START_PART
    paces = wait is not None and wait.steady and not starts
    batch = Quantity(value=wait.step_seconds if wait is not None else None, unit="seconds", origin="imported")
    places: tuple[tuple[Literal["in_this_box", "in_a_second_box"], SpeedUp, str], ...] = (
        (
            "in_this_box",
            more_gpus_in_this_box(share, TWICE, loader_paces=paces, communication_share=communication),
            _condition_here(share, paces=paces),
        ),
        (
            "in_a_second_box",
            more_gpus_in_another_box(share, TWICE, loader_paces=paces, communication_share=communication),
            "condition.own_copy_of_data",
        ),
    )
    for brings, bound, condition in places:
        yield Counterfactual(
            code="counterfactual.twice_the_gpus",
            speed_up=_times(bound),
            tier="bound",
            scope="step",
            scaling="strong",
            brings=brings,
            condition=condition,
            params={"batch": batch},
            costs_money=True,
        )


def _condition_here(share: float | None, *, paces: bool) -> str:
    if share is None:
        return "condition.loader_unknown"
    return "condition.loader_paces" if paces else "condition.loader_capacity_unknown"
