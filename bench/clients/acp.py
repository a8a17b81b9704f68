#!/usr/bin/env python3
"""What the Agent Client Protocol costs: bowline beside the adapters that put it, or pi, behind the protocol.

  BOWLINE=target/release/bowline bench/clients/acp.py [--rounds N] [--json FILE]

Every agent is started anew in each round, one after the other, over the same scripted model, so that all see the same noise.
The figures are medians and, in brackets, the best of all rounds. The adapters are installed by name below target/acp: pi-acp
(npm) and pi-acpinator (crates.io), both over this bowline.
"""
import argparse
import json
import os
import re
import select
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, ROOT + "/tests/acp")
import install
from client import Model, plan

PI_ACP, ACPINATOR = "0.0.34", "0.1.0"
FIGURES = ["initialize", "session/new", "prompt", "2,000 deltas", "memory", "per session"]
GOALS = {"initialize": 5, "session/new": 3, "prompt": 2, "2,000 deltas": 40, "memory": 8, "per session": 0.2}
SESSIONS = 50


def acpinator():
    program = install.FOLDER + "/acpinator/bin/pi-acpinator"
    if not os.path.exists(program):
        subprocess.run(["cargo", "install", "pi-acpinator", "--version", ACPINATOR, "--locked", "--root",
                        install.FOLDER + "/acpinator"], check=True, stdout=sys.stderr)
    return program


def agents():
    """Returns the agents: name, command, variables."""
    return [
        ("bowline acp", [install.BOWLINE, "acp", "--ask", "never"], {}),
        (f"pi-acp {PI_ACP} over bowline", ["node", install.npm("pi-acp", PI_ACP) + "/dist/index.js"], {"PI_ACP_PI_COMMAND": install.BOWLINE}),
        (f"pi-acpinator {ACPINATOR} over bowline", [acpinator()], {"PI_ACPINATOR_PI_BIN": install.BOWLINE}),
    ]


class Connection:
    """The fastest client there can be in Python: one thread, one pipe."""

    def __init__(self, model, command, variables):
        environment = {**model.environment(), "PI_CODING_AGENT_DIR": model.folder, **variables}
        # pi-acpinator brings an extension of pi along, which needs a newer Node than everything else.
        if node := os.environ.get("BOWLINE_TEST_NODE"):
            environment["PATH"] = os.path.dirname(node) + os.pathsep + environment.get("PATH", os.environ["PATH"])
        self.started = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=environment, cwd=model.work("elsewhere"), bufsize=0)
        self.unread, self.number = b"", 0
        # How long to wait after each piece that is read.
        self.lag = 0

    def send(self, method, params):
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        return self.number

    def lines(self):
        """Returns the lines of the next piece of output."""
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
        assert data, "the agent has ended, or says nothing"
        time.sleep(self.lag)
        *lines, self.unread = (self.unread + data).split(b"\n")
        return lines

    def answers(self, numbers):
        """Waits for the answers to requests. Returns them with the time of each."""
        found = {}
        while len(found) < len(numbers):
            for line in self.lines():
                # Updates are most of the output, and need not be parsed to know that they are no answers.
                if b'"method":' in line[:60] and b'"id":' not in line[:60]:
                    continue
                message = json.loads(line)
                if "method" in message and "id" in message:
                    self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}).encode() + b"\n")
                elif message.get("id") in numbers:
                    found[message["id"]] = (message, time.perf_counter())
        return found

    def call(self, method, params):
        number = self.send(method, params)
        message, at = self.answers({number})[number]
        assert "result" in message, message
        return message["result"], at

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def pss(process):
    """Returns the MB of a process and of everything below it."""
    total, todo = 0.0, [process]
    while todo:
        one = todo.pop()
        try:
            found = re.search(r"^Pss:\s+(\d+)", open(f"/proc/{one}/smaps_rollup").read(), re.M)
            total += int(found.group(1)) / 1024 if found else 0
            for task in os.listdir(f"/proc/{one}/task"):
                todo += [int(child) for child in open(f"/proc/{one}/task/{task}/children").read().split()]
        except OSError:
            pass
    return total


def measure(model, command, variables):
    """Starts an agent and returns its figures."""
    connection = Connection(model, command, variables)
    figures = {}
    try:
        _, at = connection.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        figures["initialize"] = (at - connection.started) * 1000

        def timed(method, params):
            start = time.perf_counter()
            result, at = connection.call(method, params)
            return result, (at - start) * 1000

        named = {"cwd": model.work(), "mcpServers": []}
        opened, figures["session/new"] = timed("session/new", named)
        session = opened["sessionId"]
        prompt = lambda *steps: timed("session/prompt", {"sessionId": session, "prompt": plan(*steps)})[1]
        prompt({"text": "warm"})
        figures["prompt"] = min(prompt({"text": "again"}) for _ in range(5))
        figures["2,000 deltas"] = min(prompt({"n": 2000, "size": 20}) for _ in range(2))
        figures["memory"] = pss(connection.process.pid)
        if "pi-acp " not in " ".join(command) and "pi-acp/" not in " ".join(command):
            for _ in range(10):
                connection.call("session/new", named)
            figures["per session"] = (pss(connection.process.pid) - figures["memory"]) / 10
    finally:
        connection.end()
    return figures


def one_of_many(model):
    """Returns how long a prompt takes in each of many sessions: alone, and beside one that is stuck in a tool and one whose
    flood of output the client reads slowly."""
    connection = Connection(model, [install.BOWLINE, "acp", "--ask", "never"], {})
    connection.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    sessions = [connection.call("session/new", {"cwd": model.work(), "mcpServers": []})[0]["sessionId"] for _ in range(SESSIONS)]
    params = lambda session, *steps: {"sessionId": session, "prompt": plan(*steps)}

    def others():
        times = []
        for session in sessions[2:]:
            start = time.perf_counter()
            _, at = connection.call("session/prompt", params(session, {"text": "x"}))
            times.append((at - start) * 1000)
        return statistics.median(times)

    others()
    figures = {"alone": others()}
    connection.send("session/prompt", params(sessions[0], {"tools": [{"name": "bash", "args": {"command": "sleep 600"}}]}))
    figures["one is stuck in a tool"] = others()
    connection.send("session/prompt", params(sessions[1], {"n": 200_000, "size": 20, "delay": 0.0005}))
    figures["and one floods"] = others()
    connection.lag = 0.005
    figures["and the client reads slowly"] = others()
    figures["memory"] = pss(connection.process.pid)
    connection.process.kill()
    connection.process.wait()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    options = parser.parse_args()
    rounds = {name: [] for name, _, _ in agents()}
    for _ in range(options.rounds):
        for name, command, variables in agents():
            with Model() as model:
                rounds[name].append(measure(model, command, variables))
    print("| | " + " | ".join(FIGURES) + " |\n|---|" + "---|" * len(FIGURES))
    for name, all_figures in rounds.items():
        cells = []
        for figure in FIGURES:
            values = [figures[figure] for figures in all_figures if figure in figures]
            unit = "MB" if figure in ("memory", "per session") else "ms"
            digits = 2 if figure == "per session" else 1
            cells.append(f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}) {unit}" if values else "one session")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("| goal | " + " | ".join(f"≤ {GOALS[figure]}" for figure in FIGURES) + " |\n")
    with Model() as model:
        many = one_of_many(model)
    print(f"a prompt in each of {SESSIONS} sessions: " + ", ".join(f"{name} {value:.1f} {'MB' if name == 'memory' else 'ms'}" for name, value in many.items()))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rounds": rounds, "many": many}, file, indent=1)


if __name__ == "__main__":
    main()
