"""What the tests of the Python client share: workspaces with scripts, agents that misbehave, and clients of both."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "clients" / "python"))

from bowline_agent import AsyncBowline, Bowline  # noqa: E402

WAIT = 30.0
"""How many seconds anything may take on a busy machine."""

Step = Dict[str, Any]


def bash(command: str, **step: Any) -> Step:
    return {"toolCalls": [{"name": "bash", "arguments": {"command": command}}], **step}


def calls(name: str, **arguments: Any) -> Step:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


class Workspace:
    """A working folder and a home folder of bowline."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="bowline-python-"))
        self.work = self.root / "work"
        self.home = self.root / "home"
        self.work.mkdir()
        self.home.mkdir()

    def write(self, name: str, content: Any) -> Path:
        path = self.work / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def settings(self, **settings: Any) -> None:
        (self.home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def options(self, steps: Optional[List[Step]] = None, cycle: bool = False, **options: Any) -> Dict[str, Any]:
        """Returns the options of a client whose model plays these steps."""
        script = self.write("script.json", {"cycle": cycle, "steps": steps or [{"text": "Hello."}]})
        env = {"BOWLINE_HOME": str(self.home), "PI_CODING_AGENT_DIR": None}
        arguments = ["--no-context-files", *options.pop("arguments", ())]
        return {"model": f"scripted/{script.name}", "cwd": self.work, "env": env, "arguments": arguments, **options}

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)


class WithWorkspace(unittest.TestCase):
    def setUp(self) -> None:
        self.workspace = Workspace()
        self.addCleanup(self.workspace.remove)

    def sync_client(self, steps: Optional[List[Step]] = None, **options: Any) -> Bowline:
        return Bowline(**self.workspace.options(steps, **options))


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.workspace = Workspace()
        self.addCleanup(self.workspace.remove)

    async def asyncSetUp(self) -> None:
        # unittest turns the debug mode on, which makes everything several times slower.
        loop = asyncio.get_running_loop()
        loop.set_debug(False)
        self.loop_errors: List[Any] = []
        loop.set_exception_handler(lambda _, context: self.loop_errors.append(context))

    async def asyncTearDown(self) -> None:
        await asyncio.sleep(0)
        gc.collect()
        self.assertEqual(self.loop_errors, [])

    def client(self, steps: Optional[List[Step]] = None, **options: Any) -> AsyncBowline:
        return AsyncBowline(**self.workspace.options(steps, **options))

    def fake(self, kind: str, **options: Any) -> AsyncBowline:
        """Returns a client of an agent that misbehaves: see fake_agent.py."""
        program = self.workspace.root / "fake"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'fake_agent.py'} {kind} \"$@\"\n")
        program.chmod(0o755)
        return AsyncBowline(binary=program, cwd=self.workspace.work, **options)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
