"""The card a user names and the Machine that so many of them make."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from weighbridge.errors import InputError
from weighbridge.facts import GpuFact, candidates, find_gpu, gpu_from_fact, gpu_memory, load_gpus
from weighbridge.schema.machine import Machine, NodeGroup
from weighbridge.schema.node import Node
from weighbridge.units import GB, Quantity


def card_named(name: str) -> GpuFact:
    """The card that ``name`` means. Raises InputError with the cards it may mean, or the nearest names."""
    found = find_gpu(name)
    if found is not None:
        return found
    near = candidates(name)
    if not near:
        asked = name.strip().upper()
        written = get_close_matches(asked, [fact.id.upper() for fact in load_gpus()], n=5, cutoff=0.4)
        if written:
            raise InputError("estimate.unknown_gpu_near", name=name, near=written)
        raise InputError("estimate.unknown_gpu", name=name)
    exact = any(name.strip().lower() in fact.id.lower() for fact in near)
    code = "estimate.open_gpu" if exact else "estimate.unknown_gpu_near"
    raise InputError(code, name=name, near=[fact.id for fact in near[:8]])


def card_bytes(fact: GpuFact) -> Quantity:
    """Usable memory of one device: what the driver reports, else the sheet's figure."""
    return _card_bytes(fact.id, fact.memory_gigabytes, fact.devices_per_card)


@cache
def _card_bytes(name: str, memory_gigabytes: float, devices: int) -> Quantity:
    found = gpu_memory(name)
    if found is not None:
        return found
    # Ids are unique but may read like another card's name; the sheet's figure then stands.
    return Quantity(value=memory_gigabytes * GB / devices, unit="bytes", origin="catalogue")


def machine_of(fact: GpuFact, gpus: int, gpus_per_node: int | None = None) -> Machine:
    """Nodes of at most ``gpus_per_node`` (8 unless said) cards of one model."""
    per_node = min(gpus, gpus_per_node or 8)
    nodes = -(-gpus // per_node)
    return Machine(
        name=f"{gpus} x {fact.id}",
        groups=(
            NodeGroup(
                count=Quantity(value=nodes, unit="count", origin="estimated"),
                node=Node(gpus=(gpu_from_fact(fact, count=per_node),)),
            ),
        ),
    )
