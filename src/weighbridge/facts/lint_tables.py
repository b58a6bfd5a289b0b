"""Check the platforms and the measured rates: sources, physics, and what is usable against what is nominal.

A figure that its entry marks unsure is let through: the mark is the answer. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields
from typing import Final

from weighbridge.facts.lint import PCIE_LANE_GIGABYTES, Doubt
from weighbridge.facts.measured_records import CollectiveRate, DriveRate, MeasuredFacts, PowerDraw
from weighbridge.facts.platform_records import PlatformFact, ProcessorFamilyFact
from weighbridge.facts.platforms import processor_family
from weighbridge.facts.records import GpuFact
from weighbridge.facts.sourced import Sourced, Span, is_unsure
from weighbridge.units import MIB

Doubts = Iterator[tuple[str, str]]

# Sheets and tools round: 313.2 measured of 313 is no miracle.
ROUNDING: Final = 1.005
# A node's GPUs are most of its nameplate, and never all of it.
GPU_POWER_SHARE: Final = (0.3, 0.95)
# Of the nameplate, what the supplies left over must carry: a training load with a tenth kept free.
TRAINING_SHARE: Final = 0.72
SUPPLY_USE: Final = 0.9
# Two GPUs behind one uplink of a switch is common, more is not sold for training.
LANES_PER_UPLINK: Final = 2
MOST_WATTS_PER_RACK_UNIT: Final = 4200
_RACK_UNITS: Final = {"rack": (40, 52)}
_FIELDS: Final[dict[str, tuple[float, float]]] = {
    "maximum_watts": (500, 200_000),
    "memory_slots": (4, 64),
    "depth_millimetres": (400, 1300),
    "weight_kilograms": (10, 1600),
    "gpus": (1, 16),
    "nodes": (1, 36),
}


def lint_platforms(
    platforms: Collection[PlatformFact],
    gpus: Collection[GpuFact],
    families: Collection[ProcessorFamilyFact],
    sources: Collection[str],
) -> tuple[Doubt, ...]:
    """Every doubt about ``platforms``; ``sources`` are the short names that their file explains."""
    cards = {gpu.id: gpu for gpu in gpus}
    return tuple(
        Doubt(platform.id, field, reason)
        for platform in platforms
        for check in (
            check_sourced(platform, sources),
            _bounds(platform),
            _gpu_power(platform, cards),
            _supplies(platform),
            _processor(platform, families),
            _memory(platform),
        )
        for field, reason in check
    )


def lint_measured(
    measured: MeasuredFacts, gpus: Collection[GpuFact], sources: Collection[str]
) -> tuple[Doubt, ...]:
    """Every doubt about the measured rates; a rate above the sheet's is one unless it is marked."""
    cards = {gpu.id: gpu for gpu in gpus}
    return tuple(
        Doubt(entry.id, field, reason)
        for table in fields(measured)
        for entry in getattr(measured, table.name)
        for check in (
            check_sourced(entry, sources),
            _positive(entry),
            _known_gpu(entry, cards),
            _nominal(entry),
            _against_card(entry, cards),
            _physics(entry, cards),
        )
        for field, reason in check
    )


def check_sourced(entry: Sourced, sources: Collection[str]) -> Doubts:
    if not entry.sources:
        yield "sources", "a value without a source is not a fact"
    for name in entry.sources:
        if name not in sources:
            yield "sources", f"{name!r} is not explained in the table of sources"
    if not entry.read_on:
        yield "read_on", "no date"
    known = {item.name for item in fields(entry)}
    for name in entry.unsure:
        if name != "*" and name not in known:
            yield "unsure", f"there is no field {name!r}"
    if entry.confidence == "C" and not entry.unsure:
        yield "unsure", "confidence C, and no field says why"


def _bounds(platform: PlatformFact) -> Doubts:
    for field, (low, high) in _FIELDS.items():
        value = getattr(platform, field)
        if value is not None and not low <= value <= high:
            yield field, f"{value} is outside {low} to {high}: a slip of unit?"
    if platform.rack_units is None:
        return
    low, high = _RACK_UNITS.get(platform.kind, (1, 14))
    if not low <= platform.rack_units <= high:
        yield "rack_units", f"{platform.rack_units} is outside {low} to {high}"
    elif platform.maximum_watts / platform.rack_units > MOST_WATTS_PER_RACK_UNIT:
        yield "rack_units", f"{platform.maximum_watts / platform.rack_units:.0f} W in each unit"


def _gpu_power(platform: PlatformFact, cards: dict[str, GpuFact]) -> Doubts:
    for model in platform.gpu_models:
        card = cards.get(model)
        if card is None:
            yield "gpu_models", f"{model!r} is not in the catalogue"
        elif card.power_watts is not None:
            share = platform.gpus * platform.nodes * card.power_watts / platform.maximum_watts
            if not GPU_POWER_SHARE[0] <= share <= GPU_POWER_SHARE[1]:
                yield "maximum_watts", f"{model} alone would draw {share:.2f} of it"


def _supplies(platform: PlatformFact) -> Doubts:
    supplies = platform.supplies
    if supplies is None or supplies.count is None:
        return
    most = supplies.count.high
    if supplies.may_fail is not None and supplies.may_fail.high >= most:
        yield "supplies", f"{supplies.may_fail.high:.0f} of {most:.0f} may fail"
    if supplies.watts is None:
        return
    if most * supplies.watts.high < platform.maximum_watts:
        yield "supplies", "together weaker than the nameplate"
    # Where sources differ the rule must hold in the most favourable reading.
    left = most - (supplies.may_fail.low if supplies.may_fail else 0)
    if left * supplies.watts.high * SUPPLY_USE < platform.maximum_watts * TRAINING_SHARE:
        yield "supplies", "those left over do not carry a training load"


def _processor(platform: PlatformFact, families: Collection[ProcessorFamilyFact]) -> Doubts:
    if platform.processor is None:
        return
    sockets = platform.processor.sockets.high
    for model in platform.processor.models:
        family = processor_family(model, families)
        if family is None:
            continue
        lanes = sockets * family.pcie_lanes.high * LANES_PER_UPLINK
        if platform.kind != "rack" and platform.gpus * 16 > lanes:
            yield "processor", f"{platform.gpus} GPUs of 16 lanes behind {lanes:.0f} of {model}"
        slots = platform.memory_slots
        if slots is not None and slots % (sockets * family.memory_channels):
            yield "memory_slots", f"{slots} is no multiple of the channels of {sockets:.0f} {model}"


def _memory(platform: PlatformFact) -> Doubts:
    memory, slots = platform.memory, platform.memory_slots
    if memory is None:
        return
    if memory.modules is not None and slots is not None and memory.modules.high > slots:
        yield "memory", f"{memory.modules.high:.0f} modules in {slots} slots"
    if memory.capacity_gibibytes and memory.modules and memory.module_gibibytes:
        product = Span(
            low=memory.modules.low * memory.module_gibibytes.low,
            high=memory.modules.high * memory.module_gibibytes.high,
        )
        if product != memory.capacity_gibibytes:
            yield "memory", f"the modules make {product.low:.0f} to {product.high:.0f} GiB"
    rated, running = memory.rated_megatransfers, memory.running_megatransfers
    if rated is not None and running is not None and running > rated:
        yield "memory", f"runs at {running}, above its rating"


def _positive(entry: Sourced) -> Doubts:
    for item in fields(entry):
        value = getattr(entry, item.name)
        low = value.low if isinstance(value, Span) else value
        if isinstance(low, (int, float)) and item.name != "gpus" and low <= 0:
            yield item.name, f"{low} is not a rate"


def _known_gpu(entry: Sourced, cards: dict[str, GpuFact]) -> Doubts:
    gpu = getattr(entry, "gpu", None)
    if gpu is not None and gpu not in cards:
        yield "gpu", f"{gpu!r} is not in the catalogue"


def _nominal(entry: Sourced) -> Doubts:
    """Every ``x`` that has a ``nominal_x`` or ``line_x`` beside it stays at or below it."""
    names = {item.name for item in fields(entry)}
    for name in names:
        for prefix in ("nominal_", "line_"):
            most = getattr(entry, prefix + name, None) if prefix + name in names else None
            value = _high(getattr(entry, name))
            if most is None or value is None or is_unsure(entry, name):
                continue
            if value > (_high(most) or 0) * ROUNDING:
                yield name, f"{value} is more than the nominal {_high(most)}"
        if name.startswith("lowest_"):
            low, rate = getattr(entry, name), _high(getattr(entry, name.removeprefix("lowest_"), None))
            if low is not None and rate is not None and low > rate:
                yield name, f"{low} asks for more than the {rate} that is reached"


def _against_card(entry: Sourced, cards: dict[str, GpuFact]) -> Doubts:
    """The nominal figure is the catalogue's, the measured one within the card's peak."""
    card = cards.get(getattr(entry, "gpu", None) or "")
    if card is None:
        return
    rates = card.dense_teraflops
    dtype = getattr(entry, "dtype", None)
    if dtype is not None:
        # Vendors state fp64 of the vector units; tensor cores do twice that.
        known = (getattr(rates, dtype, None) or 0) * (2 if dtype == "fp64" else 1)
        if known and _number(entry, "teraflops") > known * ROUNDING and not is_unsure(entry, "teraflops"):
            yield "teraflops", f"more than the {known} of the card"
    nominal = getattr(entry, "nominal_gigabytes_per_second", None)
    bandwidth = card.memory_bandwidth_gigabytes_per_second
    if nominal is not None and bandwidth is not None and nominal != bandwidth:
        yield "nominal_gigabytes_per_second", f"{nominal}, and {bandwidth} in the catalogue"
    peak = max(rates.fp32 or 0, 2 * (rates.fp64 or 0)) * 1000
    if peak and _number(entry, "dcgm_gigaflops") > peak * ROUNDING:
        yield "dcgm_gigaflops", f"more than the {peak} of the card"
    lowest = _number(entry, "dcgm_lowest_gigabytes_per_second")
    marked = is_unsure(entry, "dcgm_lowest_gigabytes_per_second")
    if nominal and lowest and not marked and not nominal / 5 <= lowest <= nominal:
        yield "dcgm_lowest_gigabytes_per_second", f"{lowest} of {nominal}: a slip of unit?"


def _physics(entry: Sourced, cards: dict[str, GpuFact]) -> Doubts:
    generation, lanes = getattr(entry, "pcie_generation", None), getattr(entry, "pcie_lanes", None)
    if generation is not None and lanes is not None:
        most = PCIE_LANE_GIGABYTES.get(generation, 0) * lanes * ROUNDING
        for name in ("nominal_gigabytes_per_second", "sequential_gigabytes_per_second"):
            rate = _high(getattr(entry, name, None))
            if rate is not None and rate > most:
                yield name, f"{rate} over {lanes} lanes of PCIe {generation}"
    if isinstance(entry, CollectiveRate):
        yield from _bus(entry, cards)
    if isinstance(entry, DriveRate):
        yield from _random(entry)
    if isinstance(entry, PowerDraw) and not entry.mean_watts <= entry.peak_watts <= entry.nominal_watts:
        yield "mean_watts", "mean, peak and nameplate should grow in this order"


def _bus(entry: CollectiveRate, cards: dict[str, GpuFact]) -> Doubts:
    """A ring sends every byte over the link of each GPU once; NVLS adds in the switch and gets more of it."""
    card = cards.get(entry.gpu or "")
    link = card.link.per_direction_gigabytes_per_second if card and card.link else None
    if link is None:
        return
    rate = entry.bus_gigabytes_per_second.high / entry.directions
    if rate > link * (1 if entry.algorithm == "Ring" else 2):
        yield "bus_gigabytes_per_second", f"{rate} over a link of {link}"


def _random(entry: DriveRate) -> Doubts:
    reads, rate = entry.random_reads_per_second, entry.random_mebibytes_per_second
    if reads is None or rate is None:
        return
    if abs(reads.high * 4096 / (rate * MIB) - 1) > 0.02:
        yield "random_mebibytes_per_second", "not 4 KiB for each read"


def _high(value: object) -> float | None:
    if isinstance(value, Span):
        return value.high
    return value if isinstance(value, (int, float)) else None


def _number(entry: Sourced, name: str) -> float:
    value = getattr(entry, name, None)
    return value if isinstance(value, (int, float)) else 0.0
