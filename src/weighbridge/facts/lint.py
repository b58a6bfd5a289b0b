"""Check the facts themselves: sources, physics, and stated rates against computed ones.

Works on loaded entries, so that a user's overlay can be checked too. Says what looks wrong; changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from typing import Final

from weighbridge.facts.records import DenseTeraflops, GpuFact
from weighbridge.units import GB, MIB

# Published 16-bit dense rate over multiprocessors x boost x operations per clock. Hopper sheets are computed
# below the boost clock (0.87 to 0.92); H800 SXM and A10G lie above 1, with clocks that sources disagree on.
RATE_RATIO: Final = (0.85, 1.12)
# What a driver prints over the sheet's figure in 10^9 bytes. ECC kept inside GDDR6 costs 1/16, and firmware
# some; a sheet that means 2^30 gives 1.0737.
REPORTED_RATIO: Final = (0.93, 1.075)
# Raw 10^9 bytes a second, one lane, one direction (PCI-SIG rates after 128b/130b or FLIT coding).
PCIE_LANE_GIGABYTES: Final = {3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
# What is physically sold: from a P4 to a rack module of the coming years.
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "memory_gigabytes": (4, 1024),
    "memory_bandwidth_gigabytes_per_second": (100, 25_000),
    "power_watts": (30, 3000),
    "boost_megahertz": (500, 3500),
    "multiprocessors": (4, 512),
    "launched": (2012, 2032),
    "width_slots": (1, 4),
    "devices_per_card": (1, 4),
    "mig_instances": (0, 16),
}
_FORMS: Final = frozenset({"PCIe", "SXM2", "SXM3", "SXM4", "SXM5", "SXM6", "OAM", "module", "superchip"})


@dataclass(frozen=True, slots=True)
class Doubt:
    """What looks wrong in which field of which entry."""

    id: str
    field: str
    reason: str


def lint_gpus(gpus: Collection[GpuFact], sources: Collection[str]) -> tuple[Doubt, ...]:
    """Every doubt about ``gpus``; ``sources`` are the short names that their file explains."""
    return tuple(
        Doubt(gpu.id, field, reason)
        for gpu in gpus
        for check in _CHECKS
        for field, reason in check(gpu, sources)
    )


def computed_teraflops(gpu: GpuFact) -> float | None:
    """16-bit tensor rate from multiprocessors, boost clock and operations per clock; None without them."""
    if not (gpu.multiprocessors and gpu.boost_megahertz and gpu.tensor_flops_per_clock):
        return None
    return gpu.multiprocessors * gpu.boost_megahertz * 1e6 * gpu.tensor_flops_per_clock / 1e12


def _check_sources(gpu: GpuFact, sources: Collection[str]) -> Iterator[tuple[str, str]]:
    if not gpu.sources:
        yield "sources", "a value without a source is not a fact"
    for name in gpu.sources:
        if name not in sources:
            yield "sources", f"{name!r} is not explained in the table of sources"
    if not gpu.read_on:
        yield "read_on", "no date"


def _check_bounds(gpu: GpuFact, _: Collection[str]) -> Iterator[tuple[str, str]]:
    for field, (low, high) in _BOUNDS.items():
        value = getattr(gpu, field)
        if value is not None and not low <= value <= high:
            yield field, f"{value} is outside {low} to {high}: a slip of unit?"
    for rate in fields(DenseTeraflops):
        value = getattr(gpu.dense_teraflops, rate.name)
        if value is not None and not 0.1 <= value <= 50_000:
            yield f"dense_teraflops.{rate.name}", f"{value} is outside 0.1 to 50,000 tera"
    if gpu.form not in _FORMS:
        yield "form", f"{gpu.form!r} is none of {sorted(_FORMS)}"


def _check_memory(gpu: GpuFact, _: Collection[str]) -> Iterator[tuple[str, str]]:
    if gpu.reported_memory_mebibytes is None:
        return
    sheet = gpu.memory_gigabytes / gpu.devices_per_card * GB
    ratio = gpu.reported_memory_mebibytes * MIB / sheet
    if not REPORTED_RATIO[0] <= ratio <= REPORTED_RATIO[1]:
        yield "reported_memory_mebibytes", f"{ratio:.3f} of the sheet's figure for one device"


def _check_rates(gpu: GpuFact, _: Collection[str]) -> Iterator[tuple[str, str]]:
    rates = gpu.dense_teraflops
    stated, computed = rates.fp16 or rates.bf16, computed_teraflops(gpu)
    if stated and computed and not RATE_RATIO[0] <= stated / computed <= RATE_RATIO[1]:
        yield "dense_teraflops.fp16", f"{stated} stated, {computed:.1f} from clocks: a sparse rate?"
    for slow, fast in (("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4")):
        low, high = getattr(rates, slow), getattr(rates, fast)
        if low and high and low > high:
            yield f"dense_teraflops.{slow}", f"{low} is faster than {fast} {high}"


def _check_link(gpu: GpuFact, _: Collection[str]) -> Iterator[tuple[str, str]]:
    link = gpu.link
    if link is None or link.both_directions_gigabytes_per_second is None:
        return
    half = link.both_directions_gigabytes_per_second / 2
    if link.per_direction_gigabytes_per_second != half:
        yield "link", f"one direction should be half of both, {half}"
    if gpu.pcie is not None and half < gpu.pcie.lanes * PCIE_LANE_GIGABYTES.get(gpu.pcie.generation, 0) / 2:
        yield "link", "slower than half the PCIe slot: a unit of bits?"


def _check_pcie(gpu: GpuFact, _: Collection[str]) -> Iterator[tuple[str, str]]:
    if gpu.pcie is None:
        return
    if gpu.pcie.generation not in PCIE_LANE_GIGABYTES:
        yield "pcie.generation", f"{gpu.pcie.generation} is unknown"
    if gpu.pcie.lanes not in (4, 8, 16):
        yield "pcie.lanes", f"{gpu.pcie.lanes} lanes"


def _check_unsure(gpu: GpuFact, _: Collection[str]) -> Iterator[tuple[str, str]]:
    known = {item.name for item in fields(GpuFact)}
    known |= {f"dense_teraflops.{item.name}" for item in fields(DenseTeraflops)}
    for field in gpu.unsure:
        if field != "*" and field not in known:
            yield "unsure", f"there is no field {field!r}"
    if gpu.confidence == "C" and not gpu.unsure:
        yield "unsure", "confidence C, and no field says why"


_CHECKS: Final[tuple[Callable[[GpuFact, Collection[str]], Iterator[tuple[str, str]]], ...]] = (
    _check_sources,
    _check_bounds,
    _check_memory,
    _check_rates,
    _check_link,
    _check_pcie,
    _check_unsure,
)
