"""What happens after a crash, with restart=."""

from __future__ import annotations

import asyncio
import os
import signal
import unittest
from typing import Any, List

from support import WAIT, Asynchronous, bash, calls

from bowline_agent import NotRunning, ProcessDied, Restart


class Restarts(Asynchronous):
    def setUp(self) -> None:
        super().setUp()
        self.deaths: List[ProcessDied] = []
        self.restarted = asyncio.Event()

    def on_restart(self, died: ProcessDied) -> None:
        self.deaths.append(died)

    def kill(self, client: Any) -> None:
        os.kill(client.pid, signal.SIGKILL)

    async def test_the_session_goes_on(self) -> None:
        steps = [{"text": "one"}, {"text": "two"}]
        async with self.client(steps, restart=Restart(), on_restart=self.on_restart) as client:
            before = await client.get_state()
            self.assertEqual((await client.prompt_and_wait("first")).text, "one")
            self.kill(client)
            # Commands wait for the next process.
            while not self.deaths:
                try:
                    after = await client.get_state()
                except ProcessDied:
                    continue
                await asyncio.sleep(0.01)
            self.assertEqual((after["sessionId"], after["messageCount"]), (before["sessionId"], 2))
            self.assertEqual((await client.prompt_and_wait("second")).text, "two")
            self.assertEqual(self.deaths[0].exit_code, -signal.SIGKILL)

    async def test_a_run_fails_and_is_not_repeated(self) -> None:
        steps = [bash("echo once >>count.txt"), {"text": "some", "hang": True}]
        async with self.client(steps, restart=Restart()) as client:
            run = client.prompt("hi")
            async for event in run:
                if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta":
                    self.kill(client)
                    break
            with self.assertRaises(ProcessDied):
                await run.result()
            self.assertFalse((await client.get_state())["isStreaming"])
            self.assertEqual((await client.get_state())["messageCount"], 3)
        self.assertEqual((self.workspace.work / "count.txt").read_text(), "once\n")

    async def test_what_was_set_is_set_again(self) -> None:
        def now() -> str:
            """Returns the time."""
            return "12:00"

        steps = [calls("now"), {"text": "ok"}]
        async with self.client(steps, restart=Restart(), tools=[now]) as client:
            self.workspace.write("other.json", {"steps": steps})
            await client.set_model("scripted", "other.json")
            await client.set_auto_retry(False)
            await client.set_limits(run={"turns": 7})
            await client.set_limits(run={"tokens": 5000})
            await client.set_steering_mode("all")
            await client.cycle_thinking_level()
            level = (await client.get_state())["thinkingLevel"]
            await self.die_and_return(client)
            state = await client.get_state()
            assert "model" in state
            self.assertEqual(state["model"]["id"], "other.json")
            limits = (await client.get_limits())["run"]["limits"]
            self.assertEqual((limits["turns"], limits["tokens"]), (7, 5000))
            self.assertEqual((state["autoRetryEnabled"], state["steeringMode"], state["thinkingLevel"]), (False, "all", level))
            result = await client.prompt_and_wait("hi")
            self.assertEqual(result.messages[2]["content"], [{"type": "text", "text": "12:00"}])  # type: ignore[typeddict-item]

    async def die_and_return(self, client: Any) -> None:
        pid = client.pid
        self.kill(client)
        while client.pid in (pid, None):
            await asyncio.sleep(0.01)

    async def test_the_session_that_was_opened_last_goes_on(self) -> None:
        async with self.client([{"text": "ok"}], cycle=True, restart=Restart()) as client:
            await client.prompt_and_wait("first")
            await client.new_session()
            await client.prompt_and_wait("second")
            await asyncio.sleep(0.1)
            session = (await client.get_state())["sessionId"]
            await self.die_and_return(client)
            self.assertEqual((await client.get_state())["sessionId"], session)

    async def test_without_a_session_file_a_new_conversation_starts(self) -> None:
        async with self.client([{"text": "ok"}], cycle=True, restart=Restart(), no_session=True) as client:
            await client.prompt_and_wait("first")
            await self.die_and_return(client)
            self.assertEqual((await client.get_state())["messageCount"], 0)

    async def test_subscriptions_go_on(self) -> None:
        async with self.client([{"text": "ok"}], cycle=True, restart=Restart()) as client:
            with client.subscribe("agent_settled") as ends:
                await client.prompt_and_wait("first")
                await self.die_and_return(client)
                await client.prompt_and_wait("second")
                for _ in range(2):
                    self.assertEqual((await asyncio.wait_for(ends.__anext__(), WAIT))["type"], "agent_settled")

    async def test_it_gives_up_after_some_attempts(self) -> None:
        async with self.client(restart=Restart(attempts=2, delay=0.01)) as client:
            for _ in range(2):
                await self.die_and_return(client)
            await client.get_state()
            self.kill(client)
            with self.assertRaises(ProcessDied):
                while True:
                    await client.get_state()
                    await asyncio.sleep(0.01)
            self.assertFalse(client.is_running)

    async def test_stopping_while_it_restarts(self) -> None:
        client = self.client(restart=Restart(delay=30))
        await client.start()
        self.kill(client)
        while client.pid is not None:
            await asyncio.sleep(0.01)
        waiting = asyncio.ensure_future(client.get_state())
        await asyncio.sleep(0.05)
        await asyncio.wait_for(client.stop(), WAIT)
        with self.assertRaises(NotRunning):
            await waiting

    async def test_without_the_option_there_is_no_restart(self) -> None:
        async with self.client() as client:
            self.kill(client)
            while client.is_running:
                await asyncio.sleep(0.01)
            with self.assertRaises(ProcessDied):
                await client.get_state()


if __name__ == "__main__":
    unittest.main()
