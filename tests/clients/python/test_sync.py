"""The client without asyncio."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from support import ROOT, WAIT, WithWorkspace, bash, calls

from bowline_agent import AsyncBowline, Bowline, BowlineError, CommandFailed, NotRunning, ProcessDied, RunTimedOut


class Synchronous(WithWorkspace):
    def test_it_has_the_methods_of_the_other(self) -> None:
        def public(client: type) -> set:
            return {name for name in dir(client) if not name.startswith("_")}

        # A future is for those who have a loop.
        names = public(AsyncBowline) - {"submit"}
        self.assertEqual(public(Bowline), names)
        for name in names:
            ours, theirs = getattr(Bowline, name), getattr(AsyncBowline, name)
            if inspect.isfunction(ours):
                self.assertEqual(list(inspect.signature(ours).parameters), list(inspect.signature(theirs).parameters), name)

    def test_prompts_events_and_results(self) -> None:
        with self.sync_client([{"text": "Hello, you."}], cycle=True) as client:
            self.assertEqual("".join(client.prompt("hi").text()), "Hello, you.")
            kinds = [event["type"] for event in client.prompt("hi")]
            self.assertEqual((kinds[0], kinds[-1]), ("agent_start", "agent_settled"))
            run = client.prompt("hi")
            self.assertEqual(run.accepted(), {"disposition": "started"})
            self.assertEqual(run.result().text, "Hello, you.")
            self.assertEqual(client.prompt_and_wait("hi").outcome, "done")
            self.assertEqual(client.bash("echo hi")["output"], "hi\n")
            with self.assertRaises(CommandFailed):
                client.compact()

    def test_subscriptions_and_listeners(self) -> None:
        ended = threading.Event()
        with self.sync_client([{"text": "ok"}], cycle=True) as client:
            end = client.listen(lambda event: ended.set(), "agent_settled")
            with client.subscribe("agent_start", "agent_settled") as events:
                client.prompt_and_wait("hi")
                self.assertEqual([next(events)["type"], next(events)["type"]], ["agent_start", "agent_settled"])
            self.assertTrue(ended.wait(WAIT))
            end()
            client.wait_until_idle(WAIT)

    def test_a_listener_gets_every_event_in_order(self) -> None:
        seen, ended = [], threading.Event()

        def listener(event) -> None:
            seen.append(event)
            if event["type"] == "agent_settled":
                ended.set()

        with self.sync_client([{"text": "some text ", "repeat": 5000}]) as client:
            client.listen(listener)
            events = list(client.prompt("hi"))
            self.assertTrue(ended.wait(WAIT))
        self.assertEqual(seen, events)

    def test_a_tool_may_ask_the_client(self) -> None:
        client = self.sync_client([calls("count"), {"text": "ok"}])

        @client.tool
        def count() -> str:
            """Counts messages."""
            return f"{client.get_state()['messageCount']} messages"

        with client:
            result = client.prompt_and_wait("hi")
        self.assertIn("2 messages", str(result.messages))

    def test_a_coroutine_must_not_wait_for_its_own_loop(self) -> None:
        client = self.sync_client([calls("wrong"), {"text": "ok"}])

        @client.tool
        async def wrong() -> str:
            """Deadlocks."""
            return str(client.get_state())

        with client:
            self.assertIn("must not wait for its own loop", str(client.prompt_and_wait("hi").messages))

    def test_many_threads_share_a_client(self) -> None:
        with self.sync_client() as client, ThreadPoolExecutor(16) as pool:
            outputs = list(pool.map(lambda number: client.bash(f"echo {number}")["output"], range(64)))
        self.assertEqual(outputs, [f"{number}\n" for number in range(64)])

    def test_limits_and_aborts(self) -> None:
        with self.sync_client([{"text": "some", "hang": True}]) as client:
            with self.assertRaises(RunTimedOut):
                client.prompt_and_wait("hi", timeout=0.2)
            run = client.prompt("hi")
            run.accepted()
            run.abort()
            self.assertEqual(run.result().outcome, "aborted")

    def test_a_death_reaches_the_caller(self) -> None:
        with self.sync_client() as client:
            threading.Timer(0.2, lambda: os.kill(client.pid or 0, signal.SIGKILL)).start()
            with self.assertRaises(ProcessDied):
                client.bash("sleep 60")

    def test_start_and_stop(self) -> None:
        threads = threading.active_count()
        client = self.sync_client()
        with self.assertRaises(NotRunning):
            client.get_state()
        client.start()
        with self.assertRaises(BowlineError):
            client.start()
        self.assertEqual(client.stop(), 0)
        self.assertIsNone(client.stop())
        with self.assertRaises(ProcessDied):
            self.sync_client(arguments=["--dialect", "klingon"]).start()
        # asyncio's own threads, which wait for children, take a moment to end.
        deadline = time.monotonic() + WAIT
        while threading.active_count() > threads and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(threading.active_count(), threads)

    def test_control_c_aborts_the_run(self) -> None:
        self.workspace.options([bash("touch running; sleep 60")])
        program = (
            "import os, signal, threading, time\n"
            "from bowline_agent import Bowline\n"
            "def interrupt():\n"
            "    while not os.path.exists('running'):\n"
            "        time.sleep(0.01)\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt, daemon=True).start()\n"
            "with Bowline(model='scripted/script.json') as client:\n"
            "    try:\n"
            "        client.prompt_and_wait('hi')\n"
            "    except KeyboardInterrupt:\n"
            "        client.wait_until_idle(20)\n"
            "        print('idle')\n"
        )
        self.assertEqual(self.run_program(program), "idle\n")

    def test_a_program_that_forgets_to_stop_ends(self) -> None:
        program = (
            "from bowline_agent import Bowline\n"
            "client = Bowline(model='scripted/script.json')\n"
            "client.start()\n"
            "print(client.prompt_and_wait('hi').text)\n"
        )
        self.workspace.options()
        self.assertEqual(self.run_program(program), "Hello.\n")

    def run_program(self, program: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "BOWLINE_HOME": str(self.workspace.home)}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=self.workspace.work, env=environment, capture_output=True, text=True, timeout=WAIT
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout


if __name__ == "__main__":
    unittest.main()
