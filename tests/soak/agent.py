"""A bowline that is driven, and what it owes its client."""
import collections
import json
import os
import queue
import random
import subprocess
import threading
import time
from pathlib import Path

# How long a run may take at most, with its retries and time-outs.
PATIENCE = 60

# The records that begin and end a run, by dialect; the last one counts.
BEGINS = {"agent_start"}
ENDS = {"pi": "agent_settled", "operator": "settled", "operator-flat": "settled"}


class Broken(Exception):
    """bowline broke a promise."""


class Agent:
    def __init__(self, program, dialect, home, work, arguments, seed):
        self.dialect = dialect
        self.errors = open(home / "stderr.txt", "a+")
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "OPI_MODEL": "", "UNRULY_SEED": str(seed)}
        self.random = random.Random(seed)
        self.process = subprocess.Popen(
            [program, "--mode", "rpc", "--dialect", dialect, *arguments],
            cwd=work, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )
        self.records = queue.Queue()
        self.asked = {}
        self.responses = collections.Counter()
        self.data = {}
        self.is_running = False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.records.put(line)
        self.records.put(None)

    def send(self, commands):
        for command in commands:
            self.asked[command["id"]] = command["type"]
        self.process.stdin.write("".join(json.dumps(command) + "\n" for command in commands).encode())
        self.process.stdin.flush()

    def take(self, timeout):
        """Handles one record; returns whether there was one."""
        try:
            line = self.records.get(timeout=timeout)
        except queue.Empty:
            return False
        if line is None:
            raise Broken(f"bowline ended with code {self.process.wait()}")
        try:
            record = json.loads(line)
        except ValueError as error:
            raise Broken(f"a line is not JSON: {error}: {line[:200]}")
        event = record.get("event", record) if isinstance(record.get("event"), dict) else record
        kind = event.get("type")
        if kind == "response" and "id" in record:
            self.answered(record)
        elif kind == "extension_ui_request":
            self.asked_by_extension(event)
        elif kind in BEGINS:
            self.is_running = True
        elif kind == ENDS.get(self.dialect, "agent_end"):
            self.is_running = False
        return True

    def asked_by_extension(self, event):
        """Answers a dialog rightly, wrongly, twice or not at all."""
        answers = [{"value": "a"}, {"confirmed": True}, {"cancelled": True}]
        for answer in self.random.choices(answers, k=self.random.choice([0, 1, 1, 2])):
            line = json.dumps({"type": "extension_ui_response", "id": event.get("id"), **answer}) + "\n"
            self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def answered(self, record):
        id = record["id"]
        if id not in self.asked:
            raise Broken(f"a response has an id that was not sent: {json.dumps(record)[:300]}")
        self.responses[id] += 1
        if self.responses[id] > 1 and not self.may_fail_after_all(record):
            raise Broken(f"{id} ({self.asked[id]}) was answered twice: {json.dumps(record)[:300]}")
        self.data[id] = record

    def may_fail_after_all(self, record):
        """omp acknowledges a prompt before it checks it."""
        is_prompt = self.dialect == "omp" and self.asked[record["id"]] in ("prompt", "abort_and_prompt")
        return is_prompt and not record["success"] and self.responses[record["id"]] == 2 and self.data[record["id"]]["success"]

    def owes(self):
        """Returns the commands that were not answered yet. Only one command of the first pi has a response."""
        has_response = lambda name: self.dialect != "pi-classic" or name == "get_protocol_info"
        return {id: name for id, name in self.asked.items() if has_response(name) and not self.responses[id]}

    def settle(self):
        """Waits until every command is answered, every run has ended and nothing more comes."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not self.take(0.25) and not self.owes() and not self.is_running and not self.tasks():
                return
        if self.owes():
            raise Broken(f"no response in {PATIENCE} s: {self.owes()}")
        if self.is_running:
            raise Broken(f"a run did not end in {PATIENCE} s")
        raise Broken(f"records or processes without end: {self.tasks()}")

    def ask(self, command):
        self.send([command])
        deadline = time.monotonic() + PATIENCE
        while command["id"] not in self.data:
            if time.monotonic() > deadline:
                raise Broken(f"no response to {command} in {PATIENCE} s")
            self.take(0.25)
        return self.data[command["id"]]

    def forget(self):
        """Drops what was answered, so that the client's own memory stays small."""
        for id in self.data:
            del self.asked[id]
            del self.responses[id]
        self.data.clear()

    def tasks(self):
        """Returns the commands of child processes, besides the one that outlives bowline to end them."""
        commands = []
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            for child in children.read().split():
                try:
                    command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if not command.startswith("bowline-watch ") and "unruly.py" not in command:
                    commands.append(command)
        return commands

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """Returns the resident memory in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))

    def close(self):
        """Closes stdin and waits for the end."""
        self.process.stdin.close()
        try:
            code = self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Broken("bowline did not end after stdin was closed")
        self.errors.seek(0)
        errors = self.errors.read()
        if code != 0 or "panicked" in errors:
            raise Broken(f"bowline ended with code {code}: {errors[-2000:]}")
