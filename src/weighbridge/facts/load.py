"""The one loader of facts: the shipped tables, then the user's own on top of them.

A folder of ``*.yaml`` files in the shipped form adds entries, or replaces one as a whole by its id. Which
folders: the environment variable WEIGHBRIDGE_FACTS (one or several, separated as in PATH; the later wins);
whoever knows the workspace passes its ``facts`` folder. Reads once per process and hands out frozen records.
"""

from __future__ import annotations

import os
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.facts.records import DenseTeraflops, GpuFact, KnownWrong, LinkFact, PcieFact
from weighbridge.facts.tree import read_tree

ENVIRONMENT: Final = "WEIGHBRIDGE_FACTS"
SHIPPED: Final = Path(__file__).parent / "data"
GPU_FILES: Final = ("gpus.yaml", "gpus_met_in_logs.yaml")

_PARTS: Final = {"dense_teraflops": DenseTeraflops, "link": LinkFact, "pcie": PcieFact}


def overlay_folders() -> tuple[Path, ...]:
    """The user's fact folders from the environment, in order of growing precedence."""
    return tuple(Path(part) for part in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if part)


def load_gpus(folders: tuple[Path, ...] | None = None) -> tuple[GpuFact, ...]:
    """Every known GPU, shipped order first, then additions. ``folders`` None: those of the environment.

    Raises InputError that names the file, the entry and the field when an entry does not fit.
    """
    return _load_gpus(overlay_folders() if folders is None else folders)


@cache
def _load_gpus(folders: tuple[Path, ...]) -> tuple[GpuFact, ...]:
    found: dict[str, GpuFact] = {}
    for name in GPU_FILES:
        for gpu in read_gpus(SHIPPED / name):
            found[gpu.id] = gpu
    for folder in folders:
        if not folder.is_dir():
            raise InputError("facts.no_folder", folder=str(folder), variable=ENVIRONMENT)
        for file in sorted(folder.glob("*.yaml")):
            for gpu in read_gpus(file):
                found[gpu.id] = gpu
    return tuple(found.values())


def read_gpus(path: Path) -> tuple[GpuFact, ...]:
    """The GPU entries of one fact file, in its order; none when the file is about other things."""
    tree, lines = read_tree(path)
    entries = tree.get("gpus", [])
    if not isinstance(entries, list):
        raise InputError("facts.not_a_list", file=str(path), field="gpus")
    found: dict[str, GpuFact] = {}
    for entry, line in zip(entries, lines.get("gpus", []), strict=True):
        gpu = _gpu(entry, tree.get("read_on"), path, line)
        if gpu.id in found:
            raise InputError("facts.repeated_entry", file=str(path), line=line, id=gpu.id)
        found[gpu.id] = gpu
    return tuple(found.values())


def read_sources(path: Path) -> dict[str, str]:
    """The table of sources of one fact file: short name to what it is."""
    tree, _ = read_tree(path)
    return {str(name): str(text) for name, text in (tree.get("sources") or {}).items()}


def read_known_wrong(path: Path) -> tuple[KnownWrong, ...]:
    """The errors of sources that a fact file warns of."""
    tree, _ = read_tree(path)
    return tuple(KnownWrong(**entry) for entry in tree.get("known_wrong") or ())


def _gpu(entry: Any, read_on: Any, path: Path, line: int) -> GpuFact:
    import msgspec

    if not isinstance(entry, dict):
        raise InputError("facts.not_an_entry", file=str(path), line=line)
    name = str(entry.get("id"))
    _refuse_unknown(entry, GpuFact, "", name, path, line)
    for part, record in _PARTS.items():
        if isinstance(entry.get(part), dict):
            _refuse_unknown(entry[part], record, f"{part}.", name, path, line)
    try:
        return msgspec.convert({"read_on": read_on, **entry}, GpuFact)
    except msgspec.ValidationError as error:
        raise InputError("facts.bad_field", file=str(path), line=line, id=name, reason=str(error)) from error


def _refuse_unknown(
    entry: dict[str, Any], record: type, prefix: str, name: str, path: Path, line: int
) -> None:
    # msgspec passes over fields it does not know; in a file that people edit that would hide a slip.
    known = [item.name for item in fields(record)]
    for key in entry:
        if key not in known:
            raise InputError(
                "facts.unknown_field", file=str(path), line=line, id=name, field=prefix + key, known=known
            )
