"""What a living process is writing: one folder each under ``incoming/``, swept when its process is dead.

The folder's name says who owns it (host, process, start of the process), so that ownership begins with the
folder itself and a process killed at any moment leaves nothing that a later one cannot attribute.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.store.files import writing
from weighbridge.store.layout import INCOMING, is_run_id, parts_of, run_folder

# Whether a process of another host lives cannot be seen from here; a folder untouched this long is given up.
FOREIGN_GAP_SECONDS: Final = 24 * 3600
# Holds the id of the run whose folder the files are being moved into.
CLOSING: Final = "closing"


class Incoming:
    """One folder under ``incoming/`` that belongs to this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = f"{_host()}-{os.getpid()}-{_started(os.getpid()) or 0}-{secrets.token_hex(6)}"
        self.folder = root / INCOMING / self.name
        with writing(root):
            self.folder.mkdir(parents=True)

    def closes_into(self, run_id: str) -> None:
        """Leave a note for the sweeper before anything is moved out of this folder."""
        (self.folder / CLOSING).write_text(run_id, encoding="utf-8")

    def discard(self) -> None:
        """Remove the folder, and what it moved into a run that does not name it."""
        _discard(self.root, self.folder)


def sweep(root: Path) -> None:
    """Remove what dead processes left. Never fails: what cannot be removed stays for the next sweep."""
    try:
        entries = list(os.scandir(root / INCOMING))
    except OSError:
        return
    for entry in entries:
        if _is_dead(Path(entry.path)):
            _discard(root, Path(entry.path))


def _discard(root: Path, folder: Path) -> None:
    with suppress(OSError, UnicodeDecodeError):
        run_id = (folder / CLOSING).read_text(encoding="utf-8")
        if is_run_id(run_id):
            _remove_part(run_folder(root, run_id), folder.name)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_part(run: Path, name: str) -> None:
    part = run / f"part={name}"
    # An unreadable run.json (None) may name the part: keep it.
    named = parts_of(run)
    if named is not None and name not in named:
        shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):
            run.rmdir()


def _is_dead(folder: Path) -> bool:
    host, _, rest = folder.name.partition("-")
    process, _, rest = rest.partition("-")
    started = rest.partition("-")[0]
    if host == _host() and process.isdigit() and Path("/proc/self/stat").exists():
        return _started(int(process)) != started
    return time.time() - _last_touched(folder) > FOREIGN_GAP_SECONDS


def _last_touched(folder: Path) -> float:
    touched = 0.0
    for path in (folder, *folder.rglob("*")):
        with suppress(OSError):
            touched = max(touched, path.stat().st_mtime)
    return touched


def _started(process: int) -> str | None:
    """Clock ticks from boot to the start of the process (proc(5), field 22); None when it is dead."""
    try:
        # The command's name stands in brackets and may itself hold brackets and spaces.
        fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


@cache
def _host() -> str:
    """A short key of host, boot and process name space: what a process number is unique in."""
    facts = [socket.gethostname()]
    with suppress(OSError):
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        facts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:10]
