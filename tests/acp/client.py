"""A client of the Agent Client Protocol for tests: it keeps every message of both sides, and can be silent or rude."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import install

CONFORMANCE = os.path.join(os.path.dirname(install.HERE), "conformance")
TIMEOUT = 120
EDITOR = {"fs": {"readTextFile": True, "writeTextFile": True}}


def plan(*steps):
    """Returns a prompt that tells the scripted model what to answer."""
    return [{"type": "text", "text": "PLAN " + json.dumps(list(steps))}]


class Model:
    """The scripted model, and a home whose settings name it."""

    def __init__(self, settings=None):
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="acp-"))
        self.log = self.home + "/requests"
        self.process = subprocess.Popen(
            [sys.executable, CONFORMANCE + "/mockllm.py", "--log", self.log], stdout=subprocess.PIPE)
        port = int(self.process.stdout.readline().split()[-1])
        text = open(CONFORMANCE + "/models.json").read()
        for name, value in {"{PROVIDER}": "mock", "{API}": "anthropic-messages", "{PORT}": str(port)}.items():
            text = text.replace(name, value)
        self.folder = self.home + "/.bowline"
        os.makedirs(self.folder)
        open(self.folder + "/models.json", "w").write(text)
        open(self.folder + "/settings.json", "w").write(
            json.dumps({"defaultProvider": "mock", "defaultModel": "m1", **(settings or {})}))

    def environment(self):
        variables = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        return {**variables, "HOME": self.home, "BOWLINE_HOME": self.folder}

    def work(self, name="work"):
        folder = f"{self.home}/{name}"
        os.makedirs(folder, exist_ok=True)
        return folder

    def requests(self):
        return [json.loads(line) for line in open(self.log)] if os.path.exists(self.log) else []

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Agent:
    """An agent process. `serve` answers its requests; what it returns is the result, and None is silence."""

    def __init__(self, model, arguments=(), capabilities=None, serve=None):
        self.model, self.capabilities, self.serve = model, capabilities or {}, serve
        self.messages, self.changed = [], threading.Condition()
        self.last = 0
        self.process = subprocess.Popen(
            [install.BOWLINE, "acp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=model.environment(), cwd=model.work("elsewhere"))
        self.errors = b""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.error_reader = threading.Thread(target=self._read_errors, daemon=True)
        self.error_reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            self._note("agent", message)
            if "method" in message and "id" in message and self.serve:
                answer = self.serve(message)
                if answer is not None:
                    self.send({"jsonrpc": "2.0", "id": message["id"], **answer})
        self._note("agent", None)

    def _note(self, side, message):
        with self.changed:
            self.messages.append((side, message))
            self.changed.notify_all()

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self._note("client", message)
        self.raw(json.dumps(message).encode() + b"\n")

    def request(self, method, params=None):
        """Sends a request and returns its id."""
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}})
        return self.last

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait(self, accept, what, start=0):
        """Returns the first message of the agent that is accepted."""
        deadline, at = time.monotonic() + TIMEOUT, start
        with self.changed:
            while True:
                for side, message in self.messages[at:]:
                    at += 1
                    if side == "agent" and message is None:
                        raise AssertionError(f"the agent ended before {what}: {self.errors.decode()[-500:]}")
                    if side == "agent" and accept(message):
                        return message
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    recent = [json.dumps(message)[:300] for _, message in self.messages[-8:]]
                    raise AssertionError(f"no {what}; last:\n" + "\n".join(recent))

    def answer(self, number):
        return self.wait(lambda message: message.get("id") == number and "method" not in message, f"answer to {number}")

    def call(self, method, params=None):
        return self.answer(self.request(method, params))

    def result(self, method, params=None):
        answer = self.call(method, params)
        assert "result" in answer, f"{method}: {answer}"
        return answer["result"]

    def error(self, method, params=None):
        answer = self.call(method, params)
        assert "error" in answer, f"{method}: {answer}"
        return answer["error"]["code"]

    def update(self, session, accept, what):
        """Waits for an update of a session."""
        def is_it(message):
            params = message.get("params") or {}
            return message.get("method") == "session/update" and params["sessionId"] == session and accept(params["update"])
        return self.wait(is_it, what)["params"]["update"]

    def asked(self, method, start=0):
        """Waits for a request of the agent."""
        return self.wait(lambda message: message.get("method") == method and "id" in message, method, start)

    def initialize(self, version=1):
        return self.result("initialize", {"protocolVersion": version, "clientCapabilities": self.capabilities})

    def session(self, folder=None, servers=()):
        params = {"cwd": folder or self.model.work(), "mcpServers": list(servers)}
        return self.result("session/new", params)["sessionId"]

    def prompt(self, session, content):
        return self.call("session/prompt", {"sessionId": session, "prompt": content})

    def updates(self, session=None):
        params = [message["params"] for side, message in self.messages
                  if side == "agent" and message and message.get("method") == "session/update"]
        return [update["update"] for update in params if session in (None, update["sessionId"])]

    def end(self):
        """Closes the agent's stdin and returns its exit code."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join(5)
        self.error_reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def allow(message):
    """Serves permissions with a yes."""
    if message["method"] == "session/request_permission":
        option = next(option for option in message["params"]["options"] if option["kind"] == "allow_once")
        return {"result": {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}}
    return {"error": {"code": -32601, "message": "not served"}}
