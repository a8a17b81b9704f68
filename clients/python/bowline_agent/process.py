"""The child process: bytes in, lines out, and how it ended.

stdin is a pipe made here, because asyncio would take a socket, which is slower for the reader. Data is handled in the
callbacks of the transports, without a task of its own: that saves a turn of the loop for each response.
"""

from __future__ import annotations

import asyncio
import collections
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Deque, List, Mapping, Optional, Sequence, cast

from .lines import LineSplitter

STDOUT, STDERR = 1, 2
# How much of stderr is kept to say why the process ended.
STDERR_LINES = 200
STDERR_LINE_BYTES = 64 * 1024
# How long the pipes of a process that has ended may stay open: a grandchild can hold them.
DRAIN_SECONDS = 2.0


@dataclass(frozen=True)
class Exit:
    """How the process ended."""

    code: Optional[int]
    stderr: List[str]


class Process(asyncio.SubprocessProtocol):
    """A running bowline. `on_line` gets each line of stdout, `on_exit` is called once, after the last line."""

    def __init__(
        self,
        on_line: Callable[[bytes], None],
        on_stderr: Callable[[str], None],
        on_problem: Callable[[str], None],
        on_exit: Callable[["Process", Exit], None],
        max_record_bytes: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_stderr = on_stderr
        self._on_exit = on_exit
        self._stdout = LineSplitter(
            on_line, lambda length: on_problem(f"a record of {length} bytes is above max_record_bytes; it was skipped"),
            max_record_bytes,
        )
        self._stderr = LineSplitter(self._keep_stderr, lambda length: None, STDERR_LINE_BYTES)
        self._last_words: Deque[str] = collections.deque(maxlen=STDERR_LINES)
        self._open = {STDOUT, STDERR}
        self._paused = False
        self._exited = False
        self._finished = False
        self._transport: Optional[asyncio.SubprocessTransport] = None
        self._stdin: Optional[_Stdin] = None
        self.ended: "asyncio.Future[Exit]" = self._loop.create_future()

    async def start(self, command: Sequence[str], cwd: Optional[str], env: Optional[Mapping[str, str]]) -> None:
        """Starts the program."""
        if sys.platform == "win32":
            await self._loop.subprocess_exec(lambda: self, *command, cwd=cwd, env=env)
            assert self._transport is not None
            self._stdin = _Stdin(cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0)))
            return
        reading, writing = os.pipe()
        try:
            await self._loop.subprocess_exec(lambda: self, *command, stdin=reading, cwd=cwd, env=env)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        transport, protocol = await self._loop.connect_write_pipe(_Stdin, os.fdopen(writing, "wb", 0))
        self._stdin = protocol

    @property
    def pid(self) -> Optional[int]:
        return self._transport.get_pid() if self._transport else None

    # Writing

    def write(self, data: bytes) -> None:
        """Writes to stdin. If the process has gone, that is found out by the reading side, which knows why."""
        if self._stdin is not None and not self._stdin.transport.is_closing():
            self._stdin.transport.write(data)

    @property
    def is_congested(self) -> bool:
        """Whether bowline reads more slowly than the client writes."""
        return self._stdin is not None and self._stdin.drained is not None

    async def drain(self) -> None:
        """Waits until bowline has read most of what was written."""
        if self._stdin is not None and self._stdin.drained is not None:
            await asyncio.shield(self._stdin.drained)

    # Reading

    def set_paused(self, paused: bool) -> None:
        """Stops or continues reading stdout."""
        if paused == self._paused or self._exited or STDOUT not in self._open or self._transport is None:
            return
        self._paused = paused
        stdout = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(STDOUT))
        stdout.pause_reading() if paused else stdout.resume_reading()

    # Ending

    async def stop(self, patience: float) -> Exit:
        """Closes stdin, which ends bowline; then terminates it, then kills it, if it does not end in time."""
        self.set_paused(False)
        if self._stdin is not None:
            self._stdin.transport.close()
        for step in (None, "terminate", "kill"):
            if step is not None:
                self._signal(step)
            done, _ = await asyncio.wait([self.ended], timeout=patience)
            if done:
                break
            patience = min(patience, 6.0)
        return await self.ended

    def kill(self) -> None:
        self._signal("kill")

    def _signal(self, method: str) -> None:
        if self._transport is not None and not self._exited:
            try:
                getattr(self._transport, method)()
            except ProcessLookupError:
                pass

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self._stdout if fd == STDOUT else self._stderr).feed(data)

    def pipe_connection_lost(self, fd: int, exc: Optional[Exception]) -> None:
        self._open.discard(fd)
        if self._exited and not self._open:
            self._finish()

    def process_exited(self) -> None:
        # What is left in the pipe is little, and nobody must wait for a slow consumer to learn of the end.
        self.set_paused(False)
        self._exited = True
        if self._open:
            self._loop.call_later(DRAIN_SECONDS, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        if self._finished:
            return
        self._finished = True
        self._stdout.end()
        self._stderr.end()
        code = self._transport.get_returncode() if self._transport else None
        result = Exit(code, list(self._last_words))
        if self._stdin is not None:
            self._stdin.abort()
        if self._transport is not None:
            self._transport.close()
        if not self.ended.done():
            self.ended.set_result(result)
        self._on_exit(self, result)

    def _keep_stderr(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        self._last_words.append(text)
        self._on_stderr(text)


class _Stdin(asyncio.BaseProtocol):
    """The writing end of stdin. `drained` is there while too much is unwritten."""

    def __init__(self, transport: Optional[asyncio.WriteTransport] = None) -> None:
        self.drained: "Optional[asyncio.Future[None]]" = None
        if transport is not None:
            self.transport = transport

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def pause_writing(self) -> None:
        if self.drained is None:
            self.drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        self.release()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self.release()

    def abort(self) -> None:
        """Drops what is not written yet."""
        # A transport that is closed already must not be closed once more.
        if not self.transport.is_closing() or self.transport.get_write_buffer_size() > 0:
            self.transport.abort()
        self.release()

    def release(self) -> None:
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
