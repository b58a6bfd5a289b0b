"""Loads the server platforms, with the user's folders on top, and finds one by name. Never guesses."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.facts.load import overlay_folders
from weighbridge.facts.platform_records import ContradictionFact, PlatformFact, ProcessorFamilyFact
from weighbridge.facts.sourced import PracticeFact
from weighbridge.facts.table import load_table

FILE: Final = "platforms.yaml"
# What makers put before a model and what tells none from another.
_NOISE: Final = frozenset(
    {"server", "system", "node", "gpu", "nvidia", "poweredge", "thinksystem", "superserver", "huawei", "inc"}
)
_SAME: Final = {"smc": "supermicro", "hewlett": "hpe", "quanta": "qct"}


def load_platforms(folders: tuple[Path, ...] | None = None) -> tuple[PlatformFact, ...]:
    """Every known platform, shipped order first. ``folders`` None: those of the environment.

    Raises InputError that names the file, the entry and the field when an entry does not fit.
    """
    return _load_platforms(overlay_folders() if folders is None else folders)


def load_processor_families(folders: tuple[Path, ...] | None = None) -> tuple[ProcessorFamilyFact, ...]:
    return _load_families(overlay_folders() if folders is None else folders)


def load_contradictions() -> tuple[ContradictionFact, ...]:
    """Public declarations that contradict themselves."""
    return load_table(FILE, "contradictions", ContradictionFact)


def load_platform_practices() -> tuple[PracticeFact, ...]:
    return load_table(FILE, "practices", PracticeFact)


@cache
def _load_platforms(folders: tuple[Path, ...]) -> tuple[PlatformFact, ...]:
    return load_table(FILE, "platforms", PlatformFact, folders)


@cache
def _load_families(folders: tuple[Path, ...]) -> tuple[ProcessorFamilyFact, ...]:
    return load_table(FILE, "processor_families", ProcessorFamilyFact, folders)


def find_platform(name: str) -> PlatformFact | None:
    """The platform that ``name`` means ("DGX H100", "Dell XE9680"); None when unknown or left open."""
    fits = platform_candidates(name)
    return fits[0] if len(fits) == 1 else None


def platform_candidates(name: str) -> tuple[PlatformFact, ...]:
    """Every platform that ``name`` may mean: an id alone, else all that hold every word of it."""
    asked = _words(name)
    if not asked:
        return ()
    named = [(platform, _words(f"{platform.id} {platform.vendor or ''}")) for platform in load_platforms()]
    exact = tuple(platform for platform, _ in named if _words(platform.id) == asked)
    return exact or tuple(platform for platform, words in named if asked <= words)


def processor_family(
    model: str, families: Collection[ProcessorFamilyFact] | None = None
) -> ProcessorFamilyFact | None:
    """Lanes and channels of the processor ``model`` ("EPYC 9654", "Xeon 8480C"); None where unknown."""
    known = load_processor_families() if families is None else families
    fits = [family for family in known if any(fnmatchcase(model, name) for name in family.names)]
    return fits[0] if len(fits) == 1 else None


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return frozenset(_SAME.get(word, word) for word in words) - _NOISE
