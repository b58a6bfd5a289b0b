"""A platform as a Machine: what the facts state, in SI units, and nothing that they leave open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from weighbridge.errors import InputError
from weighbridge.facts.load import load_gpus
from weighbridge.facts.machine_parts import gpu_from_fact
from weighbridge.facts.platform_records import DriveFact, PlatformFact
from weighbridge.facts.platforms import processor_family
from weighbridge.facts.records import GpuFact
from weighbridge.facts.sourced import part
from weighbridge.schema.machine import Machine, NodeGroup
from weighbridge.schema.node import Chassis, Cpu, Disk, Gpu, HostMemory, Nic, Node, Power, Slot
from weighbridge.units import GB, GIB

MEGA: Final = 10**6
MILLI: Final = 1e-3


def machine_from_platform(platform: PlatformFact, gpus: GpuFact | None = None) -> Machine:
    """One node of ``platform``, or all of a rack, with cards of the kind ``gpus``.

    ``gpus`` None: the platform's own where it takes only one kind, else only their number is stated. Whatever
    the facts give as alternatives (a list of processors) stays unsaid. Raises InputError for a card that the
    platform is not sold with.
    """
    if gpus is not None and platform.gpu_models and gpus.id not in platform.gpu_models:
        raise InputError(
            "facts.platform.other_gpu", platform=platform.id, gpu=gpus.id, known=list(platform.gpu_models)
        )
    single = platform.nodes == 1
    node = Node(
        gpus=(_gpus(platform, gpus),),
        gpu_topology=platform.gpu_topology,
        cpu=_processor(platform),
        memory=_memory(platform),
        disks=tuple(_disks(platform)),
        nics=tuple(
            Nic(
                model=card.model,
                count=part(platform, "count", card.count, "network_cards"),
                ports=part(platform, "ports", card.ports, "network_cards"),
                port_bytes_per_second=part(
                    platform, "port_bytes_per_second", card.port_gigabits_per_second, "network_cards", GB / 8
                ),
            )
            for card in platform.network_cards
        ),
        slots=tuple(
            Slot(
                count=part(platform, "count", slot.count, "slots"),
                pcie_lanes=part(platform, "pcie_lanes", slot.lanes, "slots"),
                pcie_generation=part(platform, "pcie_generation", slot.generation, "slots"),
            )
            for slot in platform.slots
        ),
        # Height and watts of a rack are not those of one of its nodes.
        chassis=_chassis(platform) if single else Chassis(cooling=platform.cooling),
        power=_power(platform) if single else None,
    )
    group = NodeGroup(count=part(platform, "count", platform.nodes, "nodes"), node=node)
    return Machine(name=platform.id, groups=(group,))


def _gpus(platform: PlatformFact, chosen: GpuFact | None) -> Gpu:
    if chosen is None and len(platform.gpu_models) == 1 and platform.gpu_text is None:
        chosen = next((gpu for gpu in load_gpus() if gpu.id == platform.gpu_models[0]), None)
    if chosen is None:
        return Gpu(count=part(platform, "count", platform.gpus, "gpus"))
    # A card that shows as two devices is two in a Machine.
    devices = platform.gpus * chosen.devices_per_card
    return replace(gpu_from_fact(chosen), count=part(platform, "count", devices, "gpus"))


def _processor(platform: PlatformFact) -> Cpu | None:
    cpu = platform.processor
    if cpu is None:
        return None
    model = cpu.models[0] if len(cpu.models) == 1 else None
    exact = cpu.sockets.low == cpu.sockets.high
    cores = cpu.cores_per_socket * cpu.sockets.low if cpu.cores_per_socket and exact else None
    family = processor_family(model) if model else None
    return Cpu(
        model=model,
        sockets=part(platform, "sockets", cpu.sockets, "processor"),
        cores=part(platform, "cores", cores, "processor"),
        memory_channels=part(family, "memory_channels", family.memory_channels, "memory_channels")
        if family
        else None,
        pcie_generation=part(family, "pcie_generation", family.pcie_generation, "pcie_generation")
        if family
        else None,
        pcie_lanes=part(family, "pcie_lanes", family.pcie_lanes, "pcie_lanes") if family else None,
    )


def _memory(platform: PlatformFact) -> HostMemory | None:
    memory = platform.memory
    if memory is None:
        return None
    capacity, modules, each = memory.capacity_gibibytes, memory.modules, memory.module_gibibytes
    known = capacity.low if capacity else None
    if capacity is None and modules and each and modules.low == modules.high and each.low == each.high:
        known = modules.low * each.low
    return HostMemory(
        kind=memory.kind,
        capacity_bytes=part(platform, "capacity_bytes", capacity or known, "memory", GIB),
        modules=part(platform, "modules", modules, "memory"),
        module_bytes=part(platform, "module_bytes", each, "memory", GIB),
        transfers_per_second=part(
            platform, "transfers_per_second", memory.running_megatransfers, "memory", MEGA
        ),
    )


def _disks(platform: PlatformFact) -> Iterator[Disk]:
    for drive in platform.drives:
        yield Disk(
            media=drive.kind,
            count=part(platform, "count", drive.count, "drives"),
            capacity_bytes=part(platform, "capacity_bytes", _size(drive), "drives", GB),
        )


def _size(drive: DriveFact) -> float | None:
    # The sum of several drives is not the size of one: only single sizes are kept.
    return drive.gigabytes.low if drive.gigabytes and drive.gigabytes.low == drive.gigabytes.high else None


def _chassis(platform: PlatformFact) -> Chassis:
    return Chassis(
        model=platform.id,
        cooling=platform.cooling,
        rack_units=part(platform, "rack_units", platform.rack_units, "rack_units"),
        depth_metres=part(platform, "depth_metres", platform.depth_millimetres, "depth_millimetres", MILLI),
        weight_kilograms=part(platform, "weight_kilograms", platform.weight_kilograms, "weight_kilograms"),
    )


def _power(platform: PlatformFact) -> Power:
    supplies = platform.supplies
    return Power(
        maximum_watts=part(platform, "maximum_watts", platform.maximum_watts, "maximum_watts"),
        supplies=part(platform, "supplies", supplies.count if supplies else None, "supplies"),
        supply_watts=part(platform, "supply_watts", supplies.watts if supplies else None, "supplies"),
        supplies_that_may_fail=part(
            platform, "supplies_that_may_fail", supplies.may_fail if supplies else None, "supplies"
        ),
    )
