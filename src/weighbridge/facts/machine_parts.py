"""Facts as parts of a Machine: the catalogue's units become SI, and every figure carries source and mark."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from weighbridge.facts.records import DenseTeraflops, GpuFact
from weighbridge.schema.field_units import unit_of
from weighbridge.schema.node import DenseRates, Gpu
from weighbridge.units import GB, MIB, Quantity

TERA: Final = 10**12
MEGA: Final = 10**6


def gpu_from_fact(fact: GpuFact, *, count: int | None = None) -> Gpu:
    """The Gpu part that ``fact`` describes, per device; ``count`` devices of it where that is known.

    A figure that the facts are unsure of has confidence C, which no acceptance limit may have.
    """

    def figure(name: str, value: float | None, scale: float, field: str) -> Quantity | None:
        return None if value is None else fact_quantity(fact, name, value * scale, field)

    share = 1 / fact.devices_per_card
    link = fact.link.per_direction_gigabytes_per_second if fact.link else None
    return Gpu(
        model=fact.id,
        vendor=fact.vendor,
        architecture=fact.architecture,
        compute_capability=fact.compute_capability,
        form=fact.form,
        memory_type=fact.memory_type,
        link_kind=fact.link.kind if fact.link else None,
        count=Quantity(value=count, unit="count", origin="catalogue") if count is not None else None,
        memory_bytes=figure("memory_bytes", fact.memory_gigabytes, GB * share, "memory_gigabytes"),
        usable_memory_bytes=figure(
            "usable_memory_bytes", fact.reported_memory_mebibytes, MIB, "reported_memory_mebibytes"
        ),
        memory_bandwidth_bytes_per_second=figure(
            "memory_bandwidth_bytes_per_second",
            fact.memory_bandwidth_gigabytes_per_second,
            GB * share,
            "memory_bandwidth_gigabytes_per_second",
        ),
        dense=_dense_rates(fact, share),
        link_bytes_per_second=figure("link_bytes_per_second", link, GB * share, "link"),
        pcie_generation=figure("pcie_generation", fact.pcie.generation if fact.pcie else None, 1, "pcie"),
        pcie_lanes=figure("pcie_lanes", fact.pcie.lanes if fact.pcie else None, 1, "pcie"),
        multiprocessors=figure("multiprocessors", fact.multiprocessors, share, "multiprocessors"),
        boost_hertz=figure("boost_hertz", fact.boost_megahertz, MEGA, "boost_megahertz"),
        power_watts=figure("power_watts", fact.power_watts, share, "power_watts"),
    )


def fact_quantity(fact: GpuFact, name: str, value: float, field: str) -> Quantity:
    """``value`` in the unit that ``name`` promises, with where the fact's ``field`` came from."""
    doubtful = not {field, field.partition(".")[0], "*"}.isdisjoint(fact.unsure)
    return Quantity(
        value=value,
        unit=unit_of(name),
        origin="catalogue",
        source=f"{fact.id}: {', '.join(fact.sources)}",
        date=fact.read_on,
        confidence="C" if doubtful else fact.confidence,
    )


def _dense_rates(fact: GpuFact, share: float) -> DenseRates:
    rates = {}
    for item in fields(DenseTeraflops):
        value = getattr(fact.dense_teraflops, item.name)
        if value is not None:
            counted = "operations" if item.name == "int8" else "flops"
            name = f"{item.name}_{counted}_per_second"
            rates[name] = fact_quantity(fact, name, value * TERA * share, f"dense_teraflops.{item.name}")
    return DenseRates(**rates)
