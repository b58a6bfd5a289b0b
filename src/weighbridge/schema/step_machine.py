"""The machine as the step formulae read it: plain SI numbers of one GPU and of what joins the GPUs.

Made from catalogue facts or from a Machine by ``facts.step_machine``; a Quantity's source stays there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMachine:
    """One device and its links, one direction each. ``rates`` are dense FLOP/s by dtype.

    ``domain`` is how many GPUs reach each other at ``link_bytes_per_second`` (a node's, or a rack's with
    NVLink switches); beyond it each GPU has ``network_bytes_per_second``. ``link_kind`` is nvlink or pcie.
    """

    name: str
    architecture: str
    rates: Mapping[str, float]
    memory_bytes_per_second: float
    memory_bytes: float
    multiprocessors: int
    power_watts: float | None
    link_kind: str
    link_bytes_per_second: float
    domain: int
    network_bytes_per_second: float
