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
    """90 % interval of a tier: measured over predicted step time lies between ``low`` and ``high``."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepConstants:
    """Shares are of the sheet's dense rate or bandwidth; bytes are of device memory, read and written.

    Products: ``gemm_share`` is the best product of a benchmark, by architecture and dtype,
    ``sustained_share`` the rate held through a training step over that, ``ramp_depth`` the inner length that
    a tile loses before its pipeline runs full, ``expert_slowness`` the time of grouped expert products over
    dense ones of their shape, imbalance included. ``power_watts_per_teraflop`` belongs to the card behind
    gemm_share: one with a share s of it holds s^power_exponent of the rate, one with more runs up to
    ``clock_headroom`` above the sheet.

    Attention: ``attention_forward_share`` by architecture and kernel, causal half counted; ``score_bytes``
    per score of an unfused attention, one forward pass.

    Memory-bound operators, forward, by how kernels are made: ``norm_bytes`` and ``residual_bytes`` per
    element of hidden, ``activation_bytes`` of the middle layer, ``logit_bytes`` per logit in both passes;
    ``backward_bytes_ratio`` is backward over forward. ``dequantise_bytes`` are per weight and pass.

    Host and device: ``host_layer_seconds`` to start one layer's forward pass, ``kernel_seconds`` the least
    time of one kernel. Communication: ``overlap_share`` of the compute beside it, ``contention_share`` of
    what is hidden that comes back as slower compute. ``length_variation``: deviation of lengths over mean.
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
    score_bytes: Table
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
