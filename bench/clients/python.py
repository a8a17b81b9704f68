"""How much the Python client costs: a small command against a bare loop over the same pipes, and a flood of deltas.

    BOWLINE=target/release/bowline python3 bench/clients/python.py

Needs no build of its own. The bare loop writes a line, reads a line and parses it, and does nothing else: no ids, no time
limits, no events. Each figure is the best of several rounds, because the machine is busy with other things, too.
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
from typing import Any, Callable, Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))

from bowline_agent import AsyncBowline, Bowline, find_binary  # noqa: E402

COMMANDS = 2000
ROUNDS = 5
DELTAS = 8000


def best(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(ROUNDS))


def bare_loop(options: Dict[str, Any]) -> float:
    command = [find_binary(), "--mode", "rpc", "--no-session", "--no-context-files", "--model", options["model"]]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=options["cwd"], env={**os.environ, **options["env"]}
    )
    assert process.stdin is not None and process.stdout is not None

    def measure() -> float:
        assert process.stdin is not None and process.stdout is not None
        started = time.perf_counter()
        for number in range(COMMANDS):
            process.stdin.write(json.dumps({"id": str(number), "type": "get_state"}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["success"]
        return (time.perf_counter() - started) / COMMANDS

    try:
        return best(measure)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


async def asynchronous(options: Dict[str, Any]) -> float:
    async with AsyncBowline(**options) as client:

        async def measure() -> float:
            started = time.perf_counter()
            for _ in range(COMMANDS):
                await client.get_state()
            return (time.perf_counter() - started) / COMMANDS

        return min([await measure() for _ in range(ROUNDS)])


def synchronous(options: Dict[str, Any]) -> float:
    with Bowline(**options) as client:

        def measure() -> float:
            started = time.perf_counter()
            for _ in range(COMMANDS):
                client.get_state()
            return (time.perf_counter() - started) / COMMANDS

        return best(measure)


async def deltas(options: Dict[str, Any]) -> List[float]:
    """Returns the time for all deltas, how many records came, and how late the loop was at most.

    bowline merges deltas for a client that is behind, so fewer records mean a slower client.
    """
    async with AsyncBowline(**options) as client:
        started, count, late = time.perf_counter(), 0, 0.0

        async def watch() -> None:
            nonlocal late
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.001)
                late = max(late, time.perf_counter() - before - 0.001)

        watching = asyncio.ensure_future(watch())
        async for event in client.prompt("go"):
            if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta":
                count += 1
        watching.cancel()
        return [time.perf_counter() - started, count, late]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bowline-bench-") as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps({"cycle": True, "steps": [{"text": "some text ", "repeat": DELTAS}]}))
        options: Dict[str, Any] = {
            "model": f"scripted/{script}",
            "cwd": folder,
            "env": {"BOWLINE_HOME": folder},
            "no_session": True,
            "arguments": ["--no-context-files"],
        }
        bare = bare_loop({**options, "env": {"BOWLINE_HOME": folder}})
        figures = {"bare loop": bare, "AsyncBowline": asyncio.run(asynchronous(options)), "Bowline": synchronous(options)}
        print(f"{COMMANDS} times get_state, best of {ROUNDS} rounds")
        for name, seconds in figures.items():
            print(f"  {name:<14} {seconds * 1e6:7.0f} us  {seconds / bare:4.1f} x")
        show_deltas("as fast as they can", min(asyncio.run(deltas(options)) for _ in range(ROUNDS)))
        script.write_text(json.dumps({"steps": [{"text": "some text ", "repeat": DELTAS, "delayMs": 1}]}))
        show_deltas("one each millisecond", asyncio.run(deltas(options)))


def show_deltas(how: str, figures: List[float]) -> None:
    seconds, count, late = figures
    print(f"{DELTAS} deltas of 10 characters, {how}")
    print(f"  {seconds * 1000:.0f} ms, {count:.0f} records: {DELTAS - count:.0f} merged because the client was behind")
    print(f"  the loop was late by {late * 1000:.1f} ms at most")


if __name__ == "__main__":
    main()
