"""One Node and its parts. Counts are per node; every figure that two Machines are compared by is a Quantity.

Text fields (model, vendor, form) name a part; they are not measured and have no line of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weighbridge.schema.field_units import check_units
from weighbridge.units import Quantity

DiskRole = Literal["system", "hot", "archive", "scratch"]
NicRole = Literal["compute", "storage", "management"]
# How the GPUs of one node reach each other.
GpuTopology = Literal["switch", "full_mesh", "pairs", "pcie_switch", "pcie_root"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseRates:
    """Peak rates on dense operands of one GPU, 16-bit and below with fp32 accumulation."""

    fp64_flops_per_second: Quantity | None = None
    fp32_flops_per_second: Quantity | None = None
    tf32_flops_per_second: Quantity | None = None
    bf16_flops_per_second: Quantity | None = None
    fp16_flops_per_second: Quantity | None = None
    fp8_flops_per_second: Quantity | None = None
    fp4_flops_per_second: Quantity | None = None
    int8_operations_per_second: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """GPUs of one model.

    ``memory_bytes`` is the sheet's figure, ``usable_memory_bytes`` what the driver reports. A card that shows
    as two devices is two here. ``link_bytes_per_second`` is one direction of one GPU.
    """

    model: str | None = None
    vendor: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    form: str | None = None
    memory_type: str | None = None
    link_kind: str | None = None
    count: Quantity | None = None
    memory_bytes: Quantity | None = None
    usable_memory_bytes: Quantity | None = None
    memory_bandwidth_bytes_per_second: Quantity | None = None
    dense: DenseRates = DenseRates()
    link_bytes_per_second: Quantity | None = None
    pcie_generation: Quantity | None = None
    pcie_lanes: Quantity | None = None
    multiprocessors: Quantity | None = None
    boost_hertz: Quantity | None = None
    power_watts: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The CPUs of a node; cores and threads are those of all sockets, channels and lanes those of one."""

    model: str | None = None
    vendor: str | None = None
    sockets: Quantity | None = None
    cores: Quantity | None = None
    threads: Quantity | None = None
    base_hertz: Quantity | None = None
    memory_channels: Quantity | None = None
    pcie_generation: Quantity | None = None
    pcie_lanes: Quantity | None = None
    numa_nodes: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """Memory of a node. ``transfers_per_second`` is the rate the modules run at, not that on their label."""

    kind: str | None = None
    capacity_bytes: Quantity | None = None
    usable_bytes: Quantity | None = None
    modules: Quantity | None = None
    module_bytes: Quantity | None = None
    transfers_per_second: Quantity | None = None
    channels_populated: Quantity | None = None
    free_slots: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Disks of one model, figures per disk, random at 4 KiB; ``usable_bytes`` is after RAID and format."""

    role: DiskRole | None = None
    model: str | None = None
    media: str | None = None
    count: Quantity | None = None
    capacity_bytes: Quantity | None = None
    usable_bytes: Quantity | None = None
    read_bytes_per_second: Quantity | None = None
    write_bytes_per_second: Quantity | None = None
    random_reads_per_second: Quantity | None = None
    random_writes_per_second: Quantity | None = None
    endurance_bytes: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """Network cards of one model; the rate is that of one port in one direction."""

    role: NicRole | None = None
    model: str | None = None
    protocol: str | None = None
    count: Quantity | None = None
    ports: Quantity | None = None
    port_bytes_per_second: Quantity | None = None
    pcie_generation: Quantity | None = None
    pcie_lanes: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Expansion slots of one kind, and how many of them are free for later."""

    kind: str | None = None
    count: Quantity | None = None
    free: Quantity | None = None
    pcie_generation: Quantity | None = None
    pcie_lanes: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chassis:
    """The box as it stands in a rack."""

    model: str | None = None
    cooling: Literal["air", "liquid"] | None = None
    rack_units: Quantity | None = None
    depth_metres: Quantity | None = None
    weight_kilograms: Quantity | None = None
    noise_decibels: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Draw and supplies. ``maximum_watts`` is the nameplate, ``training_watts`` what a training load draws.

    ``supplies_that_may_fail`` is how many may be pulled at full load without a throttle.
    """

    inlet: Literal["C13", "C19", "busbar"] | None = None
    maximum_watts: Quantity | None = None
    training_watts: Quantity | None = None
    supplies: Quantity | None = None
    supply_watts: Quantity | None = None
    supplies_that_may_fail: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What one node is made of; a part that is None is not stated, an empty tuple likewise."""

    gpus: tuple[Gpu, ...] = ()
    gpu_topology: GpuTopology | None = None
    cpu: Cpu | None = None
    memory: HostMemory | None = None
    disks: tuple[Disk, ...] = ()
    nics: tuple[Nic, ...] = ()
    slots: tuple[Slot, ...] = ()
    chassis: Chassis | None = None
    power: Power | None = None
