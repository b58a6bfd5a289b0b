"""What the vision kernel is given and what it answers. Elements and MACs are per image, memory in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "conv",
    "group_conv",
    "depthwise_conv",
    "deformable_conv",
    "linear",
    "attention_matmul",
    "batch_norm",
    "layer_norm",
    "group_norm",
    "softmax",
    "activation",
    "elementwise",
    "pool",
    "reduce",
    "copy",
]
Precision = Literal["fp32", "tf32", "amp_fp16", "amp_bf16", "bf16"]
Optimizer = Literal["sgd", "adam", "adamw8bit", "adamw4bit", "none"]


@dataclass(frozen=True, slots=True)
class Operator:
    """``count`` like operators together. ``narrowest`` is the smaller channel count of one group.

    ``kept_bytes`` stay for the backward pass; ``inner_bytes`` are what recomputing a checkpointed block
    brings back,
    listed at the block's last operator. ``workspace_bytes`` are what the library's algorithm asks for
    beside its maps
    (per image, and once for transformed weights). ``searched_bytes``: the same for
    the largest algorithm that a search over all of them tries. ``backward`` False: frozen, or nothing below
    it wants a
    gradient.
    """

    kind: Kind
    count: int = 1
    macs: float = 0.0
    inputs: float = 0.0
    outputs: float = 0.0
    weights: float = 0.0
    narrowest: int = 0
    kept_bytes: float = 0.0
    inner_bytes: float = 0.0
    gradient_bytes: float = 0.0
    workspace_bytes: float = 0.0
    workspace_fixed_bytes: float = 0.0
    searched_bytes: float = 0.0
    searched_fixed_bytes: float = 0.0
    backward: bool = True
    recomputed: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """A network at one image size and precision. ``loss_bytes``: alive only while losses are computed, per
    image."""

    name: str
    parameters: float
    trainable: float
    operators: tuple[Operator, ...]
    tensors: int = 0
    loss_bytes: float = 0.0
    fixed_bytes: float = 0.0
    input_bytes: float = 0.0
    family: str | None = None
    unsure: tuple[str, ...] = ()

    @property
    def macs(self) -> float:
        return sum(operator.macs for operator in self.operators)

    @property
    def kept_bytes(self) -> float:
        return sum(operator.kept_bytes for operator in self.operators)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionRecipe:
    """How it is trained. None is unknown: the framework's documented default is taken and said so."""

    framework: str | None = None
    images: int | None = None
    precision: Precision | None = None
    optimizer: Optimizer | None = None
    data_parallel: int | None = None
    channels_last: bool | None = None
    compiled: bool | None = None
    fused_norms: bool | None = None
    sharded_states: bool | None = None


@dataclass(frozen=True, slots=True)
class VisionCard:
    """What the time model needs of a card; rates are dense operations and bytes a second."""

    family: str
    bytes_per_second: float
    fp32_flops: float
    tf32_flops: float | None = None
    half_flops: float | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class VisionConstants:
    """Loaded by facts from vision_constants.yaml, where every value has its meaning and source."""

    values: dict[str, float]
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def of(self, name: str, key: str | None) -> float:
        """``name.key``, or ``name.default`` where the key has no value of its own."""
        return self.values.get(f"{name}.{key}", self.values[f"{name}.default"])


@dataclass(frozen=True, slots=True)
class Said:
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class VisionMemory:
    """Bytes per device; ``parts`` of the peak phase, ``phases`` each phase's own peak of allocated bytes."""

    allocated: Said
    reserved: Said
    device: Said
    phase: str
    parts: dict[str, float]
    phases: dict[str, float]
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VisionTime:
    """Seconds per step; ``parts`` add up to the value."""

    seconds: Said
    parts: dict[str, float]
    images_per_second: float
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Fields that must be stated before there is an answer, or why the counter cannot be predicted."""

    fields: tuple[str, ...]
