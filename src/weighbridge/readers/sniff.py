"""Find the reader of a file, or say which readers looked."""

from __future__ import annotations

from collections.abc import Sequence

from weighbridge.errors import InputError, NothingToRead, UnknownFormat
from weighbridge.readers.base import Reader
from weighbridge.readers.text import Head

# Below this a reader only says that the file might be its own.
SURE = 0.5


def choose_reader(head: Head, readers: Sequence[Reader], asked: str | None = None) -> Reader:
    """The one reader that is surest of the file.

    Raises NothingToRead for an empty file, UnknownFormat when no reader is sure, InputError when two readers
    are equally sure or ``asked`` names no reader.
    """
    if not head.data.strip():
        raise NothingToRead("readers.empty_file", name=head.name)
    if asked is not None:
        for reader in readers:
            if reader.name == asked:
                return reader
        raise InputError(
            "readers.no_such_format", asked=asked, known=", ".join(reader.name for reader in readers)
        )
    ranked = sorted(((reader.sniff(head), reader) for reader in readers), key=lambda pair: -pair[0])
    best, chosen = ranked[0]
    if best < SURE:
        code = "readers.binary_file" if head.binary else "readers.unknown_format"
        raise UnknownFormat(code, name=head.name, readers=len(readers))
    if len(ranked) > 1 and ranked[1][0] == best:
        raise InputError("readers.claimed_twice", name=head.name, first=chosen.name, second=ranked[1][1].name)
    return chosen
