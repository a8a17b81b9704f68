"""Plays a scenario against an agent and records the exchange.

A scenario is a JSON file:

  {"about": "...", "args": [...], "files": {path below HOME: content},
   "steps": [{"send": {...}} | {"raw": "bytes as text"} | {"until": {subset}, "count": n, "keep": {NAME: "data.path"}}
             | {"sleep": seconds} | {"eof": true} | {"signal": "TERM"} | {"exit": true}]}

`until` reads records until `count` of them contain the subset; `keep` then stores a field of the last one, and later
steps refer to it as ${NAME}. `exit` reads to the end of stdout and records the exit code.
"""
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT_BINARY = HERE.parents[1] / "target" / "debug" / "bowline"
TIMEOUT = 20


def load_agents(path=HERE / "agents.json"):
    """Returns the agents of a file. "@name" as a file's content stands for the file of that name beside it."""
    agents = json.loads(Path(path).read_text())
    for agent in agents.values():
        for name, content in agent.get("files", {}).items():
            if isinstance(content, str) and content.startswith("@"):
                agent["files"][name] = (Path(path).parent / content[1:]).read_text()
    return agents


def play(agent, scenario, timeout=TIMEOUT):
    """Plays a scenario with a fresh mock model. Returns the log, the agent's HOME and its stderr."""
    mock = subprocess.Popen([sys.executable, HERE / "mockllm.py"], stdout=subprocess.PIPE, text=True)
    run = None
    try:
        run = Run(agent, scenario, int(mock.stdout.readline()))
        try:
            run.play(scenario["steps"], timeout)
        except BrokenPipeError:
            run.log.append({"stuck": "the agent closed its stdin"})
    finally:
        stderr = run.stop() if run else ""
        mock.kill()
        mock.wait()
        mock.stdout.close()
    return run.log, run.home, stderr


class Run:
    """A running agent. `log` lists what was sent ("in"), what was received ("out"), and how it ended."""

    def __init__(self, agent, scenario, port):
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="conform-"))
        work = os.path.join(self.home, "work")
        os.makedirs(work)
        self.placeholders = {
            "{PORT}": str(port),
            "{HOME}": self.home,
            "{CWD}": work,
            "{BOWLINE}": os.path.abspath(os.environ.get("BOWLINE", DEFAULT_BINARY)),
            "{AGENTDIR}": agent.get("agentdir", ".bowline"),
            "{PROVIDER}": agent.get("provider", "mock"),
            "{API}": agent.get("api", "anthropic-messages"),
        }
        for name, content in {**agent.get("files", {}), **scenario.get("files", {})}.items():
            path = Path(self.home, self.fill(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(content if isinstance(content, str) else json.dumps(content)))
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        environment.update({name: self.fill(value) for name, value in agent.get("env", {}).items()}, HOME=self.home)
        self.process = subprocess.Popen(
            [self.fill(argument) for argument in agent["command"] + scenario.get("args", [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.home + "/stderr", "w"),
            cwd=work, env=environment, bufsize=0, start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.unread, self.log = b"", []

    def fill(self, text):
        for placeholder, value in self.placeholders.items():
            text = text.replace(placeholder, value)
        return text

    def next(self, timeout):
        """Returns the next record, or None at the end of stdout or of the time."""
        deadline = time.time() + timeout
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.time()))
            data = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not data:
                return None
            self.unread += data
        line, self.unread = self.unread.split(b"\n", 1)
        try:
            record = json.loads(line)
        except ValueError:
            record = {"type": "<not json>", "line": line.decode("utf8", "replace")[:200]}
        self.log.append({"out": record})
        return record

    def play(self, steps, timeout):
        for step in steps:
            if "send" in step or "raw" in step:
                text = self.fill(json.dumps(step["send"]) + "\n" if "send" in step else step["raw"])
                self.log.append({"in": text})
                self.process.stdin.write(text.encode("utf8", "surrogatepass"))
            elif "until" in step:
                if not self.read_until(step, timeout):
                    self.log.append({"stuck": step["until"]})
                    return
            elif "sleep" in step:
                deadline = time.time() + step["sleep"]
                while time.time() < deadline and self.next(max(0, deadline - time.time())) is not None:
                    pass
            elif "eof" in step:
                self.process.stdin.close()
                self.log.append({"in": "<eof>"})
            elif "signal" in step:
                self.process.send_signal(getattr(signal, "SIG" + step["signal"]))
                self.log.append({"in": f"<SIG{step['signal']}>"})
            elif "exit" in step:
                while self.next(timeout) is not None:
                    pass
                try:
                    self.log.append({"exit": self.process.wait(timeout)})
                except subprocess.TimeoutExpired:
                    self.log.append({"stuck": "exit"})
            else:
                raise ValueError(f"unknown step: {step}")

    def read_until(self, step, timeout):
        missing, deadline = step.get("count", 1), time.time() + timeout
        while missing:
            record = self.next(max(0.01, deadline - time.time()))
            if record is None:
                return False
            if contains(record, step["until"]):
                missing -= 1
                for name, path in step.get("keep", {}).items():
                    self.placeholders["${" + name + "}"] = str(field(record, path))
        return True

    def stop(self):
        """Ends the agent, by force if it does not end with its input. Returns its stderr."""
        for attempt in (self.process.stdin.close, lambda: self.process.wait(3),
                        lambda: os.killpg(self.process.pid, signal.SIGKILL), self.process.wait):
            try:
                attempt()
            except (OSError, subprocess.TimeoutExpired):
                pass
            if self.process.returncode is not None:
                break
        self.process.stdout.close()
        stderr = Path(self.home, "stderr").read_text(errors="replace")
        shutil.rmtree(self.home, ignore_errors=True)
        return stderr


def field(record, path):
    for key in path.split("."):
        record = record[int(key)] if isinstance(record, list) else record.get(key)
    return record


def contains(value, subset):
    """Whether a value has every field of the subset, with the same value."""
    if isinstance(subset, dict):
        return isinstance(value, dict) and all(key in value and contains(value[key], part) for key, part in subset.items())
    if isinstance(subset, list):
        return isinstance(value, list) and len(subset) == len(value) and all(map(contains, value, subset))
    return value == subset
