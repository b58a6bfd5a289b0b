"""Find the catalogue's entry for a GPU name, or say that the name leaves it open. Never guesses.

A name fits an entry when the models are equal and nothing else that the name states contradicts the entry.
Exactly one fit is an answer; more are ``candidates``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.facts.load import load_gpus, overlay_folders
from weighbridge.facts.names import GpuName, parse_names
from weighbridge.facts.records import GpuFact
from weighbridge.units import GB, GIB, MIB, Quantity

_BEFORE_AMPERE: Final = frozenset({"KEPLER", "MAXWELL", "PASCAL", "VOLTA", "TURING"})
# What a driver prints differs by version and ECC by up to 7 % from either figure of one card; the next size
# up or down in every series is further away than that.
_SAME_MEMORY: Final = 0.08


def find_gpu(name: str, *, memory_bytes: float | None = None) -> GpuFact | None:
    """The card that ``name`` means, or None when it is unknown or fits several.

    ``memory_bytes`` is what the same source prints as one device's total; it only decides between cards of
    the same name ("Tesla V100" with 16 or 32 GB).
    """
    fits = _fits(name, memory_bytes)
    return fits[0] if len(fits) == 1 else None


def candidates(name: str, *, memory_bytes: float | None = None) -> tuple[GpuFact, ...]:
    """Every card that ``name`` may mean; where none fits, those whose model begins like it."""
    fits = _fits(name, memory_bytes)
    if fits:
        return fits
    asked = {token for reading in parse_names(name) for token in reading.model}
    scores = [
        (gpu, max((_likeness(entry, asked) for entry in names), default=0)) for gpu, names in _named_gpus()
    ]
    best = max((score for _, score in scores), default=0)
    return tuple(gpu for gpu, score in scores if score == best and best > 0)


def gpu_memory(name: str, *, memory_bytes: float | None = None) -> Quantity | None:
    """Memory of one device in bytes: what the driver reports where that is known, else the sheet's figure.

    Also answered when the name leaves the card open but all that fit have the same size. The sheet's "80 GB"
    may be 10^9 or 2^30 bytes each; ``high`` then holds the larger reading.
    """
    fits = _fits(name, memory_bytes)
    if not fits or len({gpu.memory_gigabytes / gpu.devices_per_card for gpu in fits}) > 1:
        return None
    gpu = fits[0]
    reported = {fit.reported_memory_mebibytes for fit in fits if fit.reported_memory_mebibytes}
    source = "; ".join(f"{fit.id}: {', '.join(fit.sources)}" for fit in fits)
    sheet = gpu.memory_gigabytes / gpu.devices_per_card
    known = reported.pop() if len(reported) == 1 else None
    field = "reported_memory_mebibytes" if known else "memory_gigabytes"
    unsure = any(field in fit.unsure or "*" in fit.unsure for fit in fits)
    return Quantity(
        value=known * MIB if known else sheet * GB,
        unit="bytes",
        origin="catalogue",
        high=None if known else sheet * GIB,
        source=source,
        date=gpu.read_on,
        confidence="C" if unsure else max(fit.confidence for fit in fits),
    )


def _fits(name: str, memory_bytes: float | None) -> tuple[GpuFact, ...]:
    readings = parse_names(name)
    fits = tuple(
        gpu
        for gpu, names in _named_gpus()
        if any(_agrees(asked, entry, gpu) for asked in readings for entry in names)
    )
    printed = [reading.reported_memory_mebibytes for reading in readings if reading.reported_memory_mebibytes]
    total = memory_bytes if memory_bytes is not None else printed[0] * MIB if printed else None
    if total is None or len(fits) < 2:
        return fits
    return tuple(gpu for gpu in fits if _same_memory(gpu, total))


def _named_gpus() -> tuple[tuple[GpuFact, tuple[GpuName, ...]], ...]:
    return _read_names(overlay_folders())


@cache
def _read_names(folders: tuple[Path, ...]) -> tuple[tuple[GpuFact, tuple[GpuName, ...]], ...]:
    """Every card with the readings of its id and aliases."""
    return tuple(
        (gpu, tuple(reading for name in (gpu.id, *gpu.aliases) for reading in parse_names(name)))
        for gpu in load_gpus(folders)
    )


def _agrees(asked: GpuName, entry: GpuName, gpu: GpuFact) -> bool:
    """Whether nothing that ``asked`` states contradicts the entry."""
    architecture = gpu.architecture.upper()
    return (
        asked.model == entry.model
        and not _differ(asked.series, entry.series)
        and not _differ(asked.edition, entry.edition)
        and not _differ(asked.memory_type, gpu.memory_type.upper())
        and (asked.memory_gigabytes is None or asked.memory_gigabytes in _sizes(entry, gpu))
        and (asked.architecture is None or architecture.startswith(asked.architecture))
        and (not asked.before_ampere or architecture in _BEFORE_AMPERE)
        and _form_agrees(asked, gpu)
    )


def _form_agrees(asked: GpuName, gpu: GpuFact) -> bool:
    if asked.form is None:
        return True
    form = gpu.form.upper()
    if asked.form == "SXM" and asked.form_generation:
        return form == f"SXM{asked.form_generation}"
    return form.startswith(asked.form)


def _sizes(entry: GpuName, gpu: GpuFact) -> tuple[float | None, ...]:
    # An alias may carry another number: the driver's "GH200 480GB" names the memory of the CPU.
    if entry.memory_gigabytes is not None and entry.memory_gigabytes != gpu.memory_gigabytes:
        return (entry.memory_gigabytes,)
    return (gpu.memory_gigabytes,)


def _same_memory(gpu: GpuFact, total: float) -> bool:
    sheet = gpu.memory_gigabytes / gpu.devices_per_card
    known = [sheet * GB, sheet * GIB]
    if gpu.reported_memory_mebibytes:
        known.append(float(gpu.reported_memory_mebibytes * MIB))
    return any(abs(total / size - 1) < _SAME_MEMORY for size in known)


def _differ(first: str | None, second: str | None) -> bool:
    return first is not None and second is not None and first != second


def _likeness(entry: GpuName, asked: set[str]) -> int:
    """How many of the asked tokens begin one of the entry's; 0 unless one with a digit does."""
    alike = [part for part in asked if any(token.startswith(part) for token in entry.model)]
    return len(alike) if any(character.isdigit() for part in alike for character in part) else 0
