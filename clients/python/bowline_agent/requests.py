"""Answers what bowline asks: dialogs, approvals, tools and addresses of the client.

Each request is a task. It is cancelled when bowline does not wait for its answer any more.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Awaitable, Callable, Coroutine, Dict, Mapping, Optional, Union

from .addresses import Scheme, serve
from .backlog import Record
from .errors import CommandFailed
from .functions import call
from .protocol import ApprovalDecision, ApprovalRequestRecord
from .tools import Tool, ToolContext
from .ui import DIALOGS, Ui, ask

log = logging.getLogger("bowline_agent")

Decision = Union[ApprovalDecision, bool, None]
"""`True` allows the call once, `False` and `None` deny it."""
Approve = Callable[[ApprovalRequestRecord], Union[Decision, Awaitable[Decision]]]
Send = Callable[[Mapping[str, Any]], None]
Command = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


class Requests:
    """The open requests of one client."""

    def __init__(self, send: Send, command: Command, ui: Optional[Ui], approve: Optional[Approve]) -> None:
        self._loop = asyncio.get_running_loop()
        self._send = send
        self._command = command
        self._ui = ui
        self._approve = approve
        self.tools: Dict[str, Tool] = {}
        self.schemes: Dict[str, Scheme] = {}
        self._tasks: Dict[str, "asyncio.Task[None]"] = {}
        self._contexts: Dict[str, ToolContext] = {}
        self._dialogs: Dict[str, "asyncio.Task[None]"] = {}

    def handle(self, record: Record) -> None:
        """Looks at a record from bowline."""
        kind = record["type"]
        if kind == "host_tool_call":
            self._start(record["id"], self._run_tool(record))
        elif kind == "host_uri_request":
            self._start(record["id"], self._serve(record))
        elif kind in ("host_tool_cancel", "host_uri_cancel"):
            self._cancel(record["targetId"])
        elif kind == "extension_ui_request":
            self._start(record["id"], self._ask(record))
            if record.get("method") in DIALOGS:
                self._dialogs[record["id"]] = self._tasks[record["id"]]
        elif kind == "approval_request" and self._approve is not None:
            self._start(record["id"], self._decide(record, self._approve))
        elif kind == "approval_resolved":
            self._cancel(record["id"])
        elif kind == "agent_settled" and record.get("aborted"):
            # An abort closes all dialogs, and bowline does not say so.
            for identifier in list(self._dialogs):
                self._cancel(identifier)

    def cancel_all(self) -> None:
        """The process has gone, or is about to. A tool that stops the client itself goes on."""
        for identifier, task in list(self._tasks.items()):
            if task is not asyncio.current_task():
                self._cancel(identifier)

    def _start(self, identifier: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks[identifier] = task
        task.add_done_callback(lambda _: self._ended(identifier, task))

    def _ended(self, identifier: str, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(identifier) is task:
            self._tasks.pop(identifier)
            self._dialogs.pop(identifier, None)
            self._contexts.pop(identifier, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("a request of bowline could not be answered", exc_info=task.exception())

    def _cancel(self, identifier: str) -> None:
        context = self._contexts.get(identifier)
        if context is not None:
            context.cancel()
        task = self._tasks.get(identifier)
        if task is not None:
            task.cancel()

    async def _run_tool(self, record: Record) -> None:
        context = ToolContext(record, self._send_from_any_thread)
        self._contexts[context.id] = context
        tool = self.tools.get(context.name)
        if tool is None:
            text = f"The client has no tool {context.name!r}."
            outcome: Dict[str, Any] = {"result": {"content": [{"type": "text", "text": text}]}, "isError": True}
        else:
            outcome = await tool.run(context)
        self._answer({"type": "host_tool_result", "id": context.id, **outcome}, context.id)

    def _answer(self, record: Dict[str, Any], identifier: str) -> None:
        """Sends the result of a tool; one that is no JSON is reported to the model."""
        try:
            self._send(record)
        except (TypeError, ValueError) as error:
            content = [{"type": "text", "text": f"The output of the tool is no JSON: {error}"}]
            self._send({"type": "host_tool_result", "id": identifier, "result": {"content": content}, "isError": True})

    def _send_from_any_thread(self, record: Dict[str, Any]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._send, record)
        except RuntimeError:
            pass  # The loop has ended; nobody sees updates any more.

    async def _serve(self, record: Record) -> None:
        self._send({"type": "host_uri_result", "id": record["id"], **await serve(self.schemes, record)})

    async def _ask(self, record: Record) -> None:
        answer: Dict[str, Any] = {"cancelled": True}
        is_dialog = record.get("method") in DIALOGS
        try:
            if self._ui is not None:
                seconds = record["timeout"] / 1000 if is_dialog and record.get("timeout") else None
                answer = await asyncio.wait_for(ask(self._ui, record), seconds)
        except asyncio.TimeoutError:
            answer = {"cancelled": True, "timedOut": True}
        finally:
            if is_dialog:
                self._send({"type": "extension_ui_response", "id": record["id"], **answer})

    async def _decide(self, record: Record, approve: Approve) -> None:
        decision: Decision = "deny"
        try:
            decision = await call(approve, record)
        except Exception:
            log.exception("the approval function failed; the call is denied")
        if not isinstance(decision, str):
            decision = "once" if decision is True else "deny"
        try:
            await self._command("approval_response", {"approvalId": record["id"], "decision": decision})
        except CommandFailed as failure:
            # It was decided otherwise meanwhile, by time or an abort.
            log.info("an approval came too late or was not offered: %s", failure.error)
