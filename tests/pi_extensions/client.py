"""A client of bowline with a scripted model, for tests of extensions in the real binary."""
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFORMANCE = ROOT / "tests" / "conformance"
BOWLINE = os.path.abspath(os.environ.get("BOWLINE", ROOT / "target" / "debug" / "bowline"))
NODE = os.path.abspath(os.environ["BOWLINE_TEST_NODE"])
PATIENCE = 20


def environment_of(home, variables):
    """Returns the environment of a bowline whose files are in a folder."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables}
    if "BOWLINE_PI_HOST" in os.environ:
        environment["BOWLINE_PI_HOST"] = os.environ["BOWLINE_PI_HOST"]
    return environment


class Client:
    """A client of bowline, with a scripted model."""

    def __init__(self, *arguments, files=(), variables=(), model="mock/m1"):
        self.folder = tempfile.TemporaryDirectory()
        self.home = home = Path(self.folder.name)
        (home / "work").mkdir()
        configuration = home / ".bowline"
        configuration.mkdir()
        self.asked = home / "requests"
        server = [sys.executable, CONFORMANCE / "mockllm.py", "--log", self.asked]
        self.model = subprocess.Popen(server, stdout=subprocess.PIPE, text=True)
        port = self.model.stdout.readline().strip()
        models = (CONFORMANCE / "models.json").read_text()
        for name, value in {"PROVIDER": "mock", "PORT": port, "API": "anthropic-messages"}.items():
            models = models.replace("{" + name + "}", value)
        (configuration / "models.json").write_text(models)
        (configuration / "settings.json").write_text(json.dumps({"nodePath": NODE}))
        for name, text in dict(files).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        choice = ["--model", model] if model else []
        command = [BOWLINE, "--mode", "rpc", *choice, *map(str, arguments)]
        environment = environment_of(home, dict(variables))
        self.errors = open(home / "stderr", "w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=home / "work",
            env=environment, text=True)
        self.seen, self.arrived, self.number = [], queue.Queue(), 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.arrived.put(json.loads(line))

    def send(self, type, **fields):
        self.number += 1
        record = {"id": f"c{self.number}", "type": type, **fields}
        self.write(record)
        return record["id"]

    def write(self, record):
        self.process.stdin.write(json.dumps(record) + "\n")
        self.process.stdin.flush()

    def answer(self, request, **answer):
        """Answers a dialog."""
        self.write({"type": "extension_ui_response", "id": request["id"], **answer})

    def until(self, **subset):
        """Waits for a record with these members and returns it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                record = self.arrived.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {subset} among {json.dumps(self.seen, indent=1)[-4000:]}") from None
            self.seen.append(record)
            if all(record.get(key) == value for key, value in subset.items()):
                return record

    def ask(self, type, **fields):
        return self.until(type="response", id=self.send(type, **fields))

    def begin(self, *answers):
        self.send("prompt", message="go PLAN " + json.dumps(list(answers)))

    def run(self, *answers):
        """Sends a prompt with the model's answers. Returns the tool results of the run."""
        start = len(self.seen)
        self.begin(*answers)
        self.until(type="agent_settled")
        return [record for record in self.seen[start:] if record["type"] == "tool_execution_end"]

    def requests(self):
        """What the model was asked."""
        return [json.loads(line) for line in self.asked.read_text().splitlines()]

    def notification(self):
        return self.until(type="extension_ui_request", method="notify")["message"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.process.stdout.close()
        self.model.kill()
        self.model.wait()
        self.model.stdout.close()
        self.errors.seek(0)
        text = self.errors.read()
        self.errors.close()
        self.folder.cleanup()
        return text


def call(tool, **arguments):
    return {"tools": [{"name": tool, "args": arguments}]}


def text_of(result):
    return result["result"]["content"][0]["text"]
