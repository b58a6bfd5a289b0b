"""A Run: one recorded or imported training run, without its long tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from weighbridge.schema.answerable import Answerable

# utc: real Unix time. local: the source printed local time without a zone, read as if it were UTC.
# none: the source prints no clock.
Clock = Literal["utc", "local", "none"]
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that a Run was read from; it is kept untouched under its hash when it is imported."""

    name: str
    reader: str
    bytes: int | None = None
    sha256: str | None = None
    lines: int | None = None
    kept: bool = False
    # Seconds added to this source's clock to bring it onto the Run's clock, when sources were joined.
    clock_offset_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in a source that could not be used; ``code`` is a sentence, ``count`` how many lines."""

    code: str
    source: int = 0
    line: int | None = None
    count: int = 1
    params: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Software of the run as far as the source says."""

    framework: str | None = None
    framework_version: str | None = None
    torch: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    driver: str | None = None
    python: str | None = None
    operating_system: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Hardware of the run as far as the source says; ``gpu_memory_bytes`` is what the source printed."""

    gpu_name: str | None = None
    gpus: int | None = None
    gpu_memory_bytes: int | None = None
    cpu_name: str | None = None
    cpu_cores: int | None = None
    host_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the task is spread over devices; None is unknown, never 1."""

    data_parallel: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    context_parallel: int | None = None
    expert_parallel: int | None = None
    zero_stage: int | None = None
    micro_batch: int | None = None
    accumulation: int | None = None
    checkpointing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What the run meant to do: totals as the source states them, and its batch."""

    epochs: float | None = None
    steps: int | None = None
    steps_per_epoch: int | None = None
    global_batch: int | None = None
    batch_per_device: int | None = None
    sequence_length: int | None = None
    workers: int | None = None
    model: str | None = None
    dataset: str | None = None
    parameters: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Identity, what is known of the task and its surroundings, and what the Run can answer.

    The long tables (steps, samples, events) lie beside it in the store. ``step_statistic`` says what one
    row's ``step_seconds`` is. ``stated_seconds`` is the wall time that the source itself states for the
    whole run (it may count the last resume only; ``details`` then says so). ``details`` keeps facts in the
    source's own words.
    """

    SCHEMA: ClassVar[str] = "weighbridge.run/1"

    id: str
    name: str | None = None
    sources: tuple[Source, ...] = ()
    clock: Clock = "none"
    step_statistic: Literal["mean", "median", "last"] = "mean"
    started_at_seconds: float | None = None
    ended_at_seconds: float | None = None
    stated_seconds: float | None = None
    environment: Environment = Environment()
    hardware: Hardware = Hardware()
    layout: Layout = Layout()
    planned: Planned = Planned()
    train_rows: int = 0
    evaluation_rows: int = 0
    sample_rows: int = 0
    event_rows: int = 0
    segments: int = 1
    duplicate_steps: int = 0
    answerable: tuple[Answerable, ...] = ()
    problems: tuple[Problem, ...] = ()
    details: dict[str, Scalar] = field(default_factory=dict)
    interrupted: bool = False
