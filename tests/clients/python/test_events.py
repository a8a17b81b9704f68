"""Runs, events, slow consumers, and what is left over after many of them."""

from __future__ import annotations

import asyncio
import gc
import unittest

from support import WAIT, Asynchronous, bash, open_files

from bowline_agent import AsyncBowline, CommandFailed, CommandTimedOut, NotRunning, RunTimedOut


class Runs(Asynchronous):
    async def test_a_run_yields_its_events_up_to_the_end(self) -> None:
        async with self.client([{"text": "one"}], cycle=True) as client:
            kinds = [event["type"] async for event in client.prompt("hi")]
            self.assertEqual(kinds[0], "agent_start")
            self.assertEqual(kinds[-1], "agent_settled")
            self.assertEqual(kinds.count("agent_settled"), 1)

    async def test_the_result_has_text_messages_and_usage(self) -> None:
        steps = [bash("echo hi", text="I look.", usage={"input": 10, "output": 5}), {"text": "Done.", "usage": {"input": 20, "output": 7}}]
        async with self.client(steps) as client:
            result = await client.prompt_and_wait("hi")
        self.assertEqual((result.ok, result.outcome, result.text), (True, "done", "Done."))
        self.assertEqual([message["role"] for message in result.messages], ["user", "assistant", "toolResult", "assistant"])
        self.assertEqual((result.usage["input"], result.usage["output"]), (30, 12))

    async def test_a_failed_run_says_why(self) -> None:
        async with self.client([{"error": {"kind": "authentication", "message": "401 bad key"}}]) as client:
            result = await client.prompt_and_wait("hi")
        self.assertEqual((result.ok, result.outcome, result.error_kind), (False, "failed", "auth"))
        self.assertIn("401 bad key", str(result.error))

    async def test_a_refused_prompt_raises_its_code(self) -> None:
        async with self.client([{"text": "wait", "hang": True}]) as client:
            run = client.prompt("hi")
            await run
            with self.assertRaises(CommandFailed) as caught:
                await client.prompt("again")
            self.assertEqual(caught.exception.code, "busy")
            await client.abort()
            self.assertEqual((await run.result()).outcome, "aborted")

    async def test_a_run_that_takes_too_long_is_aborted(self) -> None:
        async with self.client([{"text": "some", "hang": True}]) as client:
            with self.assertRaises(RunTimedOut) as caught:
                await client.prompt_and_wait("hi", timeout=0.3)
            self.assertEqual((caught.exception.result.outcome, caught.exception.result.text), ("aborted", "some"))
            self.assertFalse((await client.get_state())["isStreaming"])

    async def test_cancelling_the_caller_aborts_the_run(self) -> None:
        async with self.client([{"text": "some", "hang": True}]) as client:
            waiting = asyncio.ensure_future(client.prompt_and_wait("hi"))
            with client.subscribe("message_update", "agent_settled") as events:
                await events.__anext__()
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                await client.wait_until_idle(WAIT)

    async def test_leaving_a_run_aborts_it(self) -> None:
        async with self.client([{"text": "some", "hang": True}]) as client:
            async with client.prompt("hi") as run:
                async for event in run:
                    if event["type"] == "message_update":
                        break
            self.assertFalse((await client.get_state())["isStreaming"])

    async def test_a_forgotten_run_holds_nothing_up(self) -> None:
        steps = [{"text": "x" * 1000, "repeat": 2000}]
        async with self.client(steps, cycle=True, backlog_bytes=10_000) as client:
            async for event in client.prompt("hi"):
                break
            gc.collect()
            await client.wait_until_idle(WAIT)

    async def test_steering_and_follow_ups_reach_the_run(self) -> None:
        steps = [bash("sleep 0.3"), {"text": "one"}, {"text": "two"}]
        async with self.client(steps) as client:
            run = client.prompt("hi")
            async for event in run:
                if event["type"] == "tool_execution_start":
                    await client.steer("left")
                    await client.follow_up("then")
            result = await run.result()
        texts = [message["content"][0]["text"] for message in result.messages if message["role"] == "user"]
        self.assertEqual(texts, ["hi", "left", "then"])

    async def test_wait_until_idle_returns_after_the_run(self) -> None:
        async with self.client([bash("sleep 0.3"), {"text": "one"}]) as client:
            await client.wait_until_idle(WAIT)
            await client.prompt("hi")
            await client.wait_until_idle(WAIT)
            self.assertEqual((await client.get_last_assistant_text())["text"], "one")

    async def test_listeners_get_events_in_order(self) -> None:
        seen = []
        ended = asyncio.Event()

        async def on_event(event):
            await asyncio.sleep(0)
            seen.append(event["type"])
            if event["type"] == "agent_settled":
                ended.set()
            raise RuntimeError("a listener may fail")

        async with self.client() as client:
            end = client.listen(on_event)
            with self.assertLogs("bowline_agent", "ERROR"):
                await client.prompt_and_wait("hi")
                await asyncio.wait_for(ended.wait(), WAIT)
            end()
        self.assertEqual((seen[0], seen[-1]), ("agent_start", "agent_settled"))

    async def test_commands_before_the_start_and_after_the_end_are_refused(self) -> None:
        client = self.client()
        with self.assertRaises(NotRunning):
            await client.get_state()
        await client.start()
        self.assertEqual(await client.stop(), 0)
        with self.assertRaises(NotRunning):
            await client.get_state()
        self.assertIsNone(await client.stop())

    async def test_a_client_can_be_started_again(self) -> None:
        client = self.client()
        for _ in range(2):
            async with client:
                self.assertTrue((await client.prompt_and_wait("hi")).ok)


class SlowConsumers(Asynchronous):
    """8 MB of events, a bound of 50 KB, and a consumer that does not keep up."""

    STEPS = [{"text": "x" * 1000, "repeat": 8000, "chunk": 1000}]

    def check_text(self, events) -> None:
        deltas = [
            event["assistantMessageEvent"]["delta"]
            for event in events
            if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta"
        ]
        self.assertEqual(sum(map(len, deltas)), 8_000_000)
        self.assertEqual(events[-1]["type"], "agent_settled")

    async def test_a_slow_consumer_slows_reading_and_loses_nothing(self) -> None:
        async with self.client(self.STEPS, backlog_bytes=50_000) as client:
            run = client.prompt("hi")
            await run
            await asyncio.sleep(0.5)
            backlog = run._backlog
            self.assertIsNone(backlog._file)
            self.assertLess(backlog._bytes, 2_000_000)
            self.assertTrue(client._connection.process._paused)
            self.check_text([event async for event in run])
            self.assertFalse(client._connection.process._paused)

    async def test_a_consumer_that_asks_between_events_gets_its_response(self) -> None:
        async with self.client(self.STEPS, backlog_bytes=50_000) as client:
            events = []
            async for event in client.prompt("hi"):
                events.append(event)
                if len(events) in (3, 30, 300):
                    await asyncio.sleep(0.1)
                    self.assertTrue((await asyncio.wait_for(client.get_state(), WAIT))["sessionId"])
            self.check_text(events)

    async def test_what_comes_while_a_response_is_awaited_goes_to_a_file(self) -> None:
        async with self.client(self.STEPS, backlog_bytes=50_000) as client:
            run = client.prompt("hi")
            await run
            # Its response comes after the run has ended: all events have to be read before.
            sleeping = client.bash("sleep 1.5")
            self.assertEqual((await sleeping)["exitCode"], 0)
            self.assertIsNotNone(run._backlog._file)
            sizes = [size for _, size in run._backlog._records]
            self.assertLess(sum(sizes) - max(sizes), 2 * 50_000 + 1)
            self.check_text([event async for event in run])
            self.assertIsNone(run._backlog._file)

    async def test_two_consumers_at_different_speeds_get_the_same(self) -> None:
        async with self.client(self.STEPS, backlog_bytes=50_000) as client:
            subscription = client.subscribe()

            async def slowly():
                events = []
                async for event in subscription:
                    events.append(event)
                    if len(events) % 100 == 0:
                        await asyncio.sleep(0.005)
                    if event["type"] == "agent_settled":
                        return events

            slow = asyncio.ensure_future(slowly())
            quick = [event async for event in client.prompt("hi")]
            self.check_text(quick)
            self.check_text(await slow)

    async def test_events_of_other_types_do_not_count(self) -> None:
        async with self.client(self.STEPS, backlog_bytes=50_000) as client:
            ends = client.subscribe("agent_end")
            self.assertTrue((await client.prompt_and_wait("hi")).ok)
            self.assertEqual((await ends.__anext__())["type"], "agent_end")

    async def test_stopping_with_a_full_backlog_is_quick(self) -> None:
        client = self.client(self.STEPS, backlog_bytes=50_000)
        await client.start()
        subscription = client.subscribe()
        await client.prompt("hi")
        await asyncio.sleep(0.3)
        self.assertEqual(await asyncio.wait_for(client.stop(), WAIT), 0)
        events = [event async for event in subscription]
        self.assertEqual(events[-1]["type"], "agent_settled")


class Many(Asynchronous):
    async def test_a_thousand_prompts_leave_nothing_behind(self) -> None:
        async with self.client([{"text": "ok"}], cycle=True, no_session=True) as client:
            for _ in range(10):
                await client.prompt_and_wait("warm up")
            await client.new_session()
            gc.collect()
            before, files = len(gc.get_objects()), open_files()
            for number in range(1000):
                result = await client.prompt_and_wait("hi")
                assert result.ok, result
                if number % 50 == 0:
                    await client.new_session()  # The conversation is bowline's, and grows.
            connection = client._connection
            self.assertEqual((connection._waiters, connection._runs, connection._subscribers), ({}, [], []))
            gc.collect()
            self.assertLess(len(gc.get_objects()) - before, 500)
            self.assertLessEqual(open_files(), files)

    async def test_fifty_clients_at_once(self) -> None:
        files = open_files()
        options = self.workspace.options([bash("echo hi"), {"text": "ok"}], no_session=True)

        async def one() -> str:
            async with AsyncBowline(**options) as client:
                return (await client.prompt_and_wait("hi")).text

        texts = await asyncio.gather(*(one() for _ in range(50)))
        self.assertEqual(texts, ["ok"] * 50)
        await asyncio.sleep(0.1)
        gc.collect()
        self.assertLessEqual(open_files(), files + 2)

    async def test_many_commands_at_once_are_matched(self) -> None:
        async with self.client() as client:
            results = await asyncio.gather(*(client.bash(f"echo {number}") for number in range(40)), *(client.get_state() for _ in range(200)))
        self.assertEqual([result["output"] for result in results[:40]], [f"{number}\n" for number in range(40)])

    async def test_halves_of_characters_become_question_marks(self) -> None:
        async with self.client() as client:
            result = await client.prompt_and_wait("caf\udce9 \u2028 \U0001f600")
        self.assertEqual(result.messages[0]["content"][0]["text"], "caf? \u2028 \U0001f600")

    async def test_a_large_command_gets_through(self) -> None:
        async with self.client([{"text": "ok"}], cycle=True) as client:
            self.assertTrue((await client.prompt_and_wait("y" * 20_000_000)).ok)
            with self.assertRaisesRegex(ValueError, "line_limit"):
                await client.steer("y" * (64 * 1024 * 1024))
            self.assertEqual((await client.get_state())["pendingMessageCount"], 0)


class Timeouts(Asynchronous):
    async def test_a_silent_agent_times_out(self) -> None:
        async with self.fake("silent") as client:
            with self.assertRaises(CommandTimedOut) as caught:
                await client.get_messages(timeout=0.2)
            self.assertIsInstance(caught.exception, TimeoutError)
            client._connection.process.kill()

    async def test_a_late_response_is_dropped(self) -> None:
        async with self.client() as client:
            with self.assertRaises(CommandTimedOut):
                await client.bash("sleep 0.5", timeout=0.1)
            await asyncio.sleep(0.7)
            self.assertTrue((await client.get_state())["sessionId"])


if __name__ == "__main__":
    unittest.main()
