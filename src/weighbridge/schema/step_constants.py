"""The constants of the step formulae, as one record that ``facts`` fills and ``weigh`` reads.

Each stands under the same name in ``facts/data/step_constants.yaml`` with unit, n, spread, source and date.
A table's keys are things a user states: architecture, dtype, kernel, framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Table = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpread:
    """90 % interval of a tier: the measured step time lies between ``low`` and ``high`` times the prediction."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepConstants:
    """Shares are of the sheet's dense rate or bandwidth; bytes are of device memory, read and written.

    gemm_share: best product in a benchmark, by architecture and dtype. sustained_share: rate held through a
    whole training step over that of a short benchmark, by architecture. ramp_depth: inner length that a tile
    loses before its pipeline runs full. attention_*_share: rate of the fused kernel over the dense rate, by
    architecture and kernel, causal half counted. score_bytes: bytes per score of an unfused attention, one
    forward pass. norm_bytes, activation_bytes, residual_bytes: per element of hidden, of the middle layer and
    of hidden again, forward, by how kernels are made. power_watts_per_teraflop: of the card of each
    architecture whose benchmark gemm_share is; a card with less power per rate holds (share)^power_exponent of
    it. contention_share: of hidden communication that comes back as slower compute. clock_headroom: how far a card with power to
    spare runs above the sheet. length_variation: standard deviation of sample lengths over their mean, where
    lengths vary. expert_slowness: time of
    grouped expert products over dense ones of their shape, imbalance included. logit_bytes: per logit, forward and backward.
    backward_bytes_ratio: bytes of backward over forward for such operators. host_layer_seconds: what the
    host needs to start one layer's forward pass. kernel_seconds: least time of one kernel on the device.
    """

    gemm_share: Mapping[str, Table]
    sustained_share: Table
    ramp_depth: Table
    memory_share: float
    power_watts_per_teraflop: Table
    power_exponent: float
    clock_headroom: float
    length_variation: float
    attention_forward_share: Mapping[str, Table]
    attention_backward_ratio: float
    score_bytes: float
    norm_bytes: Table
    activation_bytes: Table
    residual_bytes: Table
    logit_bytes: Table
    backward_bytes_ratio: float
    quantise_bytes: Table
    dequantise_bytes: Table
    adapter_bytes: float
    host_layer_seconds: Table
    host_adapter_share: float
    host_step_seconds: Table
    kernels_per_layer: Table
    kernel_seconds: float
    optimizer_bytes: Table
    head_share: Table
    selective_share: float
    link_share: Table
    link_latency_seconds: Table
    network_share: float
    network_latency_seconds: float
    overlap_share: Table
    tensor_overlap_share: Table
    expert_slowness: Table
    routing_bytes: float
    contention_share: Table
    spread: Mapping[str, StepSpread]
