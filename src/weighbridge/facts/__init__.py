"""Facts: hardware, prices, compatibility, Xid codes, check limits and rules; each with source and date.

One loader reads the shipped tables and the user's overlay and hands out records. A fact without a source is
not a fact: it does not go in. Measures nothing, judges nothing, and reads nothing off this machine.
"""

from __future__ import annotations

from weighbridge.facts.find import candidates, find_gpu, gpu_memory
from weighbridge.facts.load import load_gpus
from weighbridge.facts.machine_parts import gpu_from_fact
from weighbridge.facts.measured import load_measured
from weighbridge.facts.measured_records import MeasuredFacts
from weighbridge.facts.platform_machine import machine_from_platform
from weighbridge.facts.platform_records import PlatformFact
from weighbridge.facts.platforms import find_platform, load_platforms, platform_candidates
from weighbridge.facts.records import GpuFact

__all__ = [
    "GpuFact",
    "MeasuredFacts",
    "PlatformFact",
    "candidates",
    "find_gpu",
    "find_platform",
    "gpu_from_fact",
    "gpu_memory",
    "load_gpus",
    "load_measured",
    "load_platforms",
    "machine_from_platform",
    "platform_candidates",
]
