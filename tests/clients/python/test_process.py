"""What a process can do: die, write garbage, write very long lines, refuse to end."""

from __future__ import annotations

import asyncio
import os
import signal
import unittest
from pathlib import Path
from unittest import mock

from fake_agent import BIG
from support import WAIT, Asynchronous, Workspace

from bowline_agent import AsyncBowline, BinaryNotFound, ProcessDied, find_binary
from bowline_agent.lines import LineSplitter


class Deaths(Asynchronous):
    async def test_every_waiter_learns_of_the_end(self) -> None:
        async with self.client([{"text": "some", "hang": True}]) as client:
            run = client.prompt("hi")
            await run
            waiters = [
                asyncio.ensure_future(client.bash("sleep 60")),
                asyncio.ensure_future(run.result()),
                asyncio.ensure_future(client.wait_until_idle()),
            ]
            await asyncio.sleep(0.1)
            os.kill(client.pid or 0, signal.SIGKILL)
            for waiter in waiters:
                with self.assertRaises(ProcessDied) as caught:
                    await asyncio.wait_for(waiter, WAIT)
                self.assertEqual(caught.exception.exit_code, -signal.SIGKILL)
            self.assertFalse(client.is_running)
            with self.assertRaises(ProcessDied):
                await client.get_state()

    async def test_the_error_has_the_exit_code_and_stderr(self) -> None:
        seen = []
        async with self.fake("dies", on_stderr=seen.append) as client:
            with self.assertRaises(ProcessDied) as caught:
                await client.get_messages()
        self.assertEqual((caught.exception.exit_code, caught.exception.stderr), (7, ["the disk is on fire"]))
        self.assertIn("the disk is on fire", str(caught.exception))
        self.assertEqual(seen, ["the disk is on fire"])

    async def test_a_program_that_cannot_start_says_why(self) -> None:
        with self.assertRaises(ProcessDied) as caught:
            await self.fake("refuses").start()
        self.assertEqual(caught.exception.reason, "there is no such dialect")
        with self.assertRaisesRegex(ProcessDied, "none.json cannot be used"):
            await self.client(arguments=["--model", "scripted/none.json"]).start()

    async def test_events_before_the_end_are_not_lost(self) -> None:
        async with self.client([{"text": "some", "hang": True}]) as client:
            subscription = client.subscribe()
            await client.prompt("hi")
            async for event in subscription:
                if event["type"] == "message_update":
                    break
            os.kill(client.pid or 0, signal.SIGKILL)
            with self.assertRaises(ProcessDied):
                async for event in subscription:
                    self.assertEqual(event["type"], "message_update")

    async def test_a_stubborn_process_is_terminated(self) -> None:
        client = self.fake("stubborn")
        await client.start()
        self.assertEqual(await client.stop(patience=0.3), -signal.SIGTERM)

    async def test_stopping_during_a_run_ends_the_run(self) -> None:
        client = self.client([{"text": "some", "hang": True}])
        await client.start()
        run = client.prompt("hi")
        await run
        self.assertEqual(await client.stop(), 0)
        self.assertEqual((await run.result()).outcome, "aborted")


class Lines(Asynchronous):
    async def messages(self, kind: str, **options: object):
        """Returns the names in the events that come with a response, and what was reported."""
        problems = []
        async with self.fake(kind, on_problem=problems.append, **options) as client:
            events = client.subscribe("session_info_changed")
            response = await asyncio.wait_for(client.get_messages(), WAIT)
            self.assertEqual(response["messages"], [{"text": kind}])
        return [event["name"] async for event in events], problems

    async def test_garbage_is_skipped_and_reported(self) -> None:
        with self.assertLogs("bowline_agent", "WARNING"):
            names, problems = await self.messages("garbage")
        self.assertEqual((names, len(problems)), ([], 5))
        self.assertIn("npm WARN", problems[0])
        self.assertLess(max(map(len, problems)), 500)

    async def test_bad_utf8_costs_its_bytes_only(self) -> None:
        with self.assertLogs("bowline_agent", "WARNING"):
            names, problems = await self.messages("utf8")
        self.assertEqual((names, len(problems)), (["bad \ufffd byte"], 1))

    async def test_only_lf_ends_a_record(self) -> None:
        self.assertEqual(await self.messages("separators"), (["a\u2028b\u2029c\x85d"], []))

    async def test_records_may_come_in_pieces(self) -> None:
        self.assertEqual(await self.messages("pieces"), (["é in pieces"], []))

    async def test_a_record_of_20_mb(self) -> None:
        names, problems = await self.messages("big")
        self.assertEqual((list(map(len, names)), problems), ([BIG], []))

    async def test_a_record_above_the_limit_is_skipped_and_reported(self) -> None:
        names, problems = await self.messages("big", max_record_bytes=1_000_000)
        self.assertEqual(names, [])
        self.assertIn("max_record_bytes", problems[0])

    async def test_responses_that_nobody_asked_for_are_harmless(self) -> None:
        with self.assertLogs("bowline_agent", "WARNING") as logs:
            await self.messages("unasked")
        self.assertIn("what?", logs.output[0])

    async def test_a_flood_is_read_to_the_end(self) -> None:
        names, _ = await self.messages("flood", backlog_bytes=100_000)
        self.assertEqual(names, [str(number) for number in range(50_000)])

    def test_lines_are_split_in_linear_time(self) -> None:
        lines, too_long = [], []
        splitter = LineSplitter(lines.append, too_long.append, 10)
        for piece in (b"a", b"b\nc\n\n", b"", b"0123456789", b"\n01234567890", b"1\nlast"):
            splitter.feed(piece)
        splitter.end()
        self.assertEqual(lines, [b"ab", b"c", b"", b"0123456789", b"last"])
        self.assertEqual(too_long, [12])


class Binaries(unittest.TestCase):
    def setUp(self) -> None:
        self.workspace = Workspace()
        self.addCleanup(self.workspace.remove)

    def program(self, folder: str) -> Path:
        path = self.workspace.root / folder / "bowline"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def test_the_option_comes_before_the_variable_and_that_before_the_path(self) -> None:
        one, two, three = (self.program(folder) for folder in ("one", "two", "three"))
        with mock.patch.dict(os.environ, {"BOWLINE": str(two), "PATH": str(three.parent)}):
            self.assertEqual(find_binary(one), str(one))
            self.assertEqual(find_binary(), str(two))
            del os.environ["BOWLINE"]
            self.assertEqual(find_binary(), str(three))

    def test_a_program_that_is_named_must_be_there(self) -> None:
        with self.assertRaisesRegex(BinaryNotFound, "binary="):
            find_binary(self.workspace.root / "none")
        with mock.patch.dict(os.environ, {"BOWLINE": "/none"}), self.assertRaisesRegex(BinaryNotFound, "BOWLINE"):
            find_binary()

    def test_nothing_to_run_says_what_to_do(self) -> None:
        with mock.patch.dict(os.environ, {"PATH": "/none"}):
            os.environ.pop("BOWLINE", None)
            with self.assertRaisesRegex(BinaryNotFound, "binary="):
                find_binary()

    def test_restart_and_session_flags_exclude_each_other(self) -> None:
        from bowline_agent import Restart

        with self.assertRaisesRegex(ValueError, "session_id="):
            AsyncBowline(arguments=["--session-id=x"], restart=Restart())


if __name__ == "__main__":
    unittest.main()
