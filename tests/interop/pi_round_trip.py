#!/usr/bin/env python3
"""Passes sessions back and forth between bowline and the real pi, and checks that each reads what the other wrote.

  BOWLINE=target/release/bowline tests/interop/pi_round_trip.py

Needs Node 20 and npm. pi is installed next to this file on the first run; after that no network is used but the
loopback interface.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from agent import Agent
from model_server import ModelServer, call, failure, text

PACKAGE = "@mariozechner/pi-coding-agent"
VERSION = "0.73.1"
BOWLINE = os.path.abspath(os.environ.get("BOWLINE", HERE + "/../../target/release/bowline"))
PADDING = " and some words that fill the window of the model a little" * 3


def pi_program():
    """Returns the command that starts pi, after installing it if missing."""
    folder = HERE + "/.pi"
    package = f"{folder}/node_modules/{PACKAGE}"
    if not os.path.exists(package + "/package.json"):
        os.makedirs(folder, exist_ok=True)
        options = ["--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(["npm", "install", *options, f"{PACKAGE}@{VERSION}"], check=True, stdout=sys.stderr)
    found = json.load(open(package + "/package.json"))["version"]
    assert found == VERSION, f"pi {found} is installed, not {VERSION}: remove {folder}"
    return ["node", package + "/dist/cli.js"]


class Place:
    """A home that both agents share: a folder of settings, models and sessions, and a working folder."""

    def __init__(self, home, model):
        self.home, self.work, self.model = home, home + "/work", model
        self.agent_folder = home + "/agent"
        os.makedirs(self.work)
        os.makedirs(self.agent_folder)
        provider = {"baseUrl": model.url, "api": "openai-completions", "apiKey": "none", "models": [{
            "id": "m1", "name": "m1", "reasoning": False, "input": ["text"], "contextWindow": 200000,
            "maxTokens": 32000, "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}]}
        self.write("models.json", {"providers": {"mock": provider}})
        self.write("settings.json", {
            "compaction": {"keepRecentTokens": 30}, "retry": {"baseDelayMs": 10}, "defaultThinkingLevel": "off"})
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.environment = {
            **inherited, "HOME": home, "PI_CODING_AGENT_DIR": self.agent_folder, "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def write(self, name, content):
        with open(f"{self.agent_folder}/{name}", "w") as file:
            json.dump(content, file)

    def start(self, name, session=None):
        program = [BOWLINE] if name == "bowline" else pi_program()
        command = program + ["--mode", "rpc", "--provider", "mock", "--model", "m1"]
        command += ["--session", session] if session else []
        return Agent(name, command, self.environment, self.work)


def talk(agent, model, who):
    """Has a conversation with a tool call and one without."""
    model.script(call("bash", {"command": f"echo from {who}"}, f"{who} looks"), text(f"{who} is done"))
    agent.run(f"first to {who}" + PADDING)
    model.script(text(f"{who} again"))
    agent.run(f"second to {who}" + PADDING)


def hand_over(place, session, giver, receiver):
    """Ends one agent, opens its session in the other, and checks that the conversation is the same."""
    messages, state = giver.messages(), giver.ask("get_state")
    giver.finish()
    before = open(session).read()
    agent = place.start(receiver, session)
    assert_equal(agent.messages(), messages, f"{receiver} reads another conversation than {giver.name} wrote")
    found = agent.ask("get_state")
    for field in ("sessionId", "sessionName", "messageCount"):
        assert_equal(found.get(field), state.get(field), f"{field} in {receiver}")
    assert_equal(open(session).read(), before, f"{receiver} changes the file by opening it")
    return agent


def assert_equal(found, expected, what):
    if found != expected:
        show = lambda value: json.dumps(value, indent=1, ensure_ascii=False)
        raise AssertionError(f"{what}\nfound: {show(found)}\nexpected: {show(expected)}")


def assert_sent(model, *texts):
    sent = model.last_request()
    for wanted in texts:
        assert wanted in sent, f"the request lacks {wanted!r}: {sent}"


def round_trip(first, second):
    """A session that goes from one agent to the other, back, and to the other again."""
    model = ModelServer()
    with tempfile.TemporaryDirectory(prefix="bowline-interop-") as home:
        place = Place(home, model)
        agent = place.start(first)
        talk(agent, model, first)
        agent.ask("set_session_name", name=f"Begun by {first}")
        agent.ask("bash", command="echo by hand")
        model.script(text(f"SUMMARY BY {first}"), text("of the turn"))
        agent.ask("compact")
        agent.run("after the compaction")
        session = agent.ask("get_state")["sessionFile"]

        agent = hand_over(place, session, agent, second)
        talk(agent, model, second)
        assert_sent(model, f"SUMMARY BY {first}", "after the compaction", f"first to {second}")
        agent.ask("set_session_name", name=f"Renamed by {second}")
        model.replies.clear()
        model.script(text(f"SUMMARY BY {second}"), text("of the turn"))
        agent.ask("compact")
        model.replies.clear()

        agent = hand_over(place, session, agent, first)
        talk(agent, model, first)
        assert_sent(model, f"SUMMARY BY {second}", f"first to {first}")
        agent = hand_over(place, session, agent, second)
        agent.run("the end")
        assert_sent(model, f"SUMMARY BY {second}", f"second to {first}", "the end")
        agent = hand_over(place, session, agent, first)
        agent.finish()
        check_lines(session)


def branches():
    """A session with a branch summary, a label and a fork, written by bowline and read by pi."""
    model = ModelServer()
    with tempfile.TemporaryDirectory(prefix="bowline-interop-") as home:
        place = Place(home, model)
        agent = place.start("bowline")
        talk(agent, model, "bowline")
        second = agent.ask("get_fork_messages")["messages"][1]["entryId"]
        model.script(text("WHAT WAS TRIED"))
        agent.ask("navigate_tree", entryId=second, summarize=True)
        agent.run("the other way")
        agent.ask("set_label", entryId=second, label="left here")
        session = agent.ask("get_state")["sessionFile"]
        agent = hand_over(place, session, agent, "pi")
        assert ("branchSummary", "WHAT WAS TRIED") in agent.messages()
        forks = agent.ask("get_fork_messages")["messages"]
        assert_equal(len(forks), 3, "pi sees the messages of all branches")
        agent.ask("fork", entryId=forks[2]["entryId"])
        agent.run("forked by pi")
        forked = agent.ask("get_state")["sessionFile"]
        agent = hand_over(place, forked, agent, "bowline")
        agent.run("and on in bowline")
        assert_sent(model, "WHAT WAS TRIED", "forked by pi", "and on in bowline")
        agent.ask("clone")
        cloned = agent.ask("get_state")["sessionFile"]
        hand_over(place, cloned, agent, "pi").finish()
        check_lines(session)
        check_lines(cloned)


def retried():
    """An answer that failed and was retried: bowline removes it from the context with an entry that pi 0.73 does not know,
    so pi shows it, but omits it from requests because it failed."""
    model = ModelServer()
    with tempfile.TemporaryDirectory(prefix="bowline-interop-") as home:
        place = Place(home, model)
        agent = place.start("bowline")
        model.script(failure(503, "overloaded"), text("at last"))
        agent.run("try")
        session, messages = agent.ask("get_state")["sessionFile"], agent.messages()
        agent.finish()
        agent = place.start("pi", session)
        found = agent.messages()
        failed = [message for message in found if message[1] == "error"]
        assert_equal([message for message in found if message not in failed], messages, "pi reads the same messages")
        assert_equal(len(failed), 1, "pi 0.73 shows the failed answer")
        agent.run("go on")
        roles = [message["role"] for message in model.requests[-1]["messages"] if message["role"] != "system"]
        assert_equal(roles, ["user", "assistant", "user"], "the failed answer is not sent")
        agent.finish()


def check_lines(session):
    """Checks that every line is complete and every parent exists."""
    lines = [json.loads(line) for line in open(session).read().splitlines()]
    assert lines[0]["type"] == "session" and lines[0]["version"] == 3
    known = {None} | {line["id"] for line in lines[1:]}
    for line in lines[1:]:
        assert line["parentId"] in known, line


def main():
    pi_program()
    for name, check in [
        ("bowline → pi → bowline", lambda: round_trip("bowline", "pi")),
        ("pi → bowline → pi", lambda: round_trip("pi", "bowline")),
        ("branches, labels and forks", branches),
        ("a retried answer", retried),
    ]:
        check()
        print(f"ok: {name}", flush=True)


if __name__ == "__main__":
    main()
