"""Which column of a GPU sample table is which: nvidia-smi's own names, its older ones, and loggers' own.

Recognises names and units; reads no rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from weighbridge.units import GIB, KIB, MIB

# Names by field, the best first: a logger of the whole host has memory_used beside gpu_memory_used.
# Written as ``key_of`` leaves them.
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "time": (
        "timestamp",
        "datetime",
        "date_time",
        "time",
        "unix_time",
        "unixtime",
        "unix_timestamp",
        "timestamp_unix",
        "wall_time",
        "date",
        "ts",
    ),
    "index": (
        "index",
        "gpu_index",
        "gpu_id",
        "gpu_idx",
        "device_index",
        "device_id",
        "gpuid",
        "gpu",
        "device",
    ),
    "uuid": ("uuid", "gpu_uuid"),
    "bus": ("pci_bus_id", "gpu_bus_id", "bus_id"),
    "serial": ("serial", "gpu_serial"),
    "name": ("name", "gpu_name", "device_name", "product_name"),
    "host": ("hostname", "host", "node", "node_name"),
    "count": ("count",),
    "driver": ("driver_version",),
    "gpu_busy": (
        "utilization_gpu",
        "gpu_utilization",
        "gpu_util",
        "util_gpu",
        "gpu_usage",
        "gpu_load",
        "gpu_busy",
        "sm_util",
        "utilization",
        "util",
        "load",
    ),
    "memory_busy": ("utilization_memory",),
    "memory_used": (
        "gpu_memory_used",
        "gpu_mem_used",
        "memory_used_gpu",
        "used_gpu_memory",
        "vram_used",
        "fb_memory_used",
        "memory_used",
        "mem_used",
        "used_memory",
    ),
    "memory_total": (
        "gpu_memory_total",
        "gpu_mem_total",
        "vram_total",
        "fb_memory_total",
        "memory_total",
        "mem_total",
        "total_memory",
    ),
    "power": ("power_draw", "power_draw_average", "power_draw_instant", "gpu_power", "power_usage", "power"),
    "power_limit": ("enforced_power_limit", "power_limit", "gpu_power_limit"),
    "temperature": ("temperature_gpu", "gpu_temperature", "gpu_temp", "temperature", "temp"),
    "sm_clock": ("clocks_current_sm", "clocks_sm", "sm_clock", "clock_sm"),
    "memory_clock": ("clocks_current_memory", "clocks_mem", "clocks_memory", "mem_clock", "memory_clock"),
    "pcie_generation": ("pcie_link_gen_current", "pcie_link_gen_gpucurrent"),
    "pcie_generation_max": ("pcie_link_gen_max", "pcie_link_gen_gpumax"),
    "pcie_width": ("pcie_link_width_current",),
    "pcie_width_max": ("pcie_link_width_max",),
    # Renamed with driver 535; new drivers print the new name, a log of an older one holds the old.
    "throttle_reasons": ("clocks_event_reasons_active", "clocks_throttle_reasons_active"),
    "ecc_uncorrected": ("ecc_errors_uncorrected_volatile_total",),
}
# A table of GPU samples has at least one of these.
MEASURED: Final = ("gpu_busy", "memory_used", "power", "temperature", "sm_clock", "throttle_reasons")
PERCENT: Final = ("%", "percent", "percentage", "pct")
# Bytes of a unit of memory. nvidia-smi, NVML wrappers and GPUtil count in binary and some label it MB or GB.
MEMORY_UNITS: Final = {
    "b": 1,
    "bytes": 1,
    "kib": KIB,
    "kb": KIB,
    "mib": MIB,
    "mb": MIB,
    "gib": GIB,
    "gb": GIB,
    "g": GIB,
    "m": MIB,
}
_FIELD_OF: Final = {alias: field for field, aliases in ALIASES.items() for alias in aliases}
_UNIT_SUFFIX = re.compile(r"_(percent|percentage|pct|mib|mb|gib|gb|bytes|watts|watt|w|celsius|c|mhz|hz|s)$")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Header:
    """A header line: the names as printed, the place and the unit of each known field."""

    names: tuple[str, ...]
    delimiter: str
    places: dict[str, int]
    units: dict[str, str | None]

    @property
    def by_nvidia_smi(self) -> bool:
        """Whether the names are nvidia-smi's own, which have dots and print units in brackets."""
        return any("." in name and key_of(name)[0] in _FIELD_OF for name in self.names)

    @property
    def measures(self) -> bool:
        return any(field in self.places for field in MEASURED)


def key_of(name: str) -> tuple[str, str | None]:
    """Plain name and unit of a printed name: "Memory.Used [MiB]" -> ("memory_used", "mib")."""
    plain, bracket, rest = name.strip().strip("\"'").lower().partition("[")
    if not bracket:
        plain, bracket, rest = plain.partition("(")
    unit = rest.rstrip(" ])") or None
    if "%" in plain:
        unit = unit or "%"
    key = _NOT_IN_NAMES.sub("_", plain).strip("_")
    if key not in _FIELD_OF and (suffix := _UNIT_SUFFIX.search(key)):
        shorter = key[: suffix.start()]
        if shorter in _FIELD_OF:
            return shorter, unit or suffix[1]
    return key, unit


def read_header(line: str) -> Header | None:
    """The header in ``line``, or None when it names no GPU measurement."""
    best: Header | None = None
    for delimiter in (",", ";", "\t"):
        names = [name.strip().strip('"') for name in line.strip().split(delimiter)]
        while len(names) > 1 and not names[-1]:
            names.pop()
        header = _header(names, delimiter)
        if header is not None and (best is None or len(header.places) > len(best.places)):
            best = header
    return best


def _header(names: Sequence[str], delimiter: str) -> Header | None:
    keys = [key_of(name) for name in names]
    plain = [key for key, _ in keys]
    places: dict[str, int] = {}
    units: dict[str, str | None] = {}
    for field, aliases in ALIASES.items():
        for alias in aliases:
            if alias in plain:
                places[field] = plain.index(alias)
                units[field] = keys[places[field]][1]
                break
    if units.get("index") in PERCENT and "gpu_busy" not in places:
        # A column "gpu_percent" or "GPU (%)" is no index.
        places["gpu_busy"], units["gpu_busy"] = places.pop("index"), units.pop("index")
    header = Header(tuple(names), delimiter, places, units)
    return header if header.measures else None


def likeness(header: Header) -> float:
    """How sure a header is one of GPU samples, 0..1."""
    if header.by_nvidia_smi:
        return 0.95
    text = " ".join(header.names).lower()
    known = len(header.places) / len(header.names)
    gpu = "gpu" in text or "vram" in text or "power.draw" in text
    measured = sum(field in header.places for field in MEASURED)
    if gpu and known >= 0.5 and measured and len(header.places) >= 2:
        return 0.65
    return 0.3 if gpu and measured else 0.0
