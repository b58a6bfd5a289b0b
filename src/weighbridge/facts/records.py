"""What a fact file holds, field by field, with the units that the files use.

The kernel never sees these: ``facts.gpu_from_fact`` turns a GpuFact into a ``schema.Gpu`` in SI units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Confidence = Literal["A", "B", "C"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseTeraflops:
    """10^12 operations a second on dense operands; None is unsupported or unknown. int8 counts operations."""

    fp64: float | None = None
    fp32: float | None = None
    tf32: float | None = None
    bf16: float | None = None
    fp16: float | None = None
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFact:
    """The GPU-to-GPU link of one GPU. Vendors quote both directions together; busbw compares with one."""

    kind: str
    both_directions_gigabytes_per_second: float | None = None
    per_direction_gigabytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieFact:
    generation: int
    lanes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFact:
    """One card as its vendor states it.

    ``memory_gigabytes`` is the sheet's figure for the whole card; ``reported_memory_mebibytes`` is what the
    driver prints for one device, and ``devices_per_card`` says how many devices a card shows. ``unsure``
    maps a field (``*`` for all) to the reason why its value must not become an acceptance limit.
    ``aliases`` are other names the drivers print. ``tensor_flops_per_clock`` is per multiprocessor, 16-bit
    inputs with fp32 accumulation.
    """

    id: str
    vendor: str
    architecture: str
    memory_type: str
    memory_gigabytes: float
    form: str
    sources: tuple[str, ...]
    confidence: Confidence
    read_on: str
    compute_capability: str | None = None
    launched: int | None = None
    width_slots: int | None = None
    reported_memory_mebibytes: int | None = None
    devices_per_card: int = 1
    memory_bandwidth_gigabytes_per_second: float | None = None
    dense_teraflops: DenseTeraflops = DenseTeraflops()
    link: LinkFact | None = None
    pcie: PcieFact | None = None
    power_watts: float | None = None
    multiprocessors: int | None = None
    boost_megahertz: float | None = None
    tensor_flops_per_clock: int | None = None
    ecc: bool | None = None
    mig_instances: int | None = None
    aliases: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    techpowerup_id: str | None = None
    unsure: dict[str, str] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWrong:
    """An error of a source, kept so that nobody corrects an entry back to it."""

    source: str
    record: str
    gpu: str
    says: str
