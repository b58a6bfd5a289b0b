"""A forward-only cursor over one big JSON document: members and array elements one by one, memory flat.

Takes what real writers leave behind: NaN and Infinity (json.dump writes them), a byte-order mark, UTF-16,
broken bytes inside strings, a document cut at any place. Knows no format.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

BLOCK_BYTES: Final = 1 << 18
# No trainer writes a larger array element; a longer one is a lost quotation mark or no log.
MAXIMUM_VALUE_CHARACTERS: Final = 4 << 20
# The decoder may complain this many characters before the end only because the rest is not read yet:
# the longest literal is -Infinity, the longest escape is six characters.
_LITERAL_CHARACTERS: Final = 12

_SEPARATORS: Final = frozenset(" \t\r\n,]}")

_SPACE = re.compile(r"[ \t\r\n]*")
_ELEMENT_END = re.compile(r"\}\s*(?:,\s*(?=\{)|(?=\]))")


class BrokenJson(Exception):  # noqa: N818 - it is caught next door and never reaches a user
    """The text at the cursor is not JSON. ``cut`` says that the document ends in the middle of it."""

    def __init__(self, *, cut: bool) -> None:
        super().__init__(cut)
        self.cut = cut


class JsonCursor:
    """Reads on as it is asked. ``line`` is the line of the cursor, ``odd_tokens`` the NaN-like words seen."""

    def __init__(self, stream: BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self._stream = stream
        self._block_bytes = block_bytes
        self._text = ""
        self._at = 0
        self._ended = False
        self._bytes_decoder: codecs.IncrementalDecoder | None = None
        self._json = json.JSONDecoder(strict=False, parse_constant=self._constant, parse_int=_integer)
        self.line = 1
        self.odd_tokens: set[str] = set()
        self.skipped = 0
        self.skipped_line: int | None = None

    def _constant(self, token: str) -> float:
        self.odd_tokens.add(token)
        return float(token.replace("Infinity", "inf"))

    def _more(self) -> bool:
        raw = self._stream.read(self._block_bytes)
        if self._bytes_decoder is None:
            marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            while raw and len(raw) < 2:
                more = self._stream.read(self._block_bytes)
                if not more:
                    break
                raw += more
            encoding = "utf-16" if raw.startswith(marks) else "utf-8-sig"
            self._bytes_decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._ended = not raw
        text = self._bytes_decoder.decode(raw, final=self._ended)
        self._text = self._text[self._at :] + text
        self._at = 0
        return not self._ended

    def _move(self, to: int) -> None:
        self.line += self._text.count("\n", self._at, to)
        self._at = to

    def peek(self) -> str:
        """The next character that is no white space; empty at the end of the document."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._move(found.end() if found else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended or not self._more():
                return self._text[self._at : self._at + 1]

    def take(self, character: str) -> bool:
        """Step over ``character`` if it is next."""
        if self.peek() != character:
            return False
        self._move(self._at + 1)
        return True

    def value(self) -> Any:
        """The value at the cursor. Raises BrokenJson, the cursor left where it was.

        A number at the very end of the document counts as cut: its last digits may be missing.
        """
        if not self.peek():
            raise BrokenJson(cut=True)
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise BrokenJson(cut=False) from error
            except json.JSONDecodeError as error:
                self._need_more(error)
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number and self._text[end : end + 1] not in _SEPARATORS:
                # "1", "1.", "1e" and "1e-" are also what stands at the end of a block.
                if self._ended or len(self._text) - end > len("e-1"):
                    raise BrokenJson(cut=self._ended)
                self._more()
                continue
            self._move(end)
            return value

    def _need_more(self, error: json.JSONDecodeError) -> None:
        """Read on if the decoder may have failed only for want of text; raise BrokenJson if not."""
        left = len(self._text) - self._at
        wanting = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _LITERAL_CHARACTERS
        if not wanting or left > MAXIMUM_VALUE_CHARACTERS:
            raise BrokenJson(cut=False) from error
        # Double what is held, so that a long value is scanned a few times only.
        while not self._ended and len(self._text) - self._at < 2 * left + 1:
            self._more()
        if self._ended and len(self._text) - self._at == left:
            raise BrokenJson(cut=True) from error

    def elements(self) -> Iterator[tuple[int, Any]]:
        """Line and value of each element of the array at the cursor. Raises BrokenJson when it is cut.

        A broken object is left out and counted in ``skipped``; reading goes on at the next one.
        """
        if not self.take("["):
            raise BrokenJson(cut=not self.peek())
        while not self.take("]"):
            self.peek()
            line = self.line
            try:
                value = self.value()
            except BrokenJson as error:
                if error.cut or not self._resynchronise():
                    raise
                self.skipped += 1
                self.skipped_line = self.skipped_line or line
                continue
            yield line, value
            if not self.take(",") and self.peek() != "]":
                raise BrokenJson(cut=not self.peek())

    def _resynchronise(self) -> bool:
        """Move to the next object of the array, or to its end; False when neither is within reach."""
        while True:
            found = _ELEMENT_END.search(self._text, self._at + 1)
            if found:
                self._move(found.end())
                return True
            if self._ended or len(self._text) - self._at > MAXIMUM_VALUE_CHARACTERS:
                return False
            self._more()

    def members(self) -> Iterator[str]:
        """Name of each member of the object at the cursor; the caller must consume the value.

        Raises BrokenJson where the object is cut or broken.
        """
        if not self.take("{"):
            raise BrokenJson(cut=not self.peek())
        while not self.take("}"):
            name = self.value()
            if not isinstance(name, str) or not self.take(":"):
                raise BrokenJson(cut=not self.peek())
            yield name
            if not self.take(",") and self.peek() != "}":
                raise BrokenJson(cut=not self.peek())


def _integer(digits: str) -> int | float:
    """Python refuses to read integers of more than 4300 digits; no log means one."""
    return int(digits) if len(digits) < 400 else float(digits)
