"""What the Python client costs: a small command beside a bare loop over the same pipes, and a flood of deltas.

    BOWLINE=target/dist/bowline python3 bench/clients/python.py

The bare loop writes a line, reads a line and parses it, and does nothing else: no ids, no time limits, no events. Fails if
a command takes more than three times as long through `AsyncBowline`, or if that falls behind. `Bowline` hands each command to
its loop in another thread, and the response back: that is two more threads to wake.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))

from bowline_agent import AsyncBowline, Bowline, find_binary  # noqa: E402

COMMANDS = 250
# Many short rounds, in turns: on a shared machine, waking a process up takes three times as long for seconds at a time.
ROUNDS = 60
ANSWERS = 5
DELTAS = 8000
GOAL = 3.0


class Pipe:
    """The least that a client can do."""

    def __init__(self, options: Dict[str, Any]) -> None:
        command = [find_binary(), "--mode", "rpc", "--no-session", "--no-context-files", "--model", options["model"]]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=options["cwd"], env={**os.environ, **options["env"]}
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def ask(self, command: Dict[str, Any]) -> None:
        self.stdin.write(json.dumps({"id": "1", **command}).encode() + b"\n")
        self.stdin.flush()
        assert json.loads(self.stdout.readline())["success"]

    def prompt(self) -> None:
        self.ask({"type": "prompt", "message": "go"})
        while json.loads(self.stdout.readline())["type"] != "agent_settled":
            pass

    def close(self) -> None:
        self.process.communicate()


def timed(work: Callable[[], None], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def commands(pipe: Pipe, asynchronous: AsyncBowline, loop: asyncio.AbstractEventLoop, client: Bowline) -> Dict[str, float]:
    """Returns the fastest round of each: other programs on the machine only make a round slower."""

    async def ask() -> float:
        started = time.perf_counter()
        for _ in range(COMMANDS):
            await asynchronous.get_state()
        return (time.perf_counter() - started) / COMMANDS

    fastest = {"bare loop": 1.0, "AsyncBowline": 1.0, "Bowline": 1.0}
    for _ in range(ROUNDS):
        round_ = (
            timed(lambda: pipe.ask({"type": "get_state"}), COMMANDS),
            loop.run_until_complete(ask()),
            timed(lambda: client.get_state() and None, COMMANDS),
        )
        fastest = {name: min(before, now) for (name, before), now in zip(fastest.items(), round_)}
    return fastest


async def count(client: AsyncBowline) -> int:
    """Returns how many records the text of a run came in. bowline merges deltas for a client that is behind."""
    records = 0
    async for event in client.prompt("go"):
        if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta":
            records += 1
    return records


def answers(pipe: Pipe, client: AsyncBowline, loop: asyncio.AbstractEventLoop) -> Tuple[float, float]:
    bare: List[float] = []
    through: List[float] = []
    for _ in range(ANSWERS):
        bare.append(timed(pipe.prompt, 1))
        through.append(timed(lambda: loop.run_until_complete(count(client)) and None, 1))
    return min(bare), min(through)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="bowline-bench-") as folder:
        for name, delay in (("burst", 0), ("steady", 1)):
            step = {"text": "some text ", "repeat": DELTAS, "delayMs": delay}
            (Path(folder) / f"{name}.json").write_text(json.dumps({"cycle": True, "steps": [step]}))
        options: Dict[str, Any] = {
            "model": "scripted/burst.json",
            "cwd": folder,
            "env": {"BOWLINE_HOME": folder},
            "no_session": True,
            "arguments": ["--no-context-files"],
        }
        loop = asyncio.new_event_loop()

        async def start() -> AsyncBowline:
            client = AsyncBowline(**options)
            await client.start()
            return client

        pipe, asynchronous = Pipe(options), loop.run_until_complete(start())
        with Bowline(**options) as client:
            figures = commands(pipe, asynchronous, loop, client)
        bare, through = answers(pipe, asynchronous, loop)
        loop.run_until_complete(asynchronous.set_model("scripted", "steady.json"))
        steady = loop.run_until_complete(count(asynchronous))
        loop.run_until_complete(asynchronous.stop())
        loop.close()
        pipe.close()
    print(f"Python {sys.version.split()[0]}, fastest of {ROUNDS} rounds")
    for name, seconds in figures.items():
        print(f"  get_state, {name:<14} {seconds * 1e6:5.0f} us   {seconds / figures['bare loop']:4.2f} times")
    print(f"  {DELTAS} deltas at once   bare loop {bare * 1e3:.0f} ms   AsyncBowline {through * 1e3:.0f} ms   {through / bare:.2f} times")
    print(f"  {DELTAS} deltas, one per millisecond: {steady} arrived one by one")
    return 0 if figures["AsyncBowline"] <= GOAL * figures["bare loop"] and steady == DELTAS else 1


if __name__ == "__main__":
    sys.exit(main())
