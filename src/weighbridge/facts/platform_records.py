"""What platforms.yaml holds, field by field, with the units that the file uses.

Counts are per node; of a rack, ``rack_units`` and ``maximum_watts`` are those of the whole rack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weighbridge.facts.sourced import Sourced, Span
from weighbridge.schema.node import GpuTopology

PlatformKind = Literal[
    "dgx", "hgx_8", "hgx_4", "pcie_4", "pcie_8", "pcie_10", "oam_8", "ascend_8", "workstation", "rack"
]
Cooling = Literal["air", "liquid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyFact:
    """Power supplies. ``may_fail`` is how many the rule allows to fail."""

    count: Span | None = None
    watts: Span | None = None
    may_fail: Span | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorFact:
    """``models`` are those met in this platform; a quote names one of them."""

    sockets: Span
    models: tuple[str, ...] = ()
    cores_per_socket: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFact:
    """Modules as declared. A module sold as 64 GB holds 64 x 2^30 bytes.

    ``rated_megatransfers`` stands on the module, ``running_megatransfers`` is what the platform drives.
    """

    capacity_gibibytes: Span | None = None
    most_gibibytes: float | None = None
    modules: Span | None = None
    module_gibibytes: Span | None = None
    kind: str | None = None
    rated_megatransfers: int | None = None
    running_megatransfers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveFact:
    """Drives of one kind. ``gigabytes`` is one drive; ``total_gigabytes`` where only the sum is declared."""

    count: Span | None = None
    gigabytes: Span | None = None
    total_gigabytes: Span | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCardFact:
    model: str
    count: Span | None = None
    ports: int | None = None
    port_gigabits_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotFact:
    count: Span
    lanes: int | None = None
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFact(Sourced):
    """One server model or class of servers.

    ``maximum_watts`` is the nameplate input, not what training draws. ``gpu_models`` are ids of the GPU
    catalogue; ``gpu_text`` says it where they are a class of cards. ``nodes`` is above 1 for a rack.
    """

    kind: PlatformKind
    gpus: int
    maximum_watts: float
    cooling: Cooling
    vendor: str | None = None
    gpu_models: tuple[str, ...] = ()
    gpu_text: str | None = None
    gpu_topology: GpuTopology | None = None
    nodes: int = 1
    rack_units: int | None = None
    depth_millimetres: float | None = None
    weight_kilograms: float | None = None
    supplies: SupplyFact | None = None
    processor: ProcessorFact | None = None
    memory_slots: int | None = None
    memory: MemoryFact | None = None
    drives: tuple[DriveFact, ...] = ()
    network_cards: tuple[NetworkCardFact, ...] = ()
    slots: tuple[SlotFact, ...] = ()

    @property
    def heat_btu_per_hour(self) -> float:
        """All of the input becomes heat."""
        return self.maximum_watts * 3.412

    @property
    def airflow_cubic_feet_per_minute(self) -> float | None:
        """Air that carries the nameplate heat away at 20 C of rise; None for liquid cooling."""
        # 3.16 / 36 F: heat capacity and density of air at sea level.
        return self.maximum_watts * 3.16 / 36 if self.cooling == "air" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorFamilyFact(Sourced):
    """Lanes and memory channels of one socket. ``names`` are patterns of model names (``*`` and ``?``)."""

    names: tuple[str, ...]
    pcie_generation: Span
    pcie_lanes: Span
    memory_channels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionFact(Sourced):
    """A public declaration that contradicts itself: what it says, and how one sees it."""

    says: str
    seen_by: str
