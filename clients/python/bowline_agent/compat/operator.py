"""A client with the methods of operator-use's `RPCClient`, for programs that are to run with bowline instead.

    from bowline_agent.compat.operator import RPCClient

What differs: `binary` takes the place of `python`; failures are `RPCError`s, which are `RuntimeError`s; a process that ends
fails what is waited for at once; lines have no limit; `prompt_and_wait` returns after `settled`, so that the next run
does not begin with the end of the last one.
"""

from __future__ import annotations

import asyncio
import logging
import os
from types import TracebackType
from typing import Any, Callable, List, Literal, Optional, Sequence, Type, Union, cast

from ..backlog import Record
from ..binary import find_binary
from ..connection import Connection
from ..errors import BowlineError, CommandFailed, CommandTimedOut, NotRunning, ProcessDied
from ..client import LINE_LIMIT

log = logging.getLogger("bowline_agent")

Listener = Callable[[Record], Any]
Form = Literal["operator", "operator-flat"]
# In the documented form, these are answered when they are done.
LASTING = ("prompt", "compact", "steer", "follow_up")


class RPCError(BowlineError, RuntimeError):
    """A command failed. These protocols have no codes for that, only texts."""

    def __init__(self, failure: CommandFailed) -> None:
        super().__init__(failure.error)
        self.response = failure.response


class RPCClient:
    """Starts bowline with one of operator-use's protocols.

    Args:
        cwd: The folder that the agent works in.
        model_id: The model.
        provider: Its provider.
        binary: The program, if it is not to be searched for.
        timeout: Seconds to wait for a response.
        dialect: `operator-flat` for what operator-use's code speaks, `operator` for what its documentation describes.
        arguments: Further flags of bowline.
    """

    def __init__(
        self,
        cwd: Union[str, "os.PathLike[str]"] = ".",
        model_id: Optional[str] = None,
        provider: Optional[str] = None,
        *,
        binary: Union[str, "os.PathLike[str]", None] = None,
        timeout: float = 30.0,
        dialect: Form = "operator-flat",
        arguments: Sequence[str] = (),
    ) -> None:
        self._cwd = os.path.abspath(os.fspath(cwd))
        self._model_id = model_id
        self._provider = provider
        self._binary = binary
        self._timeout = timeout
        self._dialect: Form = dialect
        self._arguments = list(arguments)
        self._connection: Optional[Connection] = None
        self._listeners: List[Listener] = []
        self._over: "List[asyncio.Future[None]]" = []

    # Start and end

    async def start(self) -> None:
        command = [find_binary(self._binary), "--mode", "rpc", "--dialect", self._dialect]
        if self._model_id:
            command += ["--model", self._model_id]
        if self._provider:
            command += ["--provider", self._provider]
        connection = Connection(
            on_record=self._on_record,
            on_success=lambda name, fields, data: None,
            on_exit=self._on_exit,
            on_stderr=lambda line: None,
            on_problem=lambda problem: None,
            bound=LINE_LIMIT,
            max_record_bytes=8 * LINE_LIMIT,
            line_limit=LINE_LIMIT,
        )
        await connection.start(command + self._arguments, self._cwd, None)
        connection.release()
        self._connection = connection

    async def stop(self) -> None:
        if self._connection is not None:
            await self._connection.stop(10.0)
            self._end(NotRunning("the client was stopped"))

    async def __aenter__(self) -> "RPCClient":
        await self.start()
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.stop()

    # Commands

    async def prompt(self, message: str) -> Record:
        return await self._send("prompt", message=message)

    async def steer(self, message: str) -> Record:
        return await self._send("steer", message=message)

    async def follow_up(self, message: str) -> Record:
        return await self._send("follow_up", message=message)

    async def abort(self) -> Record:
        return await self._send("abort")

    async def get_state(self) -> Record:
        return await self._data("get_state")

    async def get_messages(self) -> List[Record]:
        return cast(List[Record], (await self._data("get_messages"))["messages"])

    async def get_last_assistant_text(self) -> Optional[str]:
        return cast(Optional[str], (await self._data("get_last_assistant_text")).get("text"))

    async def new_session(self) -> Record:
        return await self._send("new_session")

    async def switch_session(self, session_path: Union[str, "os.PathLike[str]"]) -> Record:
        return await self._send("switch_session", session_path=os.fspath(session_path))

    async def fork(self, entry_id: str) -> Record:
        return await self._send("fork", entry_id=entry_id)

    async def set_session_name(self, name: str) -> Record:
        return await self._send("set_session_name", name=name)

    async def get_session_stats(self) -> Record:
        return await self._data("get_session_stats")

    async def set_model(self, model_id: str, provider: Optional[str] = None) -> Record:
        return await self._send("set_model", model_id=model_id, provider=provider)

    async def set_thinking_level(self, level: str) -> Record:
        return await self._send("set_thinking_level", level=level)

    async def compact(self, custom_instructions: Optional[str] = None) -> Record:
        return await self._send("compact", custom_instructions=custom_instructions)

    async def set_auto_compaction(self, enabled: bool) -> Record:
        return await self._send("set_auto_compaction", enabled=enabled)

    async def extension_ui_response(self, request_id: str, value: Any = None, cancelled: bool = False) -> None:
        """Answers a dialog. In the form of the documentation there are none."""
        answer = {"type": "extension_ui_response", "id": request_id, "value": value, "cancelled": cancelled}
        self._connected().send(answer)

    # Events

    def on_event(self, listener: Listener) -> Callable[[], None]:
        """Calls a function with each event. Returns a function that ends it."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    async def wait_for_idle(self, timeout: float = 120.0) -> None:
        """Waits until the run in progress is over."""
        await asyncio.wait_for(self._run_over(), timeout)

    async def collect_events(self, timeout: float = 120.0) -> List[Record]:
        """Returns the events up to the end of the run in progress, or those until the time is over."""
        return await self._collect(self._run_over(), timeout)

    async def prompt_and_wait(self, message: str, timeout: float = 120.0) -> List[Record]:
        """Sends a prompt and returns the events of its run, or those until the time is over."""

        async def run() -> None:
            over = self._run_over()
            try:
                await self.prompt(message)
                await over
            except RPCError:
                # In the form of the documentation, the response to a prompt says how its run ended.
                if not over.done():
                    raise
            finally:
                over.cancel()

        return await self._collect(run(), timeout)

    async def _collect(self, work: Any, timeout: float) -> List[Record]:
        events: List[Record] = []
        end = self.on_event(events.append)
        try:
            await asyncio.wait_for(work, timeout)
        except asyncio.TimeoutError as error:
            if isinstance(error, CommandTimedOut):
                raise
        finally:
            end()
        return [event for event in events if event.get("type") != "settled"]

    def _run_over(self) -> "asyncio.Future[None]":
        self._connected()
        over: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        self._over.append(over)
        return over

    # Inside

    async def _send(self, command: str, /, **fields: Any) -> Record:
        lasts = self._dialect == "operator" and command in LASTING
        try:
            data = await self._connected().command(command, fields, None if lasts else self._timeout)
        except CommandFailed as failure:
            raise RPCError(failure) from None
        return {"type": "response", "command": command, "success": True, "data": data}

    async def _data(self, name: str) -> Record:
        return cast(Record, (await self._send(name))["data"] or {})

    def _connected(self) -> Connection:
        if self._connection is None:
            raise NotRunning("the client is not started: use `async with`, or start()")
        return self._connection

    def _on_record(self, record: Record) -> None:
        event = record.get("event") if self._dialect == "operator" and record["type"] == "event" else record
        if not isinstance(event, dict):
            return
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed")
        if event.get("type") == "settled":
            over, self._over = self._over, []
            for each in over:
                if not each.done():
                    each.set_result(None)

    def _on_exit(self, died: ProcessDied) -> None:
        self._end(died)

    def _end(self, error: BowlineError) -> None:
        over, self._over = self._over, []
        for each in over:
            if not each.done():
                each.set_exception(error)
