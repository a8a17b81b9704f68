#!/usr/bin/env python3
"""Drives bowline with random valid commands in every dialect and checks what must hold whatever a client does:

  - every command gets exactly one response,
  - every run ends,
  - memory and descriptors stay bounded, and no process is left behind,
  - a session that is opened again has the messages that it had.

Half of the processes have an extension that does anything (unruly.py).

  soak.py [--seconds S] [--seed N] [--dialect D]

The seed determines the commands; the same seed sends the same ones again, as many as the time allows. The model is a
server on the loopback interface. BOWLINE in the environment selects the binary (default: target/debug/bowline).
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import Agent, Broken
from commands import Commands

ROOT = Path(__file__).resolve().parents[2]
DIALECTS = ["pi", "pi-classic", "omp", "opi", "operator", "operator-flat"]
APIS = ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"]

# How much a process may grow. An idle one has about 10 descriptors and 20 MB, most of which is debug information.
MOST_DESCRIPTORS = 30
MOST_MEMORY = 100

COMMANDS_PER_ROUND = 25
MOST_ROUNDS_PER_PROCESS = 20

SETTINGS = {
    "retry": {"maxRetries": 2, "baseDelayMs": 5, "maxAgentDelayMs": 50},
    "httpIdleTimeoutMs": 300,
    "compaction": {"keepRecentTokens": 500},
    "extensionHookTimeoutMs": 300,
    "extensions": ["extensions-of-soak/unruly"],
}

MANIFEST = {"name": "unruly", "version": "1.0.0", "command": ["python3", "{dir}/unruly.py"], "environment": ["UNRULY_SEED"]}


class Soak:
    """The soak of one dialect."""

    def __init__(self, program, dialect, seed, home, port):
        self.program, self.dialect, self.home = program, dialect, home
        self.random = random.Random(f"{seed}/{dialect}")
        self.work = home / "work"
        self.work.mkdir()
        folder = home / ".bowline"
        folder.mkdir()
        models = (ROOT / "tests/conformance/models.json").read_text()
        for name, value in {"PROVIDER": "mock", "PORT": str(port), "API": self.random.choice(APIS)}.items():
            models = models.replace("{" + name + "}", value)
        (folder / "models.json").write_text(models)
        (folder / "settings.json").write_text(json.dumps(SETTINGS))
        extension = folder / "extensions-of-soak/unruly"
        extension.mkdir(parents=True)
        (extension / "extension.json").write_text(json.dumps(MANIFEST))
        (extension / "unruly.py").write_text((ROOT / "tests/soak/unruly.py").read_text())
        self.commands = Commands(program, dialect, self.work, self.random)
        self.agent = None
        self.sent = self.processes = self.peak_memory = self.peak_descriptors = 0

    def run(self, until):
        arguments, messages = [], None
        while True:
            self.start(arguments)
            if messages is not None:
                self.check_alike(messages, self.messages())
            is_last = time.monotonic() > until
            for _ in range(0 if is_last else self.random.randint(1, MOST_ROUNDS_PER_PROCESS)):
                if time.monotonic() < until:
                    self.round()
            messages, file = self.messages(), self.session_file()
            # A session without messages has no file.
            arguments = ["--session", file] if file and Path(file).exists() else []
            messages = messages if arguments else None
            self.agent.close()
            self.agent = None
            if is_last:
                break
        self.check_files()

    def start(self, arguments):
        model = "mock/m1"
        flags = ["--allow-mutating"] if self.dialect == "opi" else []
        if self.random.random() < 0.5:
            flags.append("--no-extensions")
        seed = self.random.randrange(10**6)
        self.agent = Agent(self.program, self.dialect, self.home, self.work, ["--model", model, *flags, *arguments], seed)
        self.processes += 1

    def round(self):
        left = COMMANDS_PER_ROUND
        while left > 0:
            burst = [self.commands.next() for _ in range(min(left, self.random.choice([1, 1, 2, 5])))]
            self.agent.send(burst)
            left -= len(burst)
            self.sent += len(burst)
            pause = time.monotonic() + self.random.choice([0, 0, 0.005, 0.03, 0.1])
            while time.monotonic() < pause:
                self.agent.take(0.005)
        self.agent.settle()
        for record in self.agent.data.values():
            self.commands.learn(record.get("data"))
        self.agent.forget()
        self.check_resources()

    def check_resources(self):
        memory, descriptors = self.agent.memory(), self.agent.descriptors()
        self.peak_memory = max(self.peak_memory, memory)
        self.peak_descriptors = max(self.peak_descriptors, descriptors)
        if memory > MOST_MEMORY:
            raise Broken(f"{memory} MB of memory after {self.sent} commands")
        if descriptors > MOST_DESCRIPTORS:
            raise Broken(f"{descriptors} descriptors after {self.sent} commands")

    def ask(self, name):
        record = self.agent.ask(self.commands.with_id({"type": name}))
        if not record["success"]:
            raise Broken(f"{name} failed: {record}")
        return record["data"]

    def messages(self):
        """Returns the conversation, in the dialects that show it."""
        return self.ask("get_messages") if "get_messages" in self.commands.schemas else None

    @staticmethod
    def check_alike(before, after):
        # An extension may leave a note when it is told of the end.
        added = after["messages"][len(before["messages"]) :]
        if all(message.get("customType") == "unruly" for message in added):
            after = {**after, "messages": after["messages"][: len(before["messages"])]}
        if before == after:
            return
        pairs = zip(before["messages"], after["messages"])
        differing = next(((old, new) for old, new in pairs if old != new), None)
        lengths = f"{len(before['messages'])} and {len(after['messages'])} messages"
        raise Broken(f"a session that was opened again differs: {lengths}: {json.dumps(differing or added)[:3000]}")

    def session_file(self):
        if "get_state" not in self.commands.schemas:
            return None
        state = self.ask("get_state")
        return state.get("sessionFile") or state.get("session_file")

    def check_files(self):
        """Has bowline check every session file that it wrote."""
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        command = [self.program, "sessions", "fsck", "--json"]
        done = subprocess.run(command, cwd=self.work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Broken(f"a session file is damaged: {done.stdout.decode()[-2000:]}")


def soak(program, dialect, seed, seconds, port):
    with tempfile.TemporaryDirectory(prefix="bowline-soak-") as folder:
        run = Soak(program, dialect, seed, Path(folder), port)
        try:
            run.run(time.monotonic() + seconds)
        except Broken as broken:
            print(f"{dialect}: {broken}\nagain with: soak.py --seed {seed} --dialect {dialect} --seconds {seconds:.0f}")
            print((Path(folder) / "stderr.txt").read_text()[-2000:])
            return False
        finally:
            if run.agent:
                run.agent.process.kill()
        print(
            f"{dialect}: {run.sent} commands, {run.processes} processes, at most {run.peak_memory} MB and "
            f"{run.peak_descriptors} descriptors",
            flush=True,
        )
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--dialect", choices=DIALECTS)
    options = parser.parse_args()
    program = os.environ.get("BOWLINE", str(ROOT / "target/debug/bowline"))
    dialects = [options.dialect] if options.dialect else DIALECTS
    print(f"seed {options.seed}", flush=True)
    server = subprocess.Popen(
        [sys.executable, ROOT / "tests/conformance/mockllm.py"], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(server.stdout.readline())
        share = options.seconds / len(dialects)
        results = [soak(program, dialect, options.seed, share, port) for dialect in dialects]
    finally:
        server.kill()
    sys.exit(0 if all(results) else 1)


main()
