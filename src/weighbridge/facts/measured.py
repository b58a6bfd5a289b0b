"""Loads the rates that others reached, with the user's folders on top. Judges nothing."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from weighbridge.facts.load import overlay_folders
from weighbridge.facts.measured_records import MeasuredFacts
from weighbridge.facts.table import load_table

FILE: Final = "measured.yaml"


def load_measured(folders: tuple[Path, ...] | None = None) -> MeasuredFacts:
    """Every table of measured rates. ``folders`` None: those of the environment.

    Raises InputError that names the file, the entry and the field when an entry does not fit.
    """
    return _load_measured(overlay_folders() if folders is None else folders)


@cache
def _load_measured(folders: tuple[Path, ...]) -> MeasuredFacts:
    hints = get_type_hints(MeasuredFacts)
    tables: dict[str, Any] = {
        item.name: load_table(FILE, item.name, get_args(hints[item.name])[0], folders)
        for item in fields(MeasuredFacts)
    }
    return MeasuredFacts(**tables)
