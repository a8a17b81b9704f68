"""Drives an agent over JSON lines: bowline or pi, whose protocols agree."""
import json
import queue
import subprocess
import threading

LIMIT = 60


class Agent:
    def __init__(self, name, command, environment, folder):
        self.name = name
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.records, self.errors = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        self.count = 0

    def read(self):
        for line in self.process.stdout:
            self.records.put(json.loads(line))
        self.records.put(None)

    def next(self):
        try:
            record = self.records.get(timeout=LIMIT)
        except queue.Empty:
            record = None
        if record is None:
            raise AssertionError(f"{self.name} sends no more records: {b''.join(self.errors).decode()}")
        return record

    def ask(self, type, **fields):
        """Sends a command that must succeed and returns its data."""
        self.count += 1
        command = {"id": str(self.count), "type": type, **fields}
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            record = self.next()
            if record.get("type") == "response" and record.get("id") == command["id"]:
                assert record["success"], f"{self.name}: {type}: {record}"
                return record.get("data")

    def run(self, message):
        """Sends a prompt and waits until the agent is idle. pi 0.73 has no `agent_settled` yet."""
        self.ask("prompt", message=message)
        while True:
            record = self.next()
            if record["type"] == "agent_end" and not record.get("willRetry"):
                break
        while self.ask("get_state")["isStreaming"]:
            pass

    def messages(self):
        return [outline(message) for message in self.ask("get_messages")["messages"]]

    def finish(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"{self.name} does not exit")


def outline(message):
    """Returns the parts of a message that both agents must agree on."""
    role = message["role"]
    if role in ("compactionSummary", "branchSummary"):
        return role, message["summary"]
    if role == "bashExecution":
        return role, message["command"], message["output"]
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    parts = []
    for block in content:
        if block["type"] == "toolCall":
            parts.append(("call", block["id"], block["name"], json.dumps(block["arguments"], sort_keys=True)))
        elif block.get("text") or block.get("thinking"):
            parts.append((block["type"], block.get("text") or block.get("thinking")))
    return role, message.get("stopReason"), message.get("toolCallId"), tuple(parts)
