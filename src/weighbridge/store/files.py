"""Files put in place so that others see all of them or none, and what to say when the disk refuses.

Knows no record. A failing write becomes a WorkspaceError that names the path and the reason.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from weighbridge.errors import WorkspaceError

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
# File systems without hard links (exFAT, some network mounts) answer one of these.
_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}


def says_full(text: str) -> bool:
    """Whether the text of somebody else's error says that the disk or the quota is full."""
    return any(os.strerror(number) in text for number in _FULL)


def write_error(error: OSError, path: Path) -> WorkspaceError:
    """The sentence for a refused write."""
    if error.errno in _FULL:
        return WorkspaceError("store.disk_full", path=str(path))
    if error.errno in _FORBIDDEN:
        return WorkspaceError("store.not_writable", path=str(path))
    return WorkspaceError("store.cannot_write", path=str(path), reason=error.strerror or str(error))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into a WorkspaceError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise write_error(error, path) from error


def flush(path: Path) -> None:
    """Make a file's content or a folder's entries survive a power cut, where the file system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Folders of some network file systems cannot be synced; a full disk must still be heard.
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def put_if_absent(draft: Path, target: Path) -> bool:
    """Give the finished file ``draft`` the name ``target`` unless that name is taken.

    Both in one file system. Of several processes exactly one gets True, and nobody ever sees half a file.
    """
    try:
        os.link(draft, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _create_whole(draft, target)
    return True


def _create_whole(draft: Path, target: Path) -> bool:
    """Without hard links: exclusive creation, then the content. A kill in between leaves a damaged file."""
    data = draft.read_bytes()
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return True
