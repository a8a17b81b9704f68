#!/usr/bin/env python3
"""Has an editor's exchange with bowline: a session, and two answers of a model server on this machine.

    exchange.py COMMAND…    COMMAND… starts bowline acp, as it is or under a program that watches it

`package` traces it, so that an editor's bowline, which stays for hours, needs little memory. The model server is that of the
conformance kit.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

KIT = Path(__file__).resolve().parents[1] / "tests" / "conformance"
ANSWER = "PLAN " + json.dumps([{"n": 40, "size": 20}])


def start_model(home):
    """Starts the model server, and describes it in the settings of `home`. Returns the process."""
    server = subprocess.Popen([sys.executable, KIT / "mockllm.py", "--log", home / "requests"], stdout=subprocess.PIPE)
    port = server.stdout.readline().split()[-1].decode()
    text = (KIT / "models.json").read_text()
    for name, value in {"{PROVIDER}": "mock", "{API}": "anthropic-messages", "{PORT}": port}.items():
        text = text.replace(name, value)
    (home / "models.json").write_text(text)
    (home / "settings.json").write_text('{"defaultProvider": "mock", "defaultModel": "m1"}')
    return server


class Editor:
    def __init__(self, command, home):
        variables = {"HOME": str(home), "BOWLINE_HOME": str(home), "PATH": os.environ["PATH"]}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env=variables)
        self.number = 0

    def ask(self, method, params):
        """Sends a request and returns its result."""
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                return message["result"]
        raise SystemExit(f"exchange: bowline ended before it answered {method}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        model = start_model(home)
        try:
            editor = Editor(sys.argv[1:], home)
            editor.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            session = editor.ask("session/new", {"cwd": str(home), "mcpServers": []})["sessionId"]
            for _ in range(2):
                editor.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": ANSWER}]})
            return editor.end()
        finally:
            model.kill()
            model.wait()


if __name__ == "__main__":
    sys.exit(main())
