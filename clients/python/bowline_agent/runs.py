"""A run: what a prompt starts, up to `agent_settled`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Generator, List, Literal, Optional, Type, cast

from .backlog import Backlog, Record
from .errors import RunTimedOut
from .protocol import Accepted, Event, Message, Usage

if TYPE_CHECKING:
    from .client import AsyncBowline

Outcome = Literal["done", "aborted", "failed", "handled"]
"""How a run ended. `handled`: an extension dealt with the message, and there was no run."""


def no_usage() -> Usage:
    cost = {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0}
    return cast(Usage, {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost})


@dataclass
class RunResult:
    """What a run has led to."""

    outcome: Outcome = "done"
    text: str = ""
    """The text of the last answer that has any."""
    messages: List[Message] = field(default_factory=list)
    """All messages of the run, that of the user first."""
    usage: Usage = field(default_factory=no_usage)
    """The tokens of all answers, with their cost."""
    error: Optional[str] = None
    """Why the run failed, for people."""
    error_kind: Optional[str] = None
    """The same for programs: the error kinds of the protocol."""
    output: Any = None
    """The structured output, if the agent was asked for one."""

    @property
    def ok(self) -> bool:
        """Whether the run was neither aborted nor failed."""
        return self.outcome in ("done", "handled")


class Run:
    """A prompt that was sent.

    `await run` waits until bowline has accepted it, `async for event in run` yields the events up to the end of the run,
    and `await run.result()` takes what is left of them and returns the result. One consumer at a time.
    """

    def __init__(self, client: "AsyncBowline", accepted: "asyncio.Future[Accepted]", backlog: Backlog) -> None:
        self._client = client
        self._accepted = accepted
        self._backlog = backlog
        self._result = RunResult()
        self._settled = False

    def __await__(self) -> Generator[Any, None, Accepted]:
        return asyncio.shield(self._accepted).__await__()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        record = await self._next()
        if record is None:
            raise StopAsyncIteration
        return cast(Event, record)

    async def text(self) -> AsyncIterator[str]:
        """Yields the text of the answers as it is written."""
        async for event in self:
            if event["type"] == "message_update":
                step = event["assistantMessageEvent"]
                if step["type"] == "text_delta":
                    yield step["delta"]

    async def result(self, *, timeout: Optional[float] = None) -> RunResult:
        """Waits for the end of the run. After `timeout` seconds, the run is aborted and `RunTimedOut` raised."""
        if timeout is None:
            return await self._to_end()
        ending = asyncio.ensure_future(self._to_end())
        try:
            done, _ = await asyncio.wait([ending], timeout=timeout)
            if not done:
                await self.abort()
                raise RunTimedOut(timeout, await ending)
            return ending.result()
        finally:
            ending.cancel()

    async def abort(self) -> None:
        """Aborts the run, if it is not over."""
        if not self._settled:
            await self._client.abort()

    async def __aenter__(self) -> "Run":
        await self
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """Aborts the run if it was left before its end."""
        is_over = self._backlog.is_closed
        self._backlog.discard()
        if not is_over and self._client.is_running:
            await self._client.abort()

    async def next_events(self) -> List[Event]:
        """Returns the events that are there, at least one, or none at the end. Cheaper than one by one."""
        await self._accepted_first()
        records = await self._backlog.take_all()
        for record in records:
            self._collect(record)
        return cast(List[Event], records)

    async def _to_end(self) -> RunResult:
        while await self._next() is not None:
            pass
        return self._result

    async def _next(self) -> Optional[Record]:
        await self._accepted_first()
        record = await self._backlog.take()
        if record is not None:
            self._collect(record)
        return record

    async def _accepted_first(self) -> None:
        if not self._accepted.done():
            await asyncio.shield(self._accepted)
        if self._accepted.result()["disposition"] == "handled":
            self._result.outcome = "handled"

    def _collect(self, record: Record) -> None:
        kind = record["type"]
        if kind == "message_end":
            self._collect_message(record["message"])
        elif kind == "agent_settled":
            self._settled = True
            self._result.error = record.get("error")
            self._result.error_kind = record.get("errorKind")
            self._result.output = record.get("output")
            if record.get("aborted"):
                self._result.outcome = "aborted"
            elif "error" in record:
                self._result.outcome = "failed"

    def _collect_message(self, message: Dict[str, Any]) -> None:
        self._result.messages.append(cast(Message, message))
        if message.get("role") != "assistant":
            return
        text = "".join(block["text"] for block in message["content"] if block["type"] == "text").strip()
        self._result.text = text or self._result.text
        add_usage(cast(Dict[str, Any], self._result.usage), message.get("usage", {}))


def add_usage(total: Dict[str, Any], more: Dict[str, Any]) -> None:
    """Adds up numbers, also those within objects; what is only in one of them counts."""
    for key, value in more.items():
        if isinstance(value, dict):
            add_usage(total.setdefault(key, {}), value)
        elif isinstance(value, (int, float)):
            total[key] = total.get(key, 0) + value
