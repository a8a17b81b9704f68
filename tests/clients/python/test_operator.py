"""The client with the methods of operator-use's, in both forms of its protocol."""

from __future__ import annotations

import asyncio
import os
import unittest
from typing import Any
from unittest import mock

from support import WAIT, Asynchronous, bash

from bowline_agent import NotRunning, ProcessDied
from bowline_agent.compat.operator import RPCClient, RPCError

FORMS: Any = ("operator-flat", "operator")


class Operator(Asynchronous):
    def operator(self, form: Any, steps: Any = None, cycle: bool = True) -> RPCClient:
        options = self.workspace.options(steps, cycle=cycle)
        patch = mock.patch.dict(os.environ, {"BOWLINE_HOME": str(self.workspace.home)})
        patch.start()
        self.addCleanup(patch.stop)
        return RPCClient(self.workspace.work, options["model"], dialect=form)

    async def test_a_conversation(self) -> None:
        for form in FORMS:
            with self.subTest(form):
                async with self.operator(form, [bash("echo hi", text="I look."), {"text": "hello"}]) as client:
                    for _ in range(2):
                        events = await client.prompt_and_wait("hi")
                        self.assertEqual((events[-1]["type"], events[-1]["reason"]), ("agent_end", "completed"))
                        self.assertIn("tool_execution_end", [event["type"] for event in events])
                    self.assertEqual(await client.get_last_assistant_text(), "hello")
                    self.assertEqual(len(await client.get_messages()), 8)

    async def test_every_command(self) -> None:
        for form in FORMS:
            with self.subTest(form):
                async with self.operator(form) as client:
                    entries = []
                    client.on_event(lambda event: entries.append(event.get("entry_id")))
                    await client.prompt_and_wait("hi")
                    state = await client.get_state()
                    self.assertEqual((state["phase"], state["message_count"]), ("idle", 2))
                    self.assertEqual((await client.set_session_name("a name"))["command"], "set_session_name")
                    await client.set_thinking_level("low")
                    await client.set_auto_compaction(False)
                    await client.set_model("demo", "scripted")
                    self.assertEqual((await client.get_session_stats())["entry_count"], 2)
                    entry = next(entry for entry in entries if entry)
                    self.assertEqual((await client.fork(entry))["data"]["entry_id"], entry)
                    self.assertFalse((await client.new_session())["data"]["cancelled"])
                    await client.switch_session(state["session_file"])
                    self.assertEqual((await client.get_state())["session_id"], state["session_id"])
                    self.assertTrue((await client.abort())["success"])
                    if form == "operator":
                        with self.assertRaises(RPCError):
                            await client.compact("names")
                    else:
                        await client.compact("names")
                    with self.assertRaises(RuntimeError):
                        await client.set_model("no such model")
                    await client.extension_ui_response("none", cancelled=True)
                    await client.get_state()

    async def test_steering_and_waiting(self) -> None:
        for form in FORMS:
            with self.subTest(form):
                async with self.operator(form, [bash("sleep 0.5"), {"text": "one"}, {"text": "two"}], cycle=False) as client:
                    collecting = asyncio.ensure_future(client.collect_events(WAIT))
                    idle = asyncio.ensure_future(client.wait_for_idle(WAIT))
                    await asyncio.sleep(0)
                    prompt = asyncio.ensure_future(client.prompt("hi"))
                    await asyncio.sleep(0.2)
                    await client.steer("left")
                    await client.follow_up("then")
                    events = await collecting
                    await idle
                    await prompt
                    self.assertEqual(events[-1]["type"], "agent_end")
                    self.assertEqual([event["text"] for event in events if event["type"] == "input"][0], "hi")

    async def test_a_failed_run_still_yields_its_events(self) -> None:
        for form in FORMS:
            with self.subTest(form):
                async with self.operator(form, [{"error": {"kind": "authentication", "message": "401"}}]) as client:
                    events = await client.prompt_and_wait("hi")
                    self.assertEqual((events[-1]["type"], events[-1]["reason"]), ("agent_end", "error"))

    async def test_time_outs_return_what_there_is(self) -> None:
        for form in FORMS:
            with self.subTest(form):
                async with self.operator(form, [{"text": "some", "hang": True}]) as client:
                    events = await client.prompt_and_wait("hi", timeout=0.3)
                    self.assertIn("message_update", [event["type"] for event in events])
                    await client.abort()

    async def test_a_death_reaches_the_caller(self) -> None:
        for form in FORMS:
            with self.subTest(form):
                async with self.operator(form, [{"text": "some", "hang": True}]) as client:
                    waiting = asyncio.ensure_future(client.prompt_and_wait("hi"))
                    await asyncio.sleep(0.2)
                    client._connection.process.kill()
                    with self.assertRaises(ProcessDied):
                        await asyncio.wait_for(waiting, WAIT)

    async def test_it_has_to_be_started(self) -> None:
        with self.assertRaises(NotRunning):
            await self.operator("operator-flat").get_state()


if __name__ == "__main__":
    unittest.main()
