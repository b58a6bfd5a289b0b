"""Workspace: the folder that holds one team's records. Finds it, lists it, opens and adds runs.

Knows nothing of what a run contains. Reading needs no write permission; nothing is ever changed in place.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from weighbridge.errors import InputError, WorkspaceError
from weighbridge.schema.run import Run
from weighbridge.store.files import flush, put_if_absent, write_error, writing
from weighbridge.store.incoming import Incoming, sweep
from weighbridge.store.layout import (
    RUN_FILE,
    RUNS,
    SOURCES,
    WORKSPACE_FILE,
    is_run_id,
    parts_of,
    run_folder,
)
from weighbridge.store.view import RunView
from weighbridge.store.writer import RunWriter, stored_run

VARIABLE: Final = "WEIGHBRIDGE_WORKSPACE"
FOLDER: Final = ".weighbridge"
_SCHEMA: Final = "weighbridge.workspace/"
_VERSION: Final = 1
# A longer number is no version that anyone ever wrote, and Python refuses to read 5,000 digits.
_VERSION_DIGITS: Final = 9
_CANDIDATES_SHOWN: Final = 10
_COPY_BYTES: Final = 2**20


class Workspace:
    """A folder of closed runs and their sources. ``durable`` asks the disk to keep what it confirms."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self.root = root
        self._durable = durable
        self._swept = False

    @classmethod
    def create(cls, root: Path) -> Workspace:
        """Make ``root`` a workspace if it is none yet. Raises WorkspaceError where it cannot or must not."""
        root = root.absolute()
        workspace = cls(root)
        if not (root / WORKSPACE_FILE).exists():
            incoming = Incoming(root)
            draft = incoming.folder / WORKSPACE_FILE
            try:
                with writing(root):
                    draft.write_bytes(_workspace_document())
                    put_if_absent(draft, root / WORKSPACE_FILE)
            finally:
                incoming.discard()
        _check_version(root)
        workspace._sweep()
        return workspace

    @classmethod
    def find(cls, explicit: Path | None, *, start: Path | None = None) -> Workspace | None:
        """The folder that is named, else the environment's, else that of the nearest parent; None for none.

        A named folder is the workspace itself or one that holds ``.weighbridge``. Raises WorkspaceError when
        a named folder is no workspace, or when a newer version wrote it.
        """
        named = explicit or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
        if named is not None:
            named = named.absolute()
            root = named / FOLDER if _is_file(named / FOLDER / WORKSPACE_FILE) else named
            _check_version(root)
            return cls(root)
        with suppress(FileNotFoundError):  # a shell can stand in a folder that is gone
            place = (start or Path.cwd()).absolute()
            for folder in (place, *place.parents):
                if _is_file(folder / FOLDER / WORKSPACE_FILE):
                    _check_version(folder / FOLDER)
                    return cls(folder / FOLDER)
        return None

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator[Workspace]:
        """A workspace that is removed at the end."""
        try:
            folder = tempfile.TemporaryDirectory(prefix="weighbridge-", ignore_cleanup_errors=True)
        except OSError as error:
            raise write_error(error, Path(tempfile.gettempdir())) from error
        with folder as name:
            root = cls.create(Path(name)).root
            yield cls(root, durable=False)

    def runs(self) -> list[Run]:
        """The closed runs, the oldest start first, those without a clock last; damaged ones are left out."""
        found = [run for _, run in self._scan() if isinstance(run, Run)]
        return sorted(
            found, key=lambda run: (run.started_at_seconds is None, run.started_at_seconds or 0, run.id)
        )

    def damaged(self) -> list[tuple[str, str]]:
        """Folder name and reason of the runs whose record cannot be read."""
        return [(name, str(error)) for name, error in self._scan() if not isinstance(error, Run)]

    def _scan(self) -> Iterator[tuple[str, Run | WorkspaceError]]:
        for name in self._folders():
            try:
                yield name, stored_run(run_folder(self.root, name))
            except WorkspaceError as error:
                yield name, error

    def _folders(self) -> list[str]:
        """Names of the folders that hold a ``run.json``."""
        runs = self.root / RUNS
        try:
            names = [path.name for path in runs.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _unreadable(runs, error) from error
        return sorted(name for name in names if _is_file(runs / name / RUN_FILE))

    def has(self, run_id: str) -> bool:
        return is_run_id(run_id) and _is_file(run_folder(self.root, run_id) / RUN_FILE)

    def resolve(self, text: str) -> str:
        """The id that is meant by an id, the beginning of exactly one id, or the name of exactly one run.

        Raises InputError that lists the candidates.
        """
        if self.has(text):
            return text
        runs = self.runs()
        fitting = [run.id for run in runs if text and (run.id.startswith(text) or run.name == text)]
        if len(fitting) == 1:
            return fitting[0]
        where = str(self.root)
        if fitting:
            shown = fitting[:_CANDIDATES_SHOWN]
            raise InputError("store.ambiguous_run", text=text, count=len(fitting), candidates=shown)
        if not runs:
            raise InputError("store.no_runs", text=text, workspace=where)
        shown = [run.id for run in runs[-_CANDIDATES_SHOWN:]]
        raise InputError("store.no_such_run", text=text, workspace=where, count=len(runs), candidates=shown)

    def open(self, run_id: str) -> RunView:
        """Raises InputError when there is no such run and WorkspaceError when its record is damaged."""
        folder = run_folder(self.root, self.resolve(run_id))
        return RunView(stored_run(folder), folder, parts_of(folder) or [])

    def writer(self) -> RunWriter:
        """Begin a run. Raises WorkspaceError when the workspace cannot be written."""
        self._sweep()
        return RunWriter(self.root, durable=self._durable)

    def _sweep(self) -> None:
        # Once is enough: whoever dies later is swept by whoever comes later.
        if not self._swept:
            self._swept = True
            sweep(self.root)

    def keep_source(self, path: Path) -> tuple[str, int]:
        """Keep a copy of the file under its SHA-256. Returns (sha256, bytes).

        Raises InputError when the file cannot be read and WorkspaceError when the copy cannot be written.
        """
        try:
            stream = path.open("rb")
        except OSError as error:
            raise _source_error(path, error) from error
        with stream:
            incoming = Incoming(self.root)
            try:
                return self._keep(path, stream, incoming.folder / "source")
            finally:
                incoming.discard()

    def _keep(self, path: Path, stream: BinaryIO, draft: Path) -> tuple[str, int]:
        digest, size = hashlib.sha256(), 0
        with writing(self.root / SOURCES), draft.open("wb") as copy:
            while piece := _read(stream, path):
                digest.update(piece)
                copy.write(piece)
                size += len(piece)
        name = digest.hexdigest()
        target = self.root / SOURCES / name[:2] / name
        with writing(target):
            if not (target.exists() and target.stat().st_size == size):
                target.parent.mkdir(parents=True, exist_ok=True)
                draft.chmod(0o444)
                if self._durable:
                    flush(draft)
                # The content is the name: replacing one copy by another changes nothing.
                draft.replace(target)
        return name, size


def _read(stream: BinaryIO, path: Path) -> bytes:
    try:
        return stream.read(_COPY_BYTES)
    except OSError as error:
        raise _source_error(path, error) from error


def _source_error(path: Path, error: OSError) -> InputError:
    return InputError("store.cannot_read_source", path=str(path), reason=error.strerror or str(error))


def _unreadable(path: Path, error: OSError) -> WorkspaceError:
    return WorkspaceError("store.cannot_read", path=str(path), reason=error.strerror or str(error))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _workspace_document() -> bytes:
    import msgspec

    return msgspec.json.encode({"schema": f"{_SCHEMA}{_VERSION}", "created_at_seconds": time.time()})


def _check_version(root: Path) -> None:
    """Raises WorkspaceError when the folder is no workspace, is damaged, or was made by a newer version."""
    import msgspec

    path = root / WORKSPACE_FILE
    try:
        found: Any = msgspec.json.decode(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise WorkspaceError("store.not_a_workspace", path=str(root)) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    except msgspec.DecodeError as error:
        raise WorkspaceError("store.damaged_workspace", path=str(path), reason=str(error)) from error
    schema = found.get("schema") if isinstance(found, dict) else None
    version = schema.removeprefix(_SCHEMA) if isinstance(schema, str) and schema.startswith(_SCHEMA) else ""
    if not version.isdecimal():
        reason = f"schema = {schema!r}"
        raise WorkspaceError("store.damaged_workspace", path=str(path), reason=reason)
    number = int(version[:_VERSION_DIGITS])
    if number > _VERSION:
        raise WorkspaceError("store.newer_workspace", path=str(root), found=number, known=_VERSION)
