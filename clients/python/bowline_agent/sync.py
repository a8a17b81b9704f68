"""The same client without asyncio: its loop runs in a thread of its own."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Deque, Dict, Iterator, List, Mapping, Optional, Type, TypeVar

from .client import AnyTool, AsyncBowline, Function, Listener, Options, Subscription
from .commands import SyncCommands
from .errors import BowlineError, NotRunning
from .protocol import Accepted, Event, State
from .runs import Run, RunResult
from .timeouts import DEFAULT, Timeout

if TYPE_CHECKING:
    # Type checkers know this module, which is not needed to run.
    from typing_extensions import Unpack

T = TypeVar("T")


class Bowline(SyncCommands):
    """A client of one bowline process. Use it with `with`, or call `start` and `stop`.

    It takes the arguments of `AsyncBowline` and may be used from any thread. Functions given to it run in threads of
    their own, so they may block and call the client.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._client = AsyncBowline(**options)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._thread: Optional[threading.Thread] = None

    # Start and end

    def start(self) -> State:
        """Starts bowline and returns its state. Fails if bowline cannot start, with what it said about it."""
        if self._loop is not None:
            raise BowlineError("the client is running already")
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=self._run_loop, args=(loop,), name="bowline", daemon=True)
        self._thread.start()
        try:
            return self._wait(self._client.start())
        except BaseException:
            self._end_loop()
            raise

    def stop(self, patience: float = 10.0) -> Optional[int]:
        """Ends bowline and returns its exit code. See `AsyncBowline.stop`."""
        if self._loop is None:
            return None
        try:
            return self._wait(self._client.stop(patience))
        finally:
            self._end_loop()

    @property
    def is_running(self) -> bool:
        return self._client.is_running

    @property
    def pid(self) -> Optional[int]:
        """The id of the process, while there is one."""
        return self._client.pid

    def __enter__(self) -> "Bowline":
        self.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()

    # Runs

    def _start_run(self, fields: Dict[str, Any], timeout: Timeout) -> SyncRun:
        async def start() -> Run:
            return self._client._start_run(fields, timeout)

        return SyncRun(self, self._wait(start()))

    def _run_to_end(self, fields: Dict[str, Any], timeout: Optional[float]) -> RunResult:
        return self._wait(self._client._run_to_end(fields, timeout))

    def wait_until_idle(self, timeout: Optional[float] = None) -> None:
        """Waits until no run is in progress."""
        self._wait(self._client.wait_until_idle(timeout))

    # Events

    def subscribe(self, *types: str) -> "SyncSubscription":
        """Returns all events from now on, or those of some types, until the client stops."""

        async def subscribe() -> Subscription:
            return self._client.subscribe(*types)

        return SyncSubscription(self, self._wait(subscribe()))

    def listen(self, function: Listener, *types: str) -> Callable[[], None]:
        """Calls a function with each event, one after the other. Returns a function that ends it."""

        async def listen() -> Callable[[], None]:
            return self._client.listen(function, *types)

        end = self._wait(listen())

        def end_from_here() -> None:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(end)

        return end_from_here

    # Tools

    def tool(self, function: Function) -> Function:
        """Offers a function to the model; a decorator. Use it before the start, or `add_tools` later."""
        return self._client.tool(function)

    def add_tools(self, *tools: AnyTool) -> None:
        """Offers more tools to the model, from its next turn on. One of the same name is replaced."""
        self._wait(self._client.add_tools(*tools))

    def remove_tools(self, *names: str) -> None:
        """Withdraws tools; without a name, all."""
        self._wait(self._client.remove_tools(*names))

    # Other lines

    def command(self, name: str, fields: Optional[Mapping[str, Any]] = None, timeout: Timeout = DEFAULT) -> Any:
        """Sends a command by its name on the wire and returns the data of its response."""
        return self._command(name, dict(fields or {}), timeout)

    def _command(self, name: str, fields: Dict[str, Any], timeout: Timeout) -> Any:
        """Sends a command without a task of its own, which takes a third of the time of `_wait`."""
        loop = self._loop_of_others()
        answer: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
        sent: "List[asyncio.Future[Any]]" = []

        def send() -> None:
            try:
                future = self._client.submit(name, fields, timeout, answer.set_result)
            except BaseException as error:
                answer.set_exception(error)
            else:
                sent.append(future)
                future.add_done_callback(fail)

        def fail(future: "asyncio.Future[Any]") -> None:
            if not answer.done():
                error = None if future.cancelled() else future.exception()
                answer.set_exception(error or concurrent.futures.CancelledError())

        loop.call_soon_threadsafe(send)
        try:
            return answer.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(lambda: [future.cancel() for future in sent])
            raise

    # Inside

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop and waits for it. Ctrl-C cancels it."""
        try:
            loop = self._loop_of_others()
        except BowlineError:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _loop_of_others(self) -> asyncio.AbstractEventLoop:
        """Returns the loop for a thread that may wait for it."""
        if self._loop is None:
            raise NotRunning("the client is not started: use `with`, or start()")
        if threading.current_thread() is self._thread:
            raise BowlineError(
                "a coroutine of this client must not wait for its own loop: make it a function, which gets a thread"
            )
        return self._loop

    @staticmethod
    def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _end_loop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


class _Events:
    """Takes events from the loop, several at once if there are, because each time costs a change of threads."""

    def __init__(self, client: Bowline, source: Any) -> None:
        self._client = client
        self._source = source
        self._taken: Deque[Event] = collections.deque()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if not self._taken:
            self._taken.extend(self._client._wait(self._source.next_events()))
        if not self._taken:
            raise StopIteration
        return self._taken.popleft()


class SyncSubscription(_Events):
    """All events from the moment it was made, in order. Ends when the client stops, or with `close`."""

    def close(self) -> None:
        if self._client._loop is not None:
            self._client._loop.call_soon_threadsafe(self._source.close)

    def __enter__(self) -> "SyncSubscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SyncRun(_Events):
    """A prompt that was sent. `accepted()` waits until bowline has accepted it; iterate for the events."""

    _source: Run

    def accepted(self) -> Accepted:
        async def accepted() -> Accepted:
            return await self._source

        return self._client._wait(accepted())

    def text(self) -> Iterator[str]:
        """Yields the text of the answers as it is written."""
        for event in self:
            if event["type"] == "message_update":
                step = event["assistantMessageEvent"]
                if step["type"] == "text_delta":
                    yield step["delta"]

    def result(self, *, timeout: Optional[float] = None) -> RunResult:
        """Waits for the end of the run. After `timeout` seconds, the run is aborted and `RunTimedOut` raised."""
        return self._client._wait(self._source.result(timeout=timeout))

    def abort(self) -> None:
        """Aborts the run, if it is not over."""
        self._client._wait(self._source.abort())
