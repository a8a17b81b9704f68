"""A connection to one process: commands out, responses and events in.

Everything here runs on the loop of the client. Reading is paused while a consumer has too much to do, unless a response
is awaited: see `backlog.py`.
"""

from __future__ import annotations

import asyncio
import collections
import itertools
import logging
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence

from . import timeouts
from .backlog import Backlog, Record
from .decoding import decode, encode
from .errors import BowlineError, CommandFailed, CommandTimedOut, NotRunning, ProcessDied
from .process import Exit, Process

log = logging.getLogger("bowline_agent")


@dataclass
class Waiter:
    """A command whose response is awaited."""

    name: str
    fields: Mapping[str, Any]
    future: "asyncio.Future[Any]"
    timer: Optional[asyncio.TimerHandle]
    # Called with the data, before any later record is looked at.
    on_success: Optional[Callable[[Any], None]]


class Connection:
    """Sends commands, matches responses, passes on all other records."""

    def __init__(
        self,
        *,
        on_record: Callable[[Record], None],
        on_success: Callable[[str, Mapping[str, Any], Any], None],
        on_exit: Callable[[ProcessDied], None],
        on_stderr: Callable[[str], None],
        on_problem: Callable[[str], None],
        bound: int,
        max_record_bytes: int,
        line_limit: int,
    ) -> None:
        self._on_record = on_record
        self._on_success = on_success
        self._on_exit = on_exit
        self._on_stderr = on_stderr
        self._on_problem = on_problem
        self._bound = bound
        self._max_record_bytes = max_record_bytes
        self._line_limit = line_limit
        self._loop = asyncio.get_running_loop()
        self._process: Optional[Process] = None
        self._ids = itertools.count(1)
        self._waiters: Dict[str, Waiter] = {}
        self._held: Optional[Deque[bytes]] = None
        self._subscribers: List["weakref.ref[Backlog]"] = []
        self._runs: List["weakref.ref[Backlog]"] = []
        self._must_read = 0
        self._fatal: Optional[str] = None
        self._death: Optional[BowlineError] = NotRunning("the client is not started: use `async with`, or start()")

    # The process

    async def start(self, command: Sequence[str], cwd: Optional[str], env: Optional[Mapping[str, str]]) -> None:
        """Starts a process. What is submitted before `release` waits, unless it overtakes."""
        if self._held is None:
            self._held = collections.deque()
        self._fatal = None
        process = Process(self._on_line, self._on_stderr, self._on_problem, self._exited, self._max_record_bytes)
        await process.start(command, cwd, env)
        self._process = process
        self._death = None

    def release(self) -> None:
        """Sends what has been held back."""
        held, self._held = self._held, None
        for line in held or ():
            self._write(line)

    def hold(self) -> None:
        """Lets commands wait for the next process instead of failing."""
        self._held = collections.deque()
        self._death = None

    @property
    def process(self) -> Optional[Process]:
        return self._process

    async def stop(self, patience: float) -> Optional[int]:
        process, self._process = self._process, None
        self.end(NotRunning("the client was stopped"), keep_waiting=process is not None)
        if process is None:
            return None
        ended = await process.stop(patience)
        self.end(NotRunning("the client was stopped"))
        return ended.code

    def end(self, error: BowlineError, keep_waiting: bool = False) -> None:
        """Refuses new commands, and fails those that are waiting."""
        self._death = error
        if not keep_waiting:
            self._fail_waiters(error)
            self._close(self._runs, error)
            self._close(self._subscribers, None if isinstance(error, NotRunning) else error)

    def _exited(self, process: Process, ended: Exit) -> None:
        if process is not self._process:
            return
        self._process = None
        died = ProcessDied(ended.code, ended.stderr, self._fatal)
        self._death = died
        self._held = None
        self._fail_waiters(died)
        self._close(self._runs, died)
        self._on_exit(died)

    # Commands

    def submit(
        self,
        name: str,
        fields: Mapping[str, Any],
        timeout: timeouts.Timeout = timeouts.DEFAULT,
        on_success: Optional[Callable[[Any], None]] = None,
        overtaking: bool = False,
    ) -> "asyncio.Future[Any]":
        """Sends a command at once, and returns the future data of its response."""
        if self._death is not None:
            raise self._death.with_traceback(None)
        identifier = f"py-{next(self._ids)}"
        line = encode({"id": identifier, "type": name, **{key: value for key, value in fields.items() if value is not None}})
        if len(line) > self._line_limit:
            raise ValueError(
                f"{name}: the command has {len(line)} bytes; bowline accepts {self._line_limit}. line_limit= sets another limit"
            )
        future: "asyncio.Future[Any]" = self._loop.create_future()
        limit = timeouts.seconds(name, timeout)
        timer = None if limit is None else self._loop.call_later(limit, self._timed_out, identifier, limit)
        self._waiters[identifier] = Waiter(name, fields, future, timer, on_success)
        future.add_done_callback(lambda _: self._forget(identifier))
        if self._held is not None and not overtaking:
            self._held.append(line)
        else:
            self._write(line)
        self.adjust_reading()
        return future

    async def command(
        self,
        name: str,
        fields: Mapping[str, Any],
        timeout: timeouts.Timeout = timeouts.DEFAULT,
        overtaking: bool = False,
    ) -> Any:
        """Sends a command and returns the data of its response."""
        future = self.submit(name, fields, timeout, overtaking=overtaking)
        try:
            return await future
        finally:
            future.cancel()

    def send(self, record: Mapping[str, Any]) -> None:
        """Sends a line that gets no response. If the process has gone, nobody waits for it."""
        self._write(encode(record))

    def _write(self, line: bytes) -> None:
        if self._process is not None:
            self._process.write(line)

    def _timed_out(self, identifier: str, limit: float) -> None:
        waiter = self._waiters.get(identifier)
        if waiter is not None and not waiter.future.done():
            waiter.future.set_exception(CommandTimedOut(waiter.name, limit))

    def _forget(self, identifier: str) -> None:
        waiter = self._waiters.pop(identifier, None)
        if waiter is not None:
            if waiter.timer is not None:
                waiter.timer.cancel()
            self.adjust_reading()

    def _fail_waiters(self, error: BowlineError) -> None:
        for waiter in list(self._waiters.values()):
            if not waiter.future.done():
                waiter.future.set_exception(error)

    # Records

    def _on_line(self, line: bytes) -> None:
        if not line.strip():
            return
        decoded = decode(line)
        if decoded.problem is not None:
            self._report(decoded.problem)
        record = decoded.record
        if record is None:
            return
        if record["type"] == "response":
            self._on_response(record)
            return
        if record["type"] == "error" and record.get("fatal"):
            self._fatal = str(record.get("error"))
        self._deliver(record, line)
        self._guarded(self._on_record, record)

    def _on_response(self, record: Record) -> None:
        identifier = record.get("id")
        waiter = self._waiters.pop(identifier, None) if isinstance(identifier, str) else None
        if waiter is None:
            if not isinstance(identifier, str):
                self._report(f"bowline could not read a line of this client: {record.get('error')}")
            return
        if waiter.timer is not None:
            waiter.timer.cancel()
        if waiter.future.done():
            return
        if record.get("success"):
            data = record.get("data")
            if waiter.on_success is not None:
                waiter.on_success(data)
            waiter.future.set_result(data)
            self._guarded(self._on_success, waiter.name, waiter.fields, data)
        else:
            waiter.future.set_exception(CommandFailed(record))
        self.adjust_reading()

    def _deliver(self, record: Record, line: bytes) -> None:
        full = False
        for reference in (*self._subscribers, *self._runs):
            backlog = reference()
            if backlog is not None:
                backlog.put(record, line)
                full = full or backlog.is_full
        if record["type"] == "agent_settled":
            self._close(self._runs, None)
        if full:
            self.adjust_reading()

    def _report(self, problem: str) -> None:
        log.warning("%s", problem)
        self._guarded(self._on_problem, problem)

    @staticmethod
    def _guarded(function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function of the client; an error in it must not keep later records from being read."""
        try:
            function(*arguments)
        except Exception:
            log.exception("an error while a record was handled")

    # Consumers

    def subscribe(self, accepts: Optional[Callable[[Record], bool]] = None, passive: bool = False) -> Backlog:
        """Returns a queue that gets all records from now on, as long as somebody keeps it."""
        backlog = Backlog(self._bound, self.adjust_reading, accepts, passive)
        self._attach(self._subscribers, backlog)
        return backlog

    def attach_run(self, backlog: Backlog) -> None:
        """Lets the queue have the records from now on up to the end of the run."""
        self._attach(self._runs, backlog)

    def new_backlog(self, accepts: Optional[Callable[[Record], bool]] = None) -> Backlog:
        return Backlog(self._bound, self.adjust_reading, accepts)

    def _attach(self, consumers: List["weakref.ref[Backlog]"], backlog: Backlog) -> None:
        def gone(reference: "weakref.ref[Backlog]") -> None:
            # Objects can be collected in any thread.
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(detach, reference)

        def detach(reference: "weakref.ref[Backlog]") -> None:
            if reference in consumers:
                consumers.remove(reference)
            self.adjust_reading()

        consumers.append(weakref.ref(backlog, gone))

    @staticmethod
    def _close(consumers: List["weakref.ref[Backlog]"], error: Optional[BaseException]) -> None:
        for reference in consumers:
            backlog = reference()
            if backlog is not None:
                backlog.close(error)
        consumers.clear()

    def keep_reading(self) -> "KeepReading":
        """Returns a context in which reading is never paused, because something other than an event is awaited."""
        return KeepReading(self)

    def adjust_reading(self) -> None:
        """Pauses or continues reading, as consumers and awaited responses require."""
        if self._process is None:
            return
        paused = False
        if not self._waiters and not self._must_read:
            references = (*self._subscribers, *self._runs)
            backlogs = [backlog for backlog in (reference() for reference in references) if backlog is not None]
            paused = any(backlog.is_full for backlog in backlogs) and not any(backlog.is_awaited for backlog in backlogs)
        self._process.set_paused(paused)


class KeepReading:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection._must_read += 1
        self._connection.adjust_reading()

    def __exit__(self, *_: object) -> None:
        self._connection._must_read -= 1
        self._connection.adjust_reading()
