"""Where things lie in a workspace, and how ``run.json`` is written and read.

``run.json`` is the Run's document with one more key, ``parts``: the names of the part folders that belong
to the run. What it does not name is not read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from weighbridge.codec import decode, document
from weighbridge.errors import InputError
from weighbridge.schema.run import Run

WORKSPACE_FILE: Final = "workspace.json"
RUNS: Final = "runs"
RUN_FILE: Final = "run.json"
SOURCES: Final = "sources"
INCOMING: Final = "incoming"
EVENTS_FILE: Final = "events.jsonl"
STEPS: Final = "steps"
SAMPLES: Final = "samples"

_LONGEST_NAME_BYTES: Final = 200


def is_run_id(text: str) -> bool:
    """Whether the text can be a folder's name on every file system we meet, hidden names excluded."""
    return (
        bool(text)
        and text.isprintable()
        and not text.startswith((".", " "))
        and not text.endswith((".", " "))
        and not set(text) & set('/\\<>:"|?*')
        and len(text.encode("utf-8", "replace")) <= _LONGEST_NAME_BYTES
    )


def run_folder(root: Path, run_id: str) -> Path:
    return root / RUNS / run_id


def encode_run(run: Run, parts: list[str]) -> bytes:
    """The text of ``run.json``."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode({**document(run), "parts": parts}), indent=2)


def decode_run(data: bytes, folder: Path) -> Run:
    """Raises InputError when the document is damaged, newer, or of another run than the folder says."""
    run = decode(data, Run, name=str(folder / RUN_FILE))
    if run.id != folder.name:
        raise InputError("store.other_run_in_folder", folder=str(folder), found=run.id)
    return run


def parts_of(folder: Path) -> list[str] | None:
    """The parts that a run folder's ``run.json`` names: empty without the file, None if unreadable."""
    import msgspec

    try:
        found: Any = msgspec.json.decode((folder / RUN_FILE).read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError):
        return None
    parts = found.get("parts") if isinstance(found, dict) else None
    if isinstance(parts, list) and all(isinstance(name, str) and is_run_id(name) for name in parts):
        return parts
    return None


def table_files(part: Path, table: str) -> list[Path]:
    """The Parquet files of one table in one part, in the order in which their rows were read."""
    numbered = ((re.fullmatch(rf"{table}-(\d+)\.parquet", path.name), path) for path in part.iterdir())
    return [path for _, path in sorted((int(match[1]), path) for match, path in numbered if match)]
