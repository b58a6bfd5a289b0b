"""A Load: what a task demands, before any machine and any layout.

Counts that a description fixes (parameters, layers, element sizes) are plain numbers; what may be estimated
or measured is a Quantity. Memory per device and collective bytes follow from Load x Layout and are not here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from weighbridge.schema.field_units import check_units
from weighbridge.units import Curve, Quantity

# What a term can be bound by, and what it is scaled by when only its seconds are known. "fixed": by nothing
# that a machine has more or less of (a sleep, a licence server, a person).
Resource = Literal[
    "tensor_rate",
    "gpu_memory_rate",
    "kernel_launch",
    "host_to_device",
    "gpu_link",
    "fabric",
    "cpu",
    "store_read_rate",
    "store_opens",
    "store_write_rate",
    "fixed",
]
TermKind = Literal[
    "operator",  # arithmetic of one operator class: flops
    "traffic",  # GPU memory traffic of one operator class: bytes
    "launches",  # kernels launched: count
    "host_to_device",  # bytes copied to the GPU
    "communication",  # exposed communication, as a Run observed it
    "optimizer",
    "read",  # bytes read from a store
    "open",  # files opened: count
    "decode",  # CPU seconds of decoding and augmentation
    "compute",  # forward and backward together, as a Run observed them
    "checkpoint",  # bytes written
    "evaluation",
    "start_up",
    "gaps",
    "occupied",  # the whole job, where a scheduler knows no more
]
# What one demand stands for. "step" is one optimizer step over all ranks.
Per = Literal["sample", "step", "checkpoint", "evaluation", "run"]
OperatorClass = Literal[
    "matmul",
    "convolution",
    "attention",
    "elementwise",
    "normalisation",
    "embedding",
    "recurrence",
    "loss",
    "update",
]
Dtype = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8"]
Pass = Literal["forward", "backward", "optimizer"]
ParameterKind = Literal["dense", "expert", "embedding", "head", "adapter", "buffer"]
SplitBy = Literal["tensor", "sequence", "context", "expert"]

_DEMAND_UNITS: Final[dict[str, frozenset[str]]] = {
    "operator": frozenset({"flops"}),
    "traffic": frozenset({"bytes"}),
    "launches": frozenset({"count"}),
    "host_to_device": frozenset({"bytes"}),
    "read": frozenset({"bytes"}),
    "open": frozenset({"count"}),
    "decode": frozenset({"seconds"}),
    "checkpoint": frozenset({"bytes"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One demand: in SI (``demand``), or as seconds on a named reference Machine (``observed``), or both.

    With ``demand`` a term moves to another machine; with ``observed`` alone it is scaled by the ratio of what
    ``bound_by`` names. ``times`` is how often it occurs in one ``per``, ``shape`` the (rows, inner, columns)
    of one matrix product of one sample.
    """

    kind: TermKind
    per: Per
    demand: Quantity | None = None
    observed: Quantity | None = None
    reference: str | None = None
    bound_by: Resource | None = None
    operator: OperatorClass | None = None
    dtype: Dtype | None = None
    during: Pass | None = None
    shape: tuple[int, ...] = ()
    times: int = 1

    def __post_init__(self) -> None:
        if self.demand is None and self.observed is None:
            raise ValueError(f"a {self.kind} term that states neither demand nor seconds: leave it out")
        units = _DEMAND_UNITS.get(self.kind)
        if self.demand is not None and units is not None and self.demand.unit not in units:
            raise ValueError(
                f"the demand of a {self.kind} term is in {self.demand.unit}, not in {min(units)}"
            )
        if self.observed is not None:
            if self.observed.unit != "seconds":
                raise ValueError(f"a {self.kind} term was observed in {self.observed.unit}, not in seconds")
            if self.reference is None:
                raise ValueError(f"the seconds of a {self.kind} term name no reference machine")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterGroup:
    """Parameters that are stored, trained and split alike. Sizes are bytes per parameter.

    ``layers`` is over how many pipeline layers they are spread evenly; 0 for those outside of layers.
    ``gradient_bytes``, ``master_bytes`` and ``state_bytes`` are 0 where there are none, None where unknown.
    """

    kind: ParameterKind
    parameters: int
    trainable: bool = True
    layers: int = 0
    dtype: str | None = None
    stored_bytes: float | None = None
    gradient_bytes: float | None = None
    master_bytes: float | None = None
    state_bytes: float | None = None

    def __post_init__(self) -> None:
        if self.parameters < 0 or self.layers < 0:
            raise ValueError(f"{self.parameters} parameters in {self.layers} layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """``temporary_bytes`` per trained parameter live only inside the optimizer step (foreach: a copy)."""

    name: str
    implementation: Literal["fused", "foreach", "for_loop", "paged"] | None = None
    temporary_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationBlock:
    """Activations of ``layers`` layers that are alike, in bytes per sample and layer on an unsplit model.

    ``input_bytes`` is what full checkpointing keeps, ``selective_bytes`` what selective checkpointing keeps,
    ``saved_bytes`` what is kept without; ``working_bytes`` is alive only while one layer is computed.
    """

    name: str
    layers: int = 1
    input_bytes: Quantity | None = None
    selective_bytes: Quantity | None = None
    saved_bytes: Quantity | None = None
    working_bytes: Quantity | None = None
    split_by: tuple[SplitBy, ...] = ()

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """What is read in one epoch. ``file_sizes``: share of the files (0..1) that are at most so many bytes."""

    name: str | None = field(default=None, metadata={"identity": False})
    total_bytes: Quantity | None = None
    files: Quantity | None = None
    samples: Quantity | None = None
    file_sizes: Curve | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """``samples_per_step`` is the global batch. ``input_shape`` is that of one sample without channels.

    ``made_from`` says what it rests on: a description and a trace give demand, a Run gives seconds and demand
    where it was recorded, a scheduler's job gives occupied time only (it can be queued but not moved).
    """

    SCHEMA: ClassVar[str] = "weighbridge.load/1"

    name: str = field(metadata={"identity": False})
    made_from: Literal["description", "trace", "run", "job"]
    samples_per_step: Quantity | None = None
    tokens_per_sample: Quantity | None = None
    input_shape: tuple[int, ...] = ()
    steps_per_run: Quantity | None = None
    evaluations_per_run: Quantity | None = None
    checkpoints_per_run: Quantity | None = None
    checkpoint_blocks: bool | None = None
    terms: tuple[Term, ...] = ()
    parameters: tuple[ParameterGroup, ...] = ()
    optimizer: Optimizer | None = None
    activations: tuple[ActivationBlock, ...] = ()
    data_set: DataSet | None = None
    sources: tuple[str, ...] = field(default=(), metadata={"identity": False})

    def __post_init__(self) -> None:
        check_units(self)
