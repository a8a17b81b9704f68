"""Splits a stream of bytes into lines.

LF alone ends a line: U+2028 and its like are ordinary characters of JSON texts. A line costs time in proportion to its
length, however many pieces it comes in.
"""

from __future__ import annotations

from typing import Callable, List


class LineSplitter:
    """Calls `on_line` with each line, without its LF. Lines above `limit` bytes are dropped and reported by length."""

    def __init__(self, on_line: Callable[[bytes], None], on_too_long: Callable[[int], None], limit: int) -> None:
        self._on_line = on_line
        self._on_too_long = on_too_long
        self._limit = limit
        self._pieces: List[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._extend(first)
        for piece in rest:
            self._complete()
            self._extend(piece)

    def end(self) -> None:
        """Passes on a last line that has no LF."""
        if self._length:
            self._complete()

    def _extend(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._limit:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _complete(self) -> None:
        pieces, length = self._pieces, self._length
        self._pieces, self._length = [], 0
        if length > self._limit:
            self._on_too_long(length)
        else:
            self._on_line(pieces[0] if len(pieces) == 1 else b"".join(pieces))
