"""Seconds of collective operations: by a measured curve where there is one, else latency plus wire time.

Wire bytes of a ring (Patarasuk and Yuan 2009): all-reduce 2(n-1)/n of the payload per device, all-gather and
reduce-scatter (n-1)/n of the whole, all-to-all (n-1)/n of what a device holds, point to point all of it.
Bus bandwidth is those bytes over time, so that it compares with one direction of a link.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import exp, log, log2
from typing import Literal

from weighbridge.schema.measured_curves import CollectiveCurve
from weighbridge.schema.step_constants import StepConstants
from weighbridge.schema.step_machine import StepMachine

Kind = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "p2p"]


def wire_share(kind: Kind, ranks: int) -> float:
    """Bytes that each device sends over the payload; the payload of a gather is the gathered whole."""
    if ranks <= 1:
        return 0.0
    if kind == "p2p":
        return 1.0
    return (2.0 if kind == "all_reduce" else 1.0) * (ranks - 1) / ranks


def collective_seconds(
    kind: Kind,
    payload: float,
    ranks: int,
    stride: int,
    machine: StepMachine,
    constants: StepConstants,
) -> float:
    """``payload`` in bytes; ``stride`` is how many devices lie between two neighbours of the group.

    A group whose members are further apart than the link's domain crosses the network. The rails of all its
    members in one domain carry a ring together, hence domain/stride of them.
    """
    if ranks <= 1 or payload <= 0:
        return 0.0
    latency, bandwidth = path(kind, ranks, stride, machine, constants)
    return latency + payload * wire_share(kind, ranks) / bandwidth


def path(
    kind: Kind, ranks: int, stride: int, machine: StepMachine, constants: StepConstants
) -> tuple[float, float]:
    """Latency in seconds and bus bandwidth in bytes per second of one group."""
    link = machine.link_bytes_per_second * constants.link_share[machine.link_kind]
    hop = constants.link_latency_seconds[machine.link_kind]
    if ranks * stride <= machine.domain:
        return hop * (1.0 + log2(ranks)), link
    inside = max(1, machine.domain // stride)
    rails = 1 if kind in ("p2p", "all_to_all") else min(inside, ranks)
    network = machine.network_bytes_per_second * rails * constants.network_share
    domains = max(2, ranks // inside)
    return constants.network_latency_seconds * (1.0 + log2(domains)) + hop, min(link, network)


def curve_seconds(curve: CollectiveCurve, payload: float) -> float:
    """Seconds by a measured curve of the same kind, group and topology."""
    if payload <= 0:
        return 0.0
    kind: Kind = curve.kind  # type: ignore[assignment]
    return payload * wire_share(kind, curve.ranks) / interpolate(curve.points, payload)


def interpolate(points: Sequence[tuple[float, float]], payload: float) -> float:
    """Bus bandwidth at ``payload`` from measured (payload, bus bandwidth), in logarithms of both.

    Between two points a cubic whose slopes are those of the neighbours, limited so that it never leaves the
    range of the two where the curve is monotone (Fritsch and Butland 1984). Beyond the curve the nearest end:
    constant time below the smallest payload, constant rate above the largest. Points need not be sorted; at
    least one.
    """
    ordered = sorted(dict(points).items())
    at = [log(size) for size, _ in ordered]
    value = [log(rate) for _, rate in ordered]
    asked = log(payload)
    if asked <= at[0]:
        return exp(value[0] + asked - at[0])
    if asked >= at[-1]:
        return exp(value[-1])
    above = bisect_left(at, asked)
    below = above - 1
    width = at[above] - at[below]
    part = (asked - at[below]) / width
    first, second = _slope(at, value, below) * width, _slope(at, value, above) * width
    return exp(
        (1 + 2 * part) * (1 - part) ** 2 * value[below]
        + part * (1 - part) ** 2 * first
        + part * part * (3 - 2 * part) * value[above]
        + part * part * (part - 1) * second
    )


def _slope(at: Sequence[float], value: Sequence[float], place: int) -> float:
    """Slope at one point: the weighted harmonic mean of its two sides, 0 where they differ in sign."""
    if place in (0, len(at) - 1):
        other = 1 if place == 0 else place - 1
        return (value[other] - value[place]) / (at[other] - at[place])
    left_width, right_width = at[place] - at[place - 1], at[place + 1] - at[place]
    left = (value[place] - value[place - 1]) / left_width
    right = (value[place + 1] - value[place]) / right_width
    if left * right <= 0:
        return 0.0
    weight = (left_width + 2 * right_width) / (3 * (left_width + right_width))
    return left * right / (weight * right + (1 - weight) * left)
