"""One measured step scales the terms that bound it; other tasks on the same card and framework follow.

A step is split into compute (operators, recomputation, what pipeline ranks wait), host (launch and overhead),
communication and optimizer. The measured figure cannot say which of them was wrong, so the share of each in
the step decides how much of the difference it takes: log factors in proportion to share^2. Terms that the
measured step hardly had keep factor 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from weighbridge.schema.step_constants import StepSpread
from weighbridge.weigh.step.records import StepEstimate

GROUPS: Mapping[str, tuple[str, ...]] = {
    "compute": ("forward", "backward", "recompute"),
    "host": ("launch", "overhead"),
    "communication": ("communication",),
    "optimizer": ("optimizer",),
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """Factors on the groups of phases; ``bound_by`` is the group that took most of the difference."""

    factors: Mapping[str, float]
    bound_by: str
    measured_seconds: float
    predicted_seconds: float


def calibrate(estimate: StepEstimate, measured_seconds: float) -> Calibration:
    """Raises ValueError for a time that is not positive."""
    if measured_seconds <= 0:
        raise ValueError(f"a measured step takes time: {measured_seconds}")
    ratio = measured_seconds / estimate.seconds
    shares = _shares(estimate)
    total = sum(share * share * share for share in shares.values())
    # The first-order answer, then scaled until the parts add up to what was measured.
    factors = {name: exp(log(ratio) * share * share / total) for name, share in shares.items()}
    factors = _settle(shares, factors, ratio)
    return Calibration(
        factors, max(shares, key=lambda name: shares[name]), measured_seconds, estimate.seconds
    )


def apply(calibration: Calibration, estimate: StepEstimate, spread: StepSpread | None = None) -> StepEstimate:
    """The estimate with its phases scaled; the bubble follows the compute and communication it waits for."""
    phases: dict[str, float] = {}
    for name, members in GROUPS.items():
        for member in members:
            phases[member] = estimate.phases[member] * calibration.factors[name]
    busy = sum(estimate.phases[name] for name in phases if name not in ("optimizer", "overhead"))
    scaled = sum(phases[name] for name in phases if name not in ("optimizer", "overhead"))
    phases["bubble"] = estimate.phases["bubble"] * (scaled / busy if busy else 1.0)
    seconds = sum(phases.values())
    low, high = estimate.low / estimate.seconds, estimate.high / estimate.seconds
    if spread is not None:
        low, high = spread.low, spread.high
    return replace(
        estimate,
        seconds=seconds,
        low=seconds * low,
        high=seconds * high,
        tier="calibrated",
        phases={name: phases[name] for name in estimate.phases},
    )


def calibrate_many(pairs: Sequence[tuple[StepEstimate, float]]) -> Calibration:
    """The geometric mean of the factors of several measured steps."""
    if not pairs:
        raise ValueError("no measured step to calibrate from")
    found = [calibrate(estimate, measured) for estimate, measured in pairs]
    factors = {
        name: exp(sum(log(one.factors[name]) for one in found) / len(found)) for name in found[0].factors
    }
    return Calibration(factors, found[0].bound_by, found[0].measured_seconds, found[0].predicted_seconds)


def _shares(estimate: StepEstimate) -> dict[str, float]:
    counted = estimate.seconds - estimate.phases["bubble"]
    return {
        name: sum(estimate.phases[member] for member in members) / counted for name, members in GROUPS.items()
    }


def _settle(shares: Mapping[str, float], factors: dict[str, float], ratio: float) -> dict[str, float]:
    """A common stretch of the log factors so that the shares times factors sum to the ratio."""
    low, high = 0.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        summed = sum(shares[name] * factors[name] ** middle for name in shares)
        if (summed < ratio) == (ratio >= 1):
            low = middle
        else:
            high = middle
    return {name: factor**high for name, factor in factors.items()}
