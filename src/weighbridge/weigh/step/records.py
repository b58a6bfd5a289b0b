"""What the step part of the kernel answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weighbridge.weigh.memory.records import Missing

__all__ = ["Missing", "PassTime", "StepEstimate"]


@dataclass(frozen=True, slots=True)
class PassTime:
    """Seconds of one device for one micro-batch by operator class, and the host's seconds to start it."""

    gemm: float
    attention: float
    memory: float
    head: float
    dequantise: float
    kernels: float
    host: float

    @property
    def device(self) -> float:
        return self.gemm + self.attention + self.memory + self.head + self.dequantise + self.kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEstimate:
    """One optimizer step. ``phases`` sum to ``seconds``; ``low`` and ``high`` bound its 90 % interval.

    ``phases``: forward, backward, recompute (device work of the operators), launch (the device waits for the
    host), communication (what no compute hides), bubble (pipeline ranks without work), optimizer, overhead.
    ``operators`` splits forward, backward and recompute by class.

    MFU counts the FLOPs that the mathematics of the step needs (no recomputation, no weight gradients of
    frozen weights, half of a causal attention) over the dense rate of ``dtype``; HFU counts recomputed FLOPs
    as well. ``hidden_communication`` is in no phase.
    """

    seconds: float
    low: float
    high: float
    tier: str
    phases: Mapping[str, float]
    operators: Mapping[str, float]
    hidden_communication: float
    tokens_per_step: float
    devices: int
    model_flops: float
    hardware_flops: float
    rate: float
    dtype: str
    assumed: tuple[str, ...] = ()

    @property
    def tokens_per_second_per_device(self) -> float:
        return self.tokens_per_step / self.seconds / self.devices

    @property
    def mfu(self) -> float:
        return self.model_flops / (self.seconds * self.rate * self.devices)

    @property
    def hfu(self) -> float:
        return self.hardware_flops / (self.seconds * self.rate * self.devices)
