"""Bounded-memory line reading for logs as they really are.

Handles byte-order marks, UTF-16 (PowerShell redirection), CRLF, tqdm's lone carriage returns, ANSI colours,
broken or GBK bytes (lines stay bytes: every pattern is ASCII), lines that never end, and the last line cut
in the middle of a number. Knows no log format.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from weighbridge.schema.run import Problem

# Small enough that a parsed block stays in the processor's cache: larger ones are read up to a fifth slower.
BLOCK_BYTES: Final = 1 << 18
# No training framework prints a longer line; a longer one is a binary or a broken writer.
MAXIMUM_LINE_BYTES: Final = 4 << 20
HEAD_BYTES: Final = 1 << 20

# Control bytes beyond this part of a text: it is none. Terminal output stays far below, images far above.
LARGEST_CONTROL_PART: Final = 0.02
_CONTROLS: Final = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x1b\x08\x0c")

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\n]*\x07")


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, cleaned, for ``sniff``.

    ``data`` ends with a newline unless the file is shorter than the head and its last line is cut;
    ``whole`` says that ``data`` is the whole file.
    """

    name: str
    data: bytes
    whole: bool
    binary: bool


@dataclass(slots=True)
class Lines:
    """Iterate over cleaned lines of a stream with their numbers; ``problems`` fills up on the way.

    ``for number, line in lines`` gives lines *with* their newline when they are terminated and without it
    when the file was cut there, so that a pattern which wants a separator after a number cannot take half a
    number for a whole one. A carriage return inside a line splits it; both halves keep the line's number.
    """

    stream: BinaryIO
    problems: list[Problem] = field(default_factory=list)
    lines: int = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for block in blocks(self.stream, self.problems):
            yield from lines_of(block)
            self.lines = block.last_line


@dataclass(frozen=True, slots=True)
class Block:
    """Whole cleaned lines. ``first_line`` is the number of the first one; only the last block may be cut."""

    data: bytes
    first_line: int
    last_line: int


def lines_of(block: Block) -> Iterator[tuple[int, bytes]]:
    """The lines of a block with their numbers, as Lines gives them."""
    if b"\r" in block.data:
        return _split_returns(block.data, block.first_line)
    return enumerate(block.data.splitlines(keepends=True), block.first_line)


def _split_returns(data: bytes, first_line: int) -> Iterator[tuple[int, bytes]]:
    number = first_line
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        piece = data[start:] if end < 0 else data[start : end + 1]
        parts = piece.rstrip(b"\n").split(b"\r")
        terminated = end >= 0
        for index, part in enumerate(parts):
            if part:
                whole = terminated or index < len(parts) - 1
                yield number, part + b"\n" if whole else part
        number += 1
        start += len(piece)


def blocks(stream: BinaryIO, problems: list[Problem]) -> Iterator[Block]:
    """Read a stream as blocks of whole lines of at most about BLOCK_BYTES, cleaned.

    A line longer than MAXIMUM_LINE_BYTES is dropped and noted in ``problems`` as ``readers.line_too_long``.
    Lone carriage returns are kept (see Lines); CRLF becomes LF; ANSI sequences and the BOM are removed.
    """
    read = _decoded(stream)
    pending = b""
    number = 1
    dropping = False
    for chunk in read:
        if dropping:
            end = chunk.find(b"\n")
            if end < 0:
                continue
            chunk = chunk[end + 1 :]
            number += 1
            dropping = False
        end = chunk.rfind(b"\n")
        if end < 0:
            pending += chunk
        else:
            data = b"".join((pending, memoryview(chunk)[: end + 1]))
            pending = chunk[end + 1 :]
            count = data.count(b"\n")
            yield Block(_clean(data), number, number + count - 1)
            number += count
        if len(pending) > MAXIMUM_LINE_BYTES and b"\r" in pending:
            # A progress bar draws over itself for hours without a new line: what it has drawn may go on.
            end = pending.rfind(b"\r")
            yield Block(_clean(pending[: end + 1]), number, number)
            pending = pending[end + 1 :]
        if len(pending) > MAXIMUM_LINE_BYTES:
            problems.append(
                Problem(code="readers.line_too_long", line=number, params={"limit": MAXIMUM_LINE_BYTES})
            )
            pending = b""
            dropping = True
    if pending:
        yield Block(_clean(pending), number, number)


def _looks_binary(data: bytes) -> bool:
    """Whether it is no text: control bytes are common once the zeros are taken out.

    Zeros alone say nothing: a machine that lost power leaves stretches of them inside a good log.
    """
    text = data.replace(b"\0", b"")[: 64 << 10]
    controls = len(text) - len(text.translate(None, _CONTROLS))
    return bool(data) and (not text or controls > LARGEST_CONTROL_PART * len(text))


def _clean(data: bytes) -> bytes:
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    # One byte is found ten times faster than two, and most logs have none.
    if b"\r" in data and b"\r\n" in data:
        # tqdm on Windows writes \r\r\n; the extra returns carry nothing.
        data = re.sub(rb"\r+\n", b"\n", data)
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    return data


def _decoded(stream: BinaryIO) -> Iterator[bytes]:
    first = stream.read(BLOCK_BYTES)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        while first:
            yield decoder.decode(first).encode("utf-8", "replace")
            first = stream.read(BLOCK_BYTES)
        yield decoder.decode(b"", final=True).encode("utf-8", "replace")
        return
    if first.startswith(codecs.BOM_UTF8):
        first = first[len(codecs.BOM_UTF8) :]
    while first:
        yield first
        first = stream.read(BLOCK_BYTES)


def read_head(stream: BinaryIO, name: str) -> Head:
    """Take the first HEAD_BYTES for sniffing. ``binary`` is set when NUL bytes show that it is no text."""
    raw = stream.read(HEAD_BYTES + 1)
    whole = len(raw) <= HEAD_BYTES
    raw = raw[:HEAD_BYTES]
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = raw.decode("utf-16", "replace").encode("utf-8", "replace")
    elif raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    binary = _looks_binary(raw)
    data = _clean(raw)
    if not whole:
        data = data[: data.rfind(b"\n") + 1] or data
    return Head(name=name, data=data.replace(b"\r", b"\n"), whole=whole, binary=binary)
