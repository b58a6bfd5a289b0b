"""The workspace on disk: immutable run folders, kept sources, and bounded queries over the long tables.

Writes rows as they come, turns them into Parquet when a run is closed, and answers questions with DuckDB.
Knows no log format, judges nothing and prints nothing. On disk:

    workspace.json                   what this folder is, with its version
    runs/<id>/run.json               the Run; put last and only if absent: its presence means closed
    runs/<id>/part=<name>/           steps-*.parquet, samples-*.parquet, events.jsonl of one writer
    sources/<2 digits>/<sha256>      files that runs were read from, untouched
    incoming/<name>/                 what a living process is writing; swept when that process is dead

``run.json`` names its parts, so files of a writer that lost or died are never read. A run of several hosts
is one folder with several parts. Nothing here is an index: every file can be copied, and a lost workspace
is rebuilt by copying run folders.
"""

from __future__ import annotations

from weighbridge.store.shapes import DeviceUse, SeriesPoint
from weighbridge.store.view import RunView
from weighbridge.store.workspace import Workspace
from weighbridge.store.writer import RunWriter

__all__ = ["DeviceUse", "RunView", "RunWriter", "SeriesPoint", "Workspace"]
