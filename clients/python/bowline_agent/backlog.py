"""The events that a consumer has not taken yet.

A consumer that is slower than bowline must neither lose an event nor fill the memory:

- Above the bound, the client stops reading stdout. Then bowline slows down, as its protocol says.
- While somebody waits for a response, or another consumer for its next event, the client must read on: what is waited
  for comes after the events that nobody takes, and who waits may be the one who is to take them. What comes then above
  twice the bound goes to a temporary file, and is read from there in order.
"""

from __future__ import annotations

import asyncio
import collections
import tempfile
from typing import IO, Any, Callable, Deque, Dict, List, Optional, Tuple

from .decoding import decode

Record = Dict[str, Any]
# How much is read from the file at once.
READ_BACK = 1024 * 1024


class Backlog:
    """A queue of records with a bound in bytes, for one consumer."""

    def __init__(
        self,
        bound: int,
        on_change: Callable[[], None],
        accepts: Optional[Callable[[Record], bool]] = None,
        passive: bool = False,
    ) -> None:
        self._bound = bound
        self._on_change = on_change
        self._accepts = accepts
        # Nobody who takes from another queue waits for what this consumer does.
        self._passive = passive
        self._records: Deque[Tuple[Record, int]] = collections.deque()
        self._bytes = 0
        self._file: Optional[_Overflow] = None
        self._waiting: "Optional[asyncio.Future[None]]" = None
        self._closed = False
        self._error: Optional[BaseException] = None

    @property
    def is_full(self) -> bool:
        return self._bytes > self._bound or self._file is not None

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the next record."""
        return self._waiting is not None and not self._passive

    @property
    def is_closed(self) -> bool:
        """Whether nothing is added any more."""
        return self._closed

    def put(self, record: Record, line: bytes) -> None:
        """Adds a record; `line` is the record as it came."""
        if self._closed or self._accepts is not None and not self._accepts(record):
            return
        if self._file is not None or self._bytes > 2 * self._bound:
            if self._file is None:
                self._file = _Overflow()
            self._file.write(line)
        else:
            self._records.append((record, len(line)))
            self._bytes += len(line)
        self._wake()

    def close(self, error: Optional[BaseException] = None) -> None:
        """Ends the queue. What is in it can still be taken; then the error is raised, if there is one."""
        if not self._closed:
            self._closed = True
            self._error = error
            self._wake()

    def discard(self) -> None:
        """Ends the queue and drops what is in it."""
        self.close()
        self._records.clear()
        self._bytes = 0
        if self._file is not None:
            self._file.close()
            self._file = None
        self._on_change()

    async def take(self) -> Optional[Record]:
        """Returns the next record, or `None` at the end."""
        while not self._records:
            if self._file is not None:
                self._read_back()
            elif self._closed:
                if self._error is not None:
                    raise self._error
                return None
            else:
                await self._wait()
        return self._pop()

    async def take_all(self) -> List[Record]:
        """Returns all records that are in memory, at least one, or none at the end."""
        first = await self.take()
        records = [] if first is None else [first]
        while self._records:
            records.append(self._pop())
        return records

    def _pop(self) -> Record:
        record, size = self._records.popleft()
        was_full = self.is_full
        self._bytes -= size
        if was_full and not self.is_full:
            self._on_change()
        return record

    def _read_back(self) -> None:
        assert self._file is not None
        for line in self._file.read():
            record = decode(line).record
            if record is not None:
                self._records.append((record, len(line)))
                self._bytes += len(line)
        if self._file.is_empty:
            self._file.close()
            self._file = None
            if not self.is_full:
                self._on_change()

    async def _wait(self) -> None:
        if self._waiting is not None:
            raise RuntimeError("the events of a subscription or a run can be taken by one consumer only")
        self._waiting = asyncio.get_running_loop().create_future()
        self._on_change()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class _Overflow:
    """Lines in a temporary file that nobody else sees, first in, first out."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="bowline-events-")
        self._read = 0
        self._written = 0

    @property
    def is_empty(self) -> bool:
        return self._read == self._written

    def write(self, line: bytes) -> None:
        self._file.seek(self._written)
        self._file.write(line + b"\n")
        self._written += len(line) + 1

    def read(self) -> List[bytes]:
        """Returns the next lines, at least one."""
        self._file.seek(self._read)
        lines = self._file.readlines(READ_BACK)
        self._read += sum(map(len, lines))
        return [line[:-1] for line in lines]

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        # Of a consumer that was forgotten.
        self._file.close()
