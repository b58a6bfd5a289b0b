"""Loads the constants of the vision kernel; the file beside it holds unit, n, spread, source and date of
each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from weighbridge.facts.find import find_gpu
from weighbridge.facts.records import GpuFact
from weighbridge.facts.tree import read_tree
from weighbridge.schema.vision import VisionCard, VisionConstants
from weighbridge.units import GB

FILE: Final = Path(__file__).parent / "data" / "vision_constants.yaml"


@cache
def load_vision_constants(path: Path = FILE) -> VisionConstants:
    tree, _ = read_tree(path)
    return VisionConstants(
        values={item["name"]: float(item["value"]) for item in tree["constants"]},
        spread={item["name"]: (float(item["low"]), float(item["high"])) for item in tree["spreads"]},
    )


@cache
def vision_provenance(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """For every constant: value, unit, n, spread, source and date."""
    tree, _ = read_tree(path)
    return {item["name"]: item for item in tree["constants"]}


def vision_card(name: str) -> VisionCard | None:
    """The card's rates for the time model; None where the name is unknown, open, or a rate is missing."""
    gpu = find_gpu(name)
    return None if gpu is None else vision_card_of(gpu)


def vision_card_of(gpu: GpuFact) -> VisionCard | None:
    rates, bandwidth = gpu.dense_teraflops, gpu.memory_bandwidth_gigabytes_per_second
    if bandwidth is None or rates.fp32 is None:
        return None
    half = rates.fp16 or rates.bf16
    return VisionCard(
        family=gpu.architecture,
        bytes_per_second=bandwidth * 1e9,
        fp32_flops=rates.fp32 * 1e12,
        tf32_flops=None if rates.tf32 is None else rates.tf32 * 1e12,
        half_flops=None if half is None else half * 1e12,
        memory_bytes=gpu.memory_gigabytes / gpu.devices_per_card * GB,
    )
