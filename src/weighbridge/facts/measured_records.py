"""What measured.yaml holds: rates that others reached, and limits that others test for.

A figure is only valid with its context (tool, message size, algorithm, dtype, number of GPUs). ``nominal_*``
is the sheet's figure it is held against; the plain field is what can be used of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weighbridge.facts.sourced import PracticeFact, Sourced, Span

Operation = Literal["all_reduce", "all_gather", "reduce_scatter"]
Algorithm = Literal["NVLS", "Ring", "default"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRate(Sourced):
    """Sustained matrix product of one GPU."""

    gpu: str
    dtype: str
    tool: str
    teraflops: float
    nominal_teraflops: float | None = None

    @property
    def share_of_nominal(self) -> float | None:
        return self.teraflops / self.nominal_teraflops if self.nominal_teraflops else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRate(Sourced):
    """Device memory of one GPU. The ``dcgm_*`` figures are what NVIDIA's diagnostic tests that board for.

    ``dcgm_dtype`` None: the source does not say whether its rate is fp32 or fp64.
    """

    gpu: str
    tool: str
    nominal_gigabytes_per_second: float
    gigabytes_per_second: float | None = None
    pci_id: str | None = None
    board_watts: float | None = None
    dcgm_lowest_gigabytes_per_second: float | None = None
    dcgm_gigaflops: float | None = None
    dcgm_dtype: str | None = None
    dcgm_power_watts: float | None = None

    @property
    def share_of_nominal(self) -> float | None:
        rate = self.gigabytes_per_second
        return rate / self.nominal_gigabytes_per_second if rate is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLinkRate(Sourced):
    """Pinned copies of 256 MB and more between host and GPU, one direction, one GPU at a time."""

    pcie_generation: int
    pcie_lanes: int
    nominal_gigabytes_per_second: float
    gigabytes_per_second: Span | None = None
    lowest_gigabytes_per_second: float | None = None
    family: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRate(Sourced):
    """Copies between two GPUs; ``directions`` 2 counts both ways together."""

    pair: str
    gigabytes_per_second: Span
    nominal_gigabytes_per_second: float | None = None
    directions: Literal[1, 2] = 1
    lowest_gigabytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRate(Sourced):
    """Bus bandwidth as nccl-tests define it; ``directions`` 2 where the source counts both ways."""

    machine: str
    gpus: int
    bus_gigabytes_per_second: Span
    gpu: str | None = None
    nodes: int = 1
    operation: Operation = "all_reduce"
    algorithm: Algorithm | None = None
    message_bytes: Span | None = None
    directions: Literal[1, 2] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveLimit(Sourced):
    """What an operator of clusters lets pass, in bus bandwidth."""

    machine: str
    one_node_gigabytes_per_second: float | None = None
    between_nodes_gigabytes_per_second: float | None = None
    gpu_direct_gigabits_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRate(Sourced):
    line_gigabits_per_second: float
    tool: str | None = None
    gigabits_per_second: Span | None = None
    lowest_gigabits_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveRate(Sourced):
    """Random reads are of 4 KiB."""

    drive: str
    test: str | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    sequential_gigabytes_per_second: Span | None = None
    random_reads_per_second: Span | None = None
    random_mebibytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStoreRate(Sourced):
    """What one client reads from a shared file system."""

    store: str
    line_gigabits_per_second: Span | None = None
    gigabytes_per_second: Span | None = None
    metadata_operations_per_second: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderDemand(Sourced):
    """What one emulated accelerator of DLIO asks of storage."""

    model: str
    accelerator: str
    compute_seconds: float
    batch: int
    sample_bytes: float

    @property
    def bytes_per_second(self) -> float:
        return self.batch * self.sample_bytes / self.compute_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemoryRate(Sourced):
    """STREAM triad of a whole node."""

    machine: str
    gigabytes_per_second: float
    one_module_missing_gigabytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerDraw(Sourced):
    """Alternating-current input of one node while training."""

    machine: str
    task: str
    mean_watts: float
    peak_watts: float
    nominal_watts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyLimit(Sourced):
    network: str
    most_microseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredFacts:
    """Every table of measured.yaml."""

    matrix_rates: tuple[MatrixRate, ...]
    memory_rates: tuple[MemoryRate, ...]
    host_link_rates: tuple[HostLinkRate, ...]
    peer_rates: tuple[PeerRate, ...]
    collective_rates: tuple[CollectiveRate, ...]
    collective_limits: tuple[CollectiveLimit, ...]
    network_rates: tuple[NetworkRate, ...]
    drive_rates: tuple[DriveRate, ...]
    shared_store_rates: tuple[SharedStoreRate, ...]
    loader_demands: tuple[LoaderDemand, ...]
    host_memory_rates: tuple[HostMemoryRate, ...]
    power_draws: tuple[PowerDraw, ...]
    latency_limits: tuple[LatencyLimit, ...]
    practices: tuple[PracticeFact, ...]
