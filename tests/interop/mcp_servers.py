#!/usr/bin/env python3
"""Runs bowline with MCP servers that others wrote: every kind of content, progress, cancellation, questions, over pipes and
over HTTP.

  BOWLINE=target/release/bowline tests/interop/mcp_servers.py

Needs Node 20, npm and Python 3.11. The servers come from npm and PyPI and are installed below target/ on the first run;
after that no network is used but the loopback interface.
"""
import glob
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from agent import Agent
from model_server import ModelServer, call, text

BOWLINE = os.path.abspath(os.environ.get("BOWLINE", HERE + "/../../target/release/bowline"))
FOLDER = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", HERE + "/../../target")) + "/mcp-servers"
NODE_PACKAGE, NODE_VERSION = "@modelcontextprotocol/server-everything", "2026.8.31"
PYTHON_PACKAGES = {"mcp-server-time": "2026.10.19", "mcp-server-git": "2026.10.19"}


def install():
    """Installs the servers if missing. Returns the program of the one in JavaScript and the folder of the others."""
    package = f"{FOLDER}/node_modules/{NODE_PACKAGE}"
    os.makedirs(FOLDER, exist_ok=True)
    if not os.path.exists(package + "/package.json"):
        options = ["--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(["npm", "install", *options, f"{NODE_PACKAGE}@{NODE_VERSION}"], check=True, stdout=sys.stderr)
    found = json.load(open(package + "/package.json"))["version"]
    assert found == NODE_VERSION, f"{NODE_PACKAGE} {found} is installed, not {NODE_VERSION}: remove {FOLDER}"
    programs = FOLDER + "/venv/bin"
    sites = FOLDER + "/venv/lib/python*/site-packages/"
    wanted = [f"{sites}{name.replace('-', '_')}-{version}.dist-info" for name, version in PYTHON_PACKAGES.items()]
    if not all(glob.glob(path) for path in wanted):
        subprocess.run([sys.executable, "-m", "venv", FOLDER + "/venv"], check=True)
        packages = [f"{name}=={version}" for name, version in PYTHON_PACKAGES.items()]
        subprocess.run([programs + "/python", "-m", "pip", "install", "--quiet", *packages], check=True, stdout=sys.stderr)
    return package + "/dist/index.js", programs


class Place:
    """A home with a scripted model and servers."""

    def __init__(self, home, model, servers):
        self.work, self.model = home + "/work", model
        os.makedirs(self.work)
        os.makedirs(home + "/agent")
        provider = {"baseUrl": model.url, "api": "openai-completions", "apiKey": "none", "models": [{
            "id": "m1", "name": "m1", "input": ["text", "image"], "contextWindow": 200000, "maxTokens": 32000}]}
        for name, content in [("models.json", {"providers": {"mock": provider}}), ("mcp.json", {"mcpServers": servers}),
                              ("settings.json", {"mcpStartTimeoutMs": 60000})]:
            with open(f"{home}/agent/{name}", "w") as file:
                json.dump(content, file)
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = {**inherited, "HOME": home, "BOWLINE_HOME": home + "/agent"}
        self.agent = Agent("bowline", [BOWLINE, "--mode", "rpc", "--model", "mock/m1"], environment, self.work)

    def call(self, tool, arguments=None, answer=None):
        """Has the model call a tool. Returns the result, and the records before it; `answer` answers dialogs."""
        self.model.script(call(tool, arguments or {}), text("done"))
        self.agent.ask("prompt", message=f"call {tool}")
        records = []
        while True:
            record = self.agent.next()
            records.append(record)
            if record["type"] == "extension_ui_request" and record["method"] in ("select", "confirm", "input"):
                self.send({"type": "extension_ui_response", "id": record["id"], **answer(record)})
            if record["type"] == "tool_execution_end":
                result = record
            if record["type"] == "agent_settled":
                return result, records

    def send(self, command):
        self.agent.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.agent.process.stdin.flush()


def said(result):
    return "\n".join(block["text"] for block in result["result"]["content"] if block["type"] == "text")


def images(result):
    return sum(block["type"] == "image" for block in result["result"]["content"])


def check_contents(place, prefix):
    result, _ = place.call(prefix + "echo", {"message": "hello"})
    assert said(result) == "Echo: hello", result
    result, _ = place.call(prefix + "get-tiny-image")
    assert images(result) == 1, result
    assert '"image_url"' in json.dumps(place.model.requests[-1]), "the model gets the image"
    result, _ = place.call(prefix + "get-annotated-message", {"messageType": "error", "includeImage": True})
    assert "Error" in said(result) and images(result) == 1, result
    result, _ = place.call(prefix + "get-resource-links", {"count": 3})
    assert said(result).count("[resource: demo://resource/dynamic/") == 3, result
    result, _ = place.call(prefix + "get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    assert "[resource: demo://resource/dynamic/text/1]" in said(result), result
    result, _ = place.call(prefix + "get-resource-reference", {"resourceType": "Blob", "resourceId": 2})
    assert "demo://resource/dynamic/blob/2" in said(result), result
    result, _ = place.call(prefix + "get-structured-content", {"location": "New York"})
    assert "temperature" in result["result"]["details"]["structuredContent"], result
    result, _ = place.call(prefix + "get-sum", {"a": "one", "b": 2})
    assert result["isError"], "wrong arguments are an error of the server"
    result, _ = place.call(prefix + "get-roots-list")
    assert os.path.basename(place.work) in said(result), result


def check_progress(place, prefix):
    result, records = place.call(prefix + "trigger-long-running-operation", {"duration": 1, "steps": 4})
    updates = [record for record in records if record["type"] == "tool_execution_update"]
    assert "completed" in said(result) and len(updates) >= 3, records
    assert updates[0]["partialResult"]["details"]["total"] == 4, updates[0]


def check_cancellation(place, prefix):
    place.model.script(call(prefix + "trigger-long-running-operation", {"duration": 60, "steps": 60}))
    place.agent.ask("prompt", message="work for a minute")
    while place.agent.next()["type"] != "tool_execution_update":
        pass
    began = time.monotonic()
    place.agent.ask("abort")
    assert time.monotonic() - began < 0.5, "abort waits for nobody"
    result, _ = place.call(prefix + "echo", {"message": "still here"})
    assert said(result) == "Echo: still here", result


def check_questions(place, prefix):
    asked = []

    def answer(dialog):
        asked.append(dialog)
        if dialog["method"] == "select":
            return {"value": dialog["options"][0]}
        if "number" in dialog["title"].lower() or "integer" in dialog["title"].lower():
            return {"value": "5"}
        words = {"email": "me@example.org", "uri": "https://example.org", "date": "2001-02-03"}
        value = next((value for word, value in words.items() if f"{word} format" in dialog["title"].lower()), None)
        # What is offered as a choice of several is in the placeholder.
        choices = (dialog.get("placeholder") or "").removeprefix("any of ")
        return {"value": value or (choices.split(",")[0] if choices.endswith("between them") else "Ada")}

    result, _ = place.call(prefix + "trigger-elicitation-request", answer=answer)
    assert "Ada" in said(result) and "accept" in said(result), result
    assert len(asked) >= 8 and any(dialog["method"] == "select" for dialog in asked), asked
    result, _ = place.call(prefix + "trigger-elicitation-request", answer=lambda _: {"cancelled": True})
    assert "cancel" in said(result), result


def check_prompts_and_resources(place, prefix, server):
    place.model.script(text("sunny"))
    place.agent.run(f"/{prefix}args-prompt Paris")
    assert "What's weather in Paris?" in place.model.last_request(), place.model.last_request()
    names = [command["name"] for command in place.agent.ask("get_commands")["commands"]]
    assert prefix + "simple-prompt" in names, names
    result, _ = place.call("list_mcp_resources", {"server": server})
    assert "demo://resource/dynamic/text/{resourceId}" in said(result), result
    result, _ = place.call("read_mcp_resource", {"server": server, "uri": "demo://resource/dynamic/text/7"})
    assert "Resource 7" in said(result), result


def check_everything(place, server):
    prefix = f"mcp__{server}__"
    check_contents(place, prefix)
    check_progress(place, prefix)
    check_cancellation(place, prefix)
    check_questions(place, prefix)
    check_prompts_and_resources(place, prefix, server)


def check_others(place):
    result, _ = place.call("mcp__time__convert_time", {
        "source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"})
    assert json.loads(said(result))["target"]["timezone"] == "Asia/Tokyo", result
    result, _ = place.call("mcp__time__get_current_time", {"timezone": "Nowhere/None"})
    assert result["isError"], result
    for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=place.work, check=True)
    result, _ = place.call("mcp__git__git_log", {"repo_path": place.work})
    assert "first" in said(result), result


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def over_http(program):
    """Starts the server over HTTP and waits until it listens. Returns its process and its address."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen(
        ["node", program, "streamableHttp"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp")
        except urllib.error.HTTPError:
            return process, f"http://127.0.0.1:{port}/mcp"
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise AssertionError("the server does not listen")


def main():
    program, programs = install()
    http, address = over_http(program)
    try:
        servers = {
            "everything": {"command": "node", "args": [program]},
            "web": {"url": address},
            "time": {"command": programs + "/mcp-server-time", "args": ["--local-timezone", "UTC"]},
            "git": {"command": programs + "/mcp-server-git"},
        }
        with tempfile.TemporaryDirectory() as home:
            place = Place(home, ModelServer(), servers)
            for server in ("everything", "web"):
                check_everything(place, server)
                print(f"{server}: every kind of content, progress, cancellation, questions, prompts, resources")
            check_others(place)
            print("time, git: tools and errors")
            place.agent.finish()
            assert not place.agent.errors, b"".join(place.agent.errors).decode()
    finally:
        http.send_signal(signal.SIGTERM)
        http.wait()


if __name__ == "__main__":
    main()
