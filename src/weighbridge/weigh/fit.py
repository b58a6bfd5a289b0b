"""Puts what memory and step time answered into one Fit. Computes nothing anew, loads nothing.

``estimate.weigh`` calls the kernels with the tables of ``facts`` and hands their answers in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.schema.diagnosis import Breakdown, Part
from weighbridge.schema.finding import Finding
from weighbridge.schema.fit import (
    Fit,
    Headroom,
    MemoryFit,
    MemoryPart,
    MemoryPhase,
    PartBytes,
    PhaseMemory,
    Provenance,
)
from weighbridge.schema.load import Resource
from weighbridge.schema.vision import Said, VisionMemory, VisionTime
from weighbridge.units import Quantity
from weighbridge.weigh.step.records import StepEstimate

# Phases of a step that wait for the machine in one way each; the rest is split by operator.
_WAITS: Final[dict[str, Resource]] = {
    "launch": "kernel_launch",
    "overhead": "kernel_launch",
    "communication": "gpu_link",
    "bubble": "gpu_link",
    "optimizer": "gpu_memory_rate",
}
_LANGUAGE_WAITS: Final[dict[str, Resource]] = {
    **_WAITS,
    "tensor": "tensor_rate",
    "memory": "gpu_memory_rate",
}
_TENSOR: Final = frozenset({"gemm", "attention", "head"})
_VISION_WAITS: Final[dict[str, Resource]] = {
    "matrix": "tensor_rate",
    "normalisation": "gpu_memory_rate",
    "elementwise": "gpu_memory_rate",
    "optimizer": "gpu_memory_rate",
    "launches": "kernel_launch",
    "host": "kernel_launch",
    "exposed gradients": "gpu_link",
}
_VISION_PARTS: Final[dict[str, MemoryPart]] = {
    "weights": "weights",
    "16-bit weights": "weights",
    "gradients": "gradients",
    "gradient buckets": "communication_buffers",
    "optimizer": "states",
    "activations": "activations",
    "losses and gradients of maps": "temporaries",
    "recomputed block": "activations",
}
_VISION_PHASES: Final[dict[str, MemoryPhase]] = {
    "forward": "forward",
    "backward": "backward",
    "step": "optimizer",
}


def language_fit(
    memory: MemoryFit | None,
    step: StepEstimate | None,
    provenance: Provenance,
    *,
    crosses_nodes: bool = False,
    guesses: Sequence[Finding] = (),
    missing: Sequence[Finding] = (),
) -> Fit:
    """``crosses_nodes``: the job is larger than what the fast link joins, so that it waits for the fabric."""
    return Fit(
        tier="analytic",
        memory=memory,
        step=None if step is None else step_breakdown(step),
        occupied=None,
        waits_for=None if step is None else language_wait(step, crosses_nodes=crosses_nodes),
        headroom=_headroom(memory),
        provenance=provenance,
        model_flops_share=None if step is None else _share_of(step, step.mfu),
        hardware_flops_share=None if step is None else _share_of(step, step.hfu),
        guesses=tuple(guesses),
        missing=tuple(missing),
    )


def vision_fit(
    memory: MemoryFit | None,
    step: VisionTime | None,
    provenance: Provenance,
    *,
    guesses: Sequence[Finding] = (),
    missing: Sequence[Finding] = (),
) -> Fit:
    return Fit(
        tier="analytic",
        memory=memory,
        step=None if step is None else breakdown(step.parts, step.seconds),
        occupied=None,
        waits_for=None if step is None else vision_wait(step),
        headroom=_headroom(memory),
        provenance=provenance,
        guesses=tuple(guesses),
        missing=tuple(missing),
    )


def step_breakdown(step: StepEstimate) -> Breakdown:
    return breakdown(step.phases, Said(step.seconds, step.low, step.high))


def breakdown(parts: Mapping[str, float], total: Said) -> Breakdown:
    """The identity of one step: what the formulae name adds up to the total, so nothing is unattributed."""
    named = [(name.replace(" ", "_"), seconds) for name, seconds in parts.items() if seconds > 0]
    return Breakdown(
        total=_seconds(total.value, total.low, total.high),
        parts=tuple(
            Part(name=name, seconds=_seconds(seconds), share=seconds / total.value)
            for name, seconds in (*named, ("unattributed", 0.0))
        ),
    )


def language_wait(step: StepEstimate, *, crosses_nodes: bool = False) -> Resource:
    """The resource that most of the step's seconds go to."""
    seconds: dict[str, float] = {}
    for name, value in step.phases.items():
        if name in _WAITS:
            seconds[name] = value
    seconds["tensor"] = sum(value for name, value in step.operators.items() if name in _TENSOR)
    seconds["memory"] = sum(value for name, value in step.operators.items() if name not in _TENSOR)
    waits = _largest(seconds, _LANGUAGE_WAITS)
    return "fabric" if waits == "gpu_link" and crosses_nodes else waits


def vision_wait(step: VisionTime) -> Resource:
    return _largest(step.parts, _VISION_WAITS)


def vision_memory_fit(answer: VisionMemory, card: Quantity) -> MemoryFit:
    """``card`` is the usable size in bytes; the same rule as ``weigh.memory.memory_fit``."""
    peak = _VISION_PHASES[answer.phase]
    phases = tuple(
        PhaseMemory(
            phase=_VISION_PHASES[name],
            alive_bytes=_bytes(alive),
            parts=_parts(answer.parts) if _VISION_PHASES[name] == peak else (),
        )
        for name, alive in answer.phases.items()
    )
    fits = None
    if card.value is not None:
        context = answer.device.value - answer.reserved.value
        if answer.device.high <= card.value:
            fits = True
        elif answer.allocated.low + context > card.value:
            fits = False
    return MemoryFit(
        phases=phases,
        peak_phase=peak,
        allocated_bytes=_bytes(answer.allocated.value, answer.allocated.low, answer.allocated.high),
        reserved_bytes=_bytes(answer.reserved.value, answer.reserved.low, answer.reserved.high),
        device_bytes=_bytes(answer.device.value, answer.device.low, answer.device.high),
        card_bytes=card,
        fits=fits,
    )


def _parts(parts: Mapping[str, float]) -> tuple[PartBytes, ...]:
    sizes: dict[MemoryPart, float] = {}
    for name, size in parts.items():
        part = _VISION_PARTS.get(name, "temporaries")
        sizes[part] = sizes.get(part, 0.0) + size
    return tuple(PartBytes(part=part, alive_bytes=_bytes(size)) for part, size in sizes.items() if size)


def _headroom(memory: MemoryFit | None) -> tuple[Headroom, ...]:
    if memory is None or memory.card_bytes.value is None or memory.device_bytes.value is None:
        return ()
    card, device = memory.card_bytes.value, memory.device_bytes
    free = Quantity(
        value=1 - (device.value or 0.0) / card,
        low=1 - (device.high or 0.0) / card,
        high=1 - (device.low or 0.0) / card,
        unit="share",
        origin="estimated",
    )
    return (Headroom(resource="gpu_memory", free_share=free),)


def _share_of(step: StepEstimate, share: float) -> Quantity:
    return Quantity(
        value=share,
        low=share * step.seconds / step.high,
        high=share * step.seconds / step.low,
        unit="share",
        origin="estimated",
    )


def _largest(seconds: Mapping[str, float], waits: Mapping[str, Resource]) -> Resource:
    by_resource: dict[Resource, float] = {}
    for name, value in seconds.items():
        resource = waits.get(name, "fixed")
        by_resource[resource] = by_resource.get(resource, 0.0) + value
    return max(by_resource, key=lambda resource: by_resource[resource])


def _bytes(value: float, low: float | None = None, high: float | None = None) -> Quantity:
    return Quantity(value=value, low=low, high=high, unit="bytes", origin="estimated")


def _seconds(value: float, low: float | None = None, high: float | None = None) -> Quantity:
    return Quantity(value=value, low=low, high=high, unit="seconds", origin="estimated")
