"""bowline's side of the extension protocol, for tests of the SDKs."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

Json = Dict[str, Any]

WAIT = 20.0
"""How many seconds anything may take on a busy machine."""


class Engine:
    """Starts an extension, sends it records and keeps every record that it sends."""

    def __init__(self, command: Sequence[str], folder: Path, answers: Optional[Dict[str, Any]] = None) -> None:
        self.records: List[Json] = []
        # What was asked for, with the name of the schema of its result.
        self.asked: Dict[str, Optional[str]] = {}
        self.bad_lines: List[str] = []
        self.answers: Dict[str, Any] = answers or {}
        self._numbers = iter(range(1, 1_000_000))
        self._arrived: "queue.Queue[Optional[Json]]" = queue.Queue()
        self._log = folder / "stderr"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**os.environ, "BOWLINE_EXTENSION": "everything"},
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                record = json.loads(line)
                assert isinstance(record, dict) and isinstance(record.get("type"), str)
            except (ValueError, AssertionError):
                self.bad_lines.append(line.decode("utf-8", "replace"))
                continue
            self._arrived.put(record)
        self._arrived.put(None)

    def send(self, record: Json) -> None:
        """Writes a record."""
        self.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Writes bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, is_awaited: Callable[[Json], bool]) -> Json:
        """Answers requests until a record arrives, and returns it."""
        while True:
            record = self._arrived.get(timeout=WAIT)
            if record is None:
                raise EOFError(f"the extension exited: {self.log()}")
            self.records.append(record)
            if is_awaited(record):
                return record
            if record["type"] == "request":
                self.answer(record)

    def answer(self, request: Json) -> None:
        """Answers a request as `answers` says: a value, an exception, or a function of the parameters."""
        method = request["method"]
        if method not in self.answers:
            return
        answer = self.answers[method]
        answer = answer(request["params"]) if callable(answer) else answer
        if isinstance(answer, Exception):
            self.send({"type": "response", "id": request["id"], "error": {"message": str(answer)}})
        else:
            self.send({"type": "response", "id": request["id"], "result": answer})

    def start(self, **fields: Any) -> Json:
        """Sends `init` and returns `registered`."""
        init: Json = {
            "type": "init",
            "protocol": 1,
            "engine": {"name": "bowline", "version": "0.0.0"},
            "mode": "rpc",
            "hasUI": True,
            "dialect": "pi",
            "session": {"id": "s1", "file": "/sessions/s1.jsonl", "cwd": "/project", "reason": "startup"},
            "trusted": True,
            "flags": {},
            "state": {"model": None, "thinkingLevel": "off", "isIdle": True, "activeTools": ["read", "bash"]},
            "extensions": [{"id": "x", "path": "x", "sourceInfo": {}}],
            "limits": {"hookMs": 30000, "startMs": 5000},
        }
        init.update(fields)
        self.send(init)
        return self.until(lambda record: record["type"] == "registered")

    def begin(self, kind: str, **fields: Any) -> str:
        """Sends a record that is answered, and returns its id."""
        identity = f"e{next(self._numbers)}"
        self.asked[identity] = self._result_of(kind, fields)
        self.send({"type": kind, "id": identity, **fields})
        return identity

    @staticmethod
    def _result_of(kind: str, fields: Json) -> Optional[str]:
        if kind == "tool":
            return "ToolCallOutcome"
        if kind == "provider" and fields["op"] == "stream":
            return "ProviderStreamEnd"
        if kind == "hook" and fields["event"]["type"] not in ("unknown_hook", "before_provider_request"):
            return "".join(word.capitalize() for word in fields["event"]["type"].split("_")) + "HookResult"
        return None

    def result(self, identity: str) -> Json:
        """Returns the result with an id."""
        for record in self.records:
            if record["type"] == "result" and record["id"] == identity:
                return record
        return self.until(lambda record: record["type"] == "result" and record["id"] == identity)

    def call(self, kind: str, **fields: Any) -> Json:
        """Sends a record and returns its result."""
        return self.result(self.begin(kind, **fields))

    def hook(self, kind: str, **fields: Any) -> Any:
        """Calls a hook and returns its result; an error is raised."""
        record = self.call("hook", event={"type": kind, **fields}, deadlineMs=30000)
        if "error" in record:
            raise HookFailed(record["error"]["message"])
        return record.get("result")

    def tool(self, name: str, **arguments: Any) -> Json:
        """Calls a tool and returns the record with its result."""
        return self.call("tool", name=name, toolCallId="c1", args=arguments)

    def of(self, kind: str, **fields: Any) -> List[Json]:
        """Returns the records of a type with these fields."""
        return [
            record
            for record in self.records
            if record["type"] == kind and all(record.get(name) == value for name, value in fields.items())
        ]

    def notified(self) -> List[Any]:
        """Returns the notifications so far: pairs of method and parameters."""
        return [(record["method"], record["params"]) for record in self.of("notify")]

    def log(self) -> str:
        """Returns what the extension wrote to standard error."""
        return self._log.read_text("utf-8", "replace")

    def close(self) -> int:
        """Ends the connection and returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(WAIT)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


class HookFailed(Exception):
    """An extension answered a hook with an error."""
