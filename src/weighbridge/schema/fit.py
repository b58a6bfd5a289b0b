"""A Fit: the answer of ``weigh`` for one Load on one Machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from weighbridge.schema.diagnosis import Breakdown, Tier
from weighbridge.schema.field_units import check_units
from weighbridge.schema.finding import Finding
from weighbridge.schema.load import Resource
from weighbridge.schema.prediction import Versions
from weighbridge.schema.run import Layout
from weighbridge.schema.share import Share
from weighbridge.units import Quantity

MemoryPhase = Literal["forward", "backward", "optimizer", "evaluation"]
MemoryPart = Literal[
    "weights",
    "gradients",
    "states",
    "temporaries",
    "activations",
    "logits",
    "communication_buffers",
    "context",
]
# What can run out: the resources of a term, and the sizes of memories.
Limit = Resource | Literal["gpu_memory", "host_memory", "store_capacity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBytes:
    """One part of memory that is alive in a phase, on the fullest device."""

    part: MemoryPart
    alive_bytes: Quantity

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMemory:
    """What is alive at the fullest moment of one phase."""

    phase: MemoryPhase
    alive_bytes: Quantity
    parts: tuple[PartBytes, ...]

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """The peak is the fullest phase, not the sum of parts. Three counters, never mixed.

    ``allocated``: the framework's tensors; ``reserved``: its caching allocator; ``device``: as nvidia-smi
    prints it. ``fits`` is None when the interval reaches over the card.
    """

    phases: tuple[PhaseMemory, ...]
    peak_phase: MemoryPhase
    allocated_bytes: Quantity
    reserved_bytes: Quantity
    device_bytes: Quantity
    card_bytes: Quantity
    fits: bool | None

    def __post_init__(self) -> None:
        check_units(self)
        if self.peak_phase not in [phase.phase for phase in self.phases]:
            raise ValueError(f"the peak is in {self.peak_phase}, which is not among the phases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """Share of one resource that is left while the task runs; below zero when it is short."""

    resource: Limit
    free_share: Quantity

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What exactly was weighed, and with which versions of model, facts and calibration."""

    load_hash: str
    machine_hash: str
    layout: Layout
    share: Share
    versions: Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Memory and time, with intervals. None is what the Load could not answer; ``missing`` says why.

    ``step`` is the identity of one optimizer step, ``occupied`` that of a whole run. ``guesses`` lists every
    figure that rests on one. Model and hardware FLOPS utilisation are shares of the dense peak in the Load's
    main dtype, the second with recomputation counted.
    """

    SCHEMA: ClassVar[str] = "weighbridge.fit/1"

    tier: Tier
    memory: MemoryFit | None
    step: Breakdown | None
    occupied: Breakdown | None
    waits_for: Resource | None
    headroom: tuple[Headroom, ...]
    provenance: Provenance
    model_flops_share: Quantity | None = None
    hardware_flops_share: Quantity | None = None
    guesses: tuple[Finding, ...] = ()
    missing: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        check_units(self)
