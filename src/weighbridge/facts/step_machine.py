"""A catalogue card, and what joins it to others, as the plain numbers that ``weigh.step`` reads.

Links that nobody stated are filled with what machines of that generation usually have; ``assumed`` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Final

from weighbridge.facts.records import DenseTeraflops, GpuFact
from weighbridge.schema.step_machine import StepMachine
from weighbridge.units import GB

TERA: Final = 10**12
# One direction of x16 after coding, bytes per second, by generation (PCI-SIG).
_PCIE: Final = {3: 15.75 * GB, 4: 31.5 * GB, 5: 63.0 * GB, 6: 121.0 * GB}
# Network of one GPU, bytes per second, in the reference designs of its vendor (DGX A100: 8 x 200 Gb/s, DGX
# H100 and B200: 8 x 400 Gb/s); other cards are mostly bought with one 100 Gb/s port a node.
_NETWORK: Final = {"Volta": 12.5 * GB, "Ampere": 25.0 * GB, "Hopper": 50.0 * GB, "Blackwell": 50.0 * GB}
_RACK: Final = {"GB200": 72, "GB300": 72}
# Where the catalogue has none: the full part of that generation.
_MULTIPROCESSORS: Final = {"Blackwell": 148, "Hopper": 132, "Ampere": 108}


@dataclass(frozen=True, slots=True)
class Joined:
    """The machine, and the names of the figures that were filled."""

    machine: StepMachine
    assumed: tuple[str, ...]


def step_machine(
    fact: GpuFact,
    *,
    domain: int | None = None,
    network_bytes_per_second: float | None = None,
    power_watts: float | None = None,
) -> Joined:
    """``domain`` GPUs share the fast link; ``network_bytes_per_second`` is one GPU's part of its node's;
    ``power_watts`` the limit set, where it is not the sheet's."""
    assumed: list[str] = []
    share = 1 / fact.devices_per_card
    architecture = fact.architecture.partition(" ")[0]
    rates = {
        item.name: getattr(fact.dense_teraflops, item.name) * TERA * share
        for item in fields(DenseTeraflops)
        if getattr(fact.dense_teraflops, item.name)
    }
    link = fact.link.per_direction_gigabytes_per_second if fact.link else None
    bridged = fact.form.upper().startswith("PCIE") or link is None
    lanes = fact.pcie.lanes if fact.pcie else 16
    pcie = _PCIE.get(fact.pcie.generation if fact.pcie else 4, _PCIE[4]) * lanes / 16
    if domain is None:
        domain = _RACK.get(fact.id, 8)
        assumed.append("domain")
    if network_bytes_per_second is None:
        network_bytes_per_second = 1.5 * GB if bridged else _NETWORK.get(fact.architecture, 12.5 * GB)
        assumed.append("network_bytes_per_second")
    return Joined(
        StepMachine(
            name=fact.id,
            architecture=architecture,
            rates=rates,
            memory_bytes_per_second=(fact.memory_bandwidth_gigabytes_per_second or 0.0) * GB * share,
            memory_bytes=fact.memory_gigabytes * GB * share,
            multiprocessors=int(
                (fact.multiprocessors or _MULTIPROCESSORS.get(fact.architecture.partition(" ")[0], 100))
                * share
            ),
            power_watts=power_watts or (fact.power_watts * share if fact.power_watts else None),
            link_kind=_link_kind(fact, bridged),
            # PCIe cards with a bridge are joined in pairs only: a box of them talks over PCIe.
            link_bytes_per_second=pcie if bridged else (link or 0.0) * GB * share,
            domain=domain,
            network_bytes_per_second=network_bytes_per_second,
        ),
        tuple(assumed),
    )


def _link_kind(fact: GpuFact, bridged: bool) -> str:
    """GeForce cards since the 30 series have no peer access over PCIe: traffic goes through the host."""
    if not bridged:
        return "nvlink"
    return "pcie_host" if re.match(r"RTX-[345]\d\d\d", fact.id) and fact.form.startswith("PCIe") else "pcie"
