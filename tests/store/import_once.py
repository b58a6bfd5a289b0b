"""Imports one small run into the workspace of argv[1]: what the tests of kills and races run as a process.

With ``kills`` as argv[2] the import is repeated in ever new workspaces argv[1]/0, argv[1]/1, ... and killed
with SIGKILL just before its first, second, third ... operation on a file, until it comes to its end.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import duckdb
import msgspec

from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.store import Workspace, spool

ROWS = 600
FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod", "os.truncate"}

assert duckdb
assert msgspec


def import_once(root: Path, step_seconds: float, run_id: str = "run") -> tuple[Run, bool]:
    """The whole life of an import, with several turnovers of the spool on the way."""
    workspace = Workspace.create(root)
    with workspace.writer() as writer:
        for row in range(0, ROWS, 50):
            writer.steps({"step": list(range(row, row + 50)), "step_seconds": [step_seconds] * 50}, 50)
            writer.events([Event(kind="checkpoint", step=row)])
        return writer.close(Run(id=run_id, name=str(step_seconds)))


def kill_before(operation: int, root: Path) -> None:
    """From now on die just before the ``operation``-th file operation inside ``root``."""
    left = operation

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in FILE_EVENTS and str(root) in str(arguments[0]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def import_with_kills(folder: Path) -> None:
    spool.TURNOVER_BYTES, spool._BUFFER_BYTES = 2000, 500
    killed, operation = True, 0
    while killed:
        root = folder / f"{operation:03d}"
        child = os.fork()
        if child == 0:
            kill_before(operation, root)
            import_once(root, 0.5)
            os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        operation += 1


def race(root: Path, step_seconds: float, runs: int) -> None:
    """Import ``runs`` ids as soon as the file "go" is there; print which ones were new and what is stored."""
    while not (root.parent / "go").exists():
        time.sleep(0.001)
    for number in range(runs):
        run, new = import_once(root, step_seconds, f"run-{number}")
        print(int(new), run.name, flush=True)


if __name__ == "__main__":
    if sys.argv[2] == "kills":
        import_with_kills(Path(sys.argv[1]))
    else:
        race(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
