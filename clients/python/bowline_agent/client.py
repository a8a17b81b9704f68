"""The asynchronous client."""

from __future__ import annotations

import asyncio
import logging
import os
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Coroutine, Dict, List, Mapping, Optional, Sequence, Type, TypedDict, TypeVar, Union, cast

from .addresses import Scheme
from .backlog import Backlog, Record
from .binary import find_binary
from .commands import AsyncCommands
from .connection import Connection
from .errors import BowlineError, NotRunning, ProcessDied
from .functions import call, in_thread, is_coroutine
from .protocol import Accepted, Event, State
from .requests import Approve, Requests
from .restart import SESSION_FLAGS, STATE_CHANGES, Memory, Restart
from .runs import Run, RunResult
from .timeouts import DEFAULT, Timeout
from .tools import Tool, as_tool
from .ui import Ui

log = logging.getLogger("bowline_agent")

Function = TypeVar("Function", bound=Callable[..., Any])
AnyTool = Union[Tool, Callable[..., Any]]
PathText = Union[str, "os.PathLike[str]"]
Listener = Callable[[Event], Any]

# bowline's own limit on the length of a command.
LINE_LIMIT = 64 * 1024 * 1024


class Options(TypedDict, total=False):
    """The arguments of a client: see `AsyncBowline`."""

    model: Optional[str]
    cwd: Optional[PathText]
    arguments: Sequence[str]
    env: Optional[Mapping[str, Optional[str]]]
    binary: Optional[PathText]
    session: Optional[PathText]
    session_id: Optional[str]
    no_session: bool
    tools: Sequence[AnyTool]
    schemes: Sequence[Scheme]
    ui: Optional[Ui]
    approve: Optional[Approve]
    restart: Optional[Restart]
    on_restart: Optional[Callable[[ProcessDied], Any]]
    on_stderr: Optional[Callable[[str], None]]
    on_problem: Optional[Callable[[str], None]]
    backlog_bytes: int
    max_record_bytes: int
    line_limit: int


class Subscription:
    """All events from the moment it was made, in order. Ends when the client stops, or with `close`."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        record = await self._backlog.take()
        if record is None:
            raise StopAsyncIteration
        return cast(Event, record)

    async def next_events(self) -> List[Event]:
        """Returns the events that are there, at least one, or none at the end. Cheaper than one by one."""
        return cast(List[Event], await self._backlog.take_all())

    def close(self) -> None:
        self._backlog.discard()

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def call_with_each(function: Listener, events: Sequence[Event]) -> None:
    for event in events:
        try:
            function(event)
        except Exception:
            log.exception("a listener failed")


class AsyncBowline(AsyncCommands):
    """A client of one bowline process. Use it with `async with`, or call `start` and `stop`.

    Args:
        model: The model, such as `anthropic/claude-sonnet-5` or `scripted/demo`.
        cwd: The folder that the agent works in.
        arguments: Further flags of bowline.
        env: Variables in addition to those of this process; `None` removes one.
        binary: The program; otherwise `BOWLINE`, the one beside this package, or that in `PATH`.
        session: The file or id of a session to continue.
        session_id: The id of a session to continue or to create.
        no_session: Keep the session in memory only.
        tools: Functions that the model can call: see `Tool`.
        schemes: Addresses that the client serves: see `Scheme`.
        ui: What answers the questions of extensions. Without it, they get no answer.
        approve: Decides about tool calls that need the user's consent. Without it, they are refused.
        restart: Start bowline again after a crash, and continue the session.
        on_restart: Called after a restart, with the reason.
        on_stderr: Called with each line of stderr.
        on_problem: Called with what came on stdout and is no record.
        backlog_bytes: How much a consumer of events may be behind before bowline is slowed down.
        max_record_bytes: Longer records are skipped, and reported as a problem.
        line_limit: The longest command in bytes.
    """

    def __init__(
        self,
        *,
        model: Optional[str] = None,
        cwd: Optional[PathText] = None,
        arguments: Sequence[str] = (),
        env: Optional[Mapping[str, Optional[str]]] = None,
        binary: Optional[PathText] = None,
        session: Optional[PathText] = None,
        session_id: Optional[str] = None,
        no_session: bool = False,
        tools: Sequence[AnyTool] = (),
        schemes: Sequence[Scheme] = (),
        ui: Optional[Ui] = None,
        approve: Optional[Approve] = None,
        restart: Optional[Restart] = None,
        on_restart: Optional[Callable[[ProcessDied], Any]] = None,
        on_stderr: Optional[Callable[[str], None]] = None,
        on_problem: Optional[Callable[[str], None]] = None,
        backlog_bytes: int = 8 * 1024 * 1024,
        max_record_bytes: int = 512 * 1024 * 1024,
        line_limit: int = LINE_LIMIT,
    ) -> None:
        chosen = [flag for flag in arguments if flag.partition("=")[0] in SESSION_FLAGS]
        if restart is not None and chosen:
            raise ValueError(f"with restart=, choose the session with session=, session_id= or no_session=, not {chosen[0]}")
        self._model = model
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._arguments = list(arguments)
        self._env = env
        self._binary = binary
        self._session = None if session is None else os.fspath(session)
        self._session_id = session_id
        self._no_session = no_session
        self._tools = {tool.name: tool for tool in map(as_tool, tools)}
        self._schemes = {scheme.name.lower(): scheme for scheme in schemes}
        self._ui = ui
        self._approve = approve
        self._on_restart = on_restart
        self._on_stderr = on_stderr or (lambda line: None)
        self._on_problem = on_problem or (lambda problem: None)
        self._backlog_bytes = backlog_bytes
        self._max_record_bytes = max_record_bytes
        self._line_limit = line_limit
        self._memory = Memory(restart)
        self._connection: Optional[Connection] = None
        self._requests: Optional[Requests] = None
        self._tasks: "set[asyncio.Task[Any]]" = set()
        self._running = False

    # Start and end

    async def start(self) -> State:
        """Starts bowline and returns its state. Fails if bowline cannot start, with what it said about it."""
        if self._running:
            raise BowlineError("the client is running already")
        connection = Connection(
            on_record=self._on_record,
            on_success=self._on_success,
            on_exit=self._on_exit,
            on_stderr=self._on_stderr,
            on_problem=self._on_problem,
            bound=self._backlog_bytes,
            max_record_bytes=self._max_record_bytes,
            line_limit=self._line_limit,
        )
        self._connection = connection
        self._requests = Requests(connection.send, self._answer_approval, self._ui, self._approve)
        self._requests.tools = self._tools
        self._requests.schemes = self._schemes
        try:
            await connection.start(self._command_line(self._session_flags()), self._cwd, self._environment())
            state = await self._set_up()
        except BaseException:
            await connection.stop(1.0)
            raise
        connection.release()
        self._running = True
        return state

    async def stop(self, patience: float = 10.0) -> Optional[int]:
        """Ends bowline and returns its exit code.

        Closes stdin, which lets bowline abort its run and write the rest; it is terminated if it has not ended after
        `patience` seconds, and killed if that does not help.
        """
        self._running = False
        if self._connection is None:
            return None
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        if self._requests is not None:
            self._requests.cancel_all()
        # A tool that stops the client is cancelled with its run; the process has to end all the same.
        return await asyncio.shield(self._connection.stop(patience))

    @property
    def is_running(self) -> bool:
        return self._running

    @property
    def pid(self) -> Optional[int]:
        """The id of the process, while there is one."""
        process = self._connection.process if self._connection else None
        return process.pid if process else None

    async def __aenter__(self) -> "AsyncBowline":
        await self.start()
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.stop()

    # Runs

    def _start_run(self, fields: Dict[str, Any], timeout: Timeout) -> Run:
        connection = self._connected()
        backlog = connection.new_backlog()

        def on_success(accepted: Accepted) -> None:
            if accepted["disposition"] == "handled":
                backlog.close()
            else:
                connection.attach_run(backlog)

        return Run(self, connection.submit("prompt", fields, timeout, on_success), backlog)

    async def _run_to_end(self, fields: Dict[str, Any], timeout: Optional[float]) -> RunResult:
        run = self._start_run(fields, DEFAULT)
        try:
            return await run.result(timeout=timeout)
        except asyncio.CancelledError:
            if self._running:
                self._spawn(run.abort())
            raise

    async def wait_until_idle(self, timeout: Optional[float] = None) -> None:
        """Waits until no run is in progress."""
        await asyncio.wait_for(self._idle(), timeout)

    async def _idle(self) -> None:
        connection = self._connected()
        while True:
            # It gets no events, and ends with the run.
            end_of_run = connection.new_backlog(lambda record: False)
            connection.attach_run(end_of_run)
            if not (await self.get_state())["isStreaming"]:
                return
            await end_of_run.take()

    # Events

    def subscribe(self, *types: str) -> Subscription:
        """Returns all events from now on, or those of some types, until the client stops.

        Whoever subscribes has to take the events: bowline is slowed down for a consumer that is behind.
        """
        return self._subscribe(types, passive=False)

    def _subscribe(self, types: Sequence[str], passive: bool) -> Subscription:
        accepts = (lambda record: record["type"] in types) if types else None
        return Subscription(self._connected().subscribe(accepts, passive))

    def listen(self, function: Listener, *types: str) -> Callable[[], None]:
        """Calls a function with each event, one after the other. Returns a function that ends it."""
        subscription = self._subscribe(types, passive=True)

        async def pass_on() -> None:
            while True:
                events = await subscription.next_events()
                if not events:
                    return
                # One thread for all that are there: a thread for each would cost more than most functions.
                if is_coroutine(function):
                    for event in events:
                        await self._call_listener(function, event)
                else:
                    await in_thread(call_with_each, function, events)

        task = self._spawn(pass_on())

        def end() -> None:
            subscription.close()
            task.cancel()

        return end

    @staticmethod
    async def _call_listener(function: Listener, event: Event) -> None:
        try:
            await function(event)
        except Exception:
            log.exception("a listener failed")

    # Tools

    def tool(self, function: Function) -> Function:
        """Offers a function to the model; a decorator. Use it before the start, or `add_tools` later."""
        if self._running:
            raise BowlineError("the client is running: use `await client.add_tools(function)`")
        tool = as_tool(function)
        self._tools[tool.name] = tool
        return function

    async def add_tools(self, *tools: AnyTool) -> None:
        """Offers more tools to the model, from its next turn on. One of the same name is replaced."""
        before = dict(self._tools)
        self._tools.update({tool.name: tool for tool in map(as_tool, tools)})
        await self._send_tools(before)

    async def remove_tools(self, *names: str) -> None:
        """Withdraws tools; without a name, all."""
        before = dict(self._tools)
        for name in names or list(self._tools):
            self._tools.pop(name, None)
        await self._send_tools(before)

    async def _send_tools(self, before: Dict[str, Tool]) -> None:
        try:
            await self.set_host_tools([tool.declaration() for tool in self._tools.values()])
        except BaseException:
            self._tools.clear()
            self._tools.update(before)
            raise

    # Other lines

    async def _command(self, name: str, fields: Dict[str, Any], timeout: Timeout) -> Any:
        connection = self._connected()
        process = connection.process
        if process is not None and process.is_congested:
            with connection.keep_reading():
                await process.drain()
        return await connection.command(name, fields, timeout)

    async def command(self, name: str, fields: Optional[Mapping[str, Any]] = None, timeout: Timeout = DEFAULT) -> Any:
        """Sends a command by its name on the wire and returns the data of its response."""
        return await self._command(name, dict(fields or {}), timeout)

    def submit(
        self,
        name: str,
        fields: Mapping[str, Any],
        timeout: Timeout = DEFAULT,
        on_success: Optional[Callable[[Any], None]] = None,
    ) -> "asyncio.Future[Any]":
        """Sends a command at once and returns the future data of its response.

        `on_success` gets the data before any later record is looked at.
        """
        return self._connected().submit(name, fields, timeout, on_success)

    def _connected(self) -> Connection:
        if self._connection is None:
            raise NotRunning("the client is not started: use `async with`, or start()")
        return self._connection

    # Inside

    def _command_line(self, session: Sequence[str]) -> List[str]:
        command = [find_binary(self._binary), "--mode", "rpc", *session]
        if self._model is not None:
            command += ["--model", self._model]
        if self._line_limit != LINE_LIMIT:
            command += ["--line-limit", str(self._line_limit)]
        return command + self._arguments

    def _session_flags(self) -> List[str]:
        flags = []
        if self._session is not None:
            flags += ["--session", self._session]
        if self._session_id is not None:
            flags += ["--session-id", self._session_id]
        if self._no_session:
            flags += ["--no-session"]
        return flags

    def _environment(self) -> Optional[Dict[str, str]]:
        if self._env is None:
            return None
        variables: Dict[str, Optional[str]] = {**os.environ, **self._env}
        return {name: value for name, value in variables.items() if value is not None}

    async def _set_up(self) -> State:
        """Tells a new process what the client has, before any other command."""
        connection = self._connected()

        async def send(name: str, fields: Mapping[str, Any]) -> Any:
            return await connection.command(name, fields, overtaking=True)

        if self._approve is not None:
            await send("set_client_capabilities", {"approvals": "record"})
        if self._tools:
            await send("set_host_tools", {"tools": [tool.declaration() for tool in self._tools.values()]})
        if self._schemes:
            await send("set_host_uri_schemes", {"schemes": [each.declaration() for each in self._schemes.values()]})
        state = cast(State, await send("get_state", {}))
        self._memory.state(state)
        return state

    def _on_record(self, record: Record) -> None:
        if self._requests is not None:
            self._requests.handle(record)
        # Extensions change the session, too.
        if record["type"] == "agent_settled":
            self._note_state()

    def _on_success(self, name: str, fields: Mapping[str, Any], data: Any) -> None:
        self._memory.succeeded(name, fields, data)
        if name == "get_state":
            self._memory.state(data)
        elif name in STATE_CHANGES:
            self._note_state()

    def _note_state(self) -> None:
        if self._running and self._memory.is_needed:
            self._spawn(self._connected().command("get_state", {}))

    async def _answer_approval(self, name: str, fields: Mapping[str, Any]) -> Any:
        return await self._connected().command(name, fields)

    def _on_exit(self, died: ProcessDied) -> None:
        if self._requests is not None:
            self._requests.cancel_all()
        if not self._running:
            return
        delay = self._memory.next_delay()
        if delay is None:
            self._running = False
            self._connected().end(died)
        else:
            log.warning("%s; it is started again", died)
            self._connected().hold()
            self._spawn(self._start_again(died, delay))

    async def _start_again(self, died: ProcessDied, delay: float) -> None:
        connection = self._connected()
        await asyncio.sleep(delay)
        try:
            command = self._command_line(self._memory.arguments())
            await connection.start(command, self._cwd, self._environment())
            for name, fields in self._memory.commands():
                await connection.command(name, fields, overtaking=True)
            self._memory.state(await connection.command("get_state", {}, overtaking=True))
        except ProcessDied:
            return  # `_on_exit` has decided about that.
        except (BowlineError, OSError) as error:
            log.error("bowline cannot be started again: %s", error)
            self._running = False
            await connection.stop(1.0)
            connection.end(died)
            return
        connection.release()
        if self._on_restart is not None:
            await call(self._on_restart, died)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Starts a task whose failure nobody waits for."""
        task: "asyncio.Task[Any]" = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def ended(_: "asyncio.Task[Any]") -> None:
            self._tasks.discard(task)
            if not task.cancelled() and task.exception() is not None:
                log.debug("a task in the background failed", exc_info=task.exception())

        task.add_done_callback(ended)
        return task
