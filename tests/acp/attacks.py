#!/usr/bin/env python3
"""Clients that are rude, silent or wrong: bowline answers each request once, and lives on.

  tests/acp/attacks.py [NAME ...]
"""
import json
import os
import signal
import subprocess
import sys
import time

from client import Agent, EDITOR, Model, plan
from schema import Schema
import install

ALL = {}


def attack(function):
    ALL[function.__name__] = function
    return function


def call(tool, **arguments):
    return {"tools": [{"name": tool, "args": arguments}]}


def start(model, *arguments, **options):
    agent = Agent(model, arguments or ("--ask", "never"), **options)
    agent.initialize()
    return agent


def is_alive(agent):
    """Checks that the agent still answers, with all that it said before in order."""
    session = agent.session()
    assert agent.prompt(session, plan({"text": "alive"}))["result"]["stopReason"] == "end_turn"


def lines(*texts):
    return b"".join(text if isinstance(text, bytes) else text.encode() for text in texts)


@attack
def lines_that_are_no_messages(model):
    with start(model) as agent:
        before = len(agent.messages)
        bad = [(b"{", -32700), (b"\xff\xfe{}", -32700), (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600),
               (b"7", -32600), (b"null", -32600), (b'"text"', -32600), (b"{}", -32600), (b'{"id":1}', -32600),
               (b'{"jsonrpc":"2.0","id":5,"method":7}', -32601), (b"[" * 1_000_000 + b"]" * 1_000_000, -32600),
               (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, -32600), (b"\0\0\0", -32700),
               (b'{"jsonrpc":"2.0","id":5,"method":"session/list","params":' + b"[" * 200_000 + b"]" * 200_000 + b"}", -32700)]
        for text, code in bad:
            agent.raw(text + b"\n")
        agent.raw(b"\n\r\n   \n")
        is_alive(agent)
        answers = [message for side, message in agent.messages[before:] if side == "agent" and "error" in message]
        assert [answer["error"]["code"] for answer in answers] == [code for _, code in bad], [a["error"] for a in answers]
        for answer, (text, _) in zip(answers, bad):
            assert "id" in answer, (text[:80], answer)


@attack
def a_line_without_end(model):
    with start(model, "--ask", "never", "--line-limit", "1000000") as agent:
        before = len(agent.messages)
        agent.raw(b'{"jsonrpc":"2.0","id":"long","method":"session/list","params":{"x":"' + b"y" * 3_000_000)
        agent.raw(b'"}}\n')
        is_alive(agent)
        errors = [message["error"]["code"] for side, message in agent.messages[before:] if side == "agent" and "error" in message]
        assert errors == [-32700], errors


@attack
def before_initialize(model):
    with Agent(model) as agent:
        for method, params in (("session/new", {"cwd": "/", "mcpServers": []}), ("session/list", {}), ("authenticate", {"methodId": "keys"}),
                               ("_bowline/stats", {"sessionId": "x"}), ("logout", {}), ("session/prompt", {"sessionId": "x", "prompt": []})):
            assert agent.error(method, params) == -32600, method
        agent.notify("session/cancel", {"sessionId": "x"})
        agent.initialize()
        # Once more: the last one counts.
        agent.initialize()
        is_alive(agent)


@attack
def wrong_types_in_every_field(model):
    wrong = [None, True, 0, -1, 1.5, 2 ** 70, "", "x", "\u0000", [], [[]], [None], [1], {}, {"a": {}}]
    folder = model.work()
    good = {
        "initialize": {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {}},
        "authenticate": {"methodId": "keys"},
        "session/new": {"cwd": folder, "mcpServers": []},
        "session/load": {"sessionId": "S", "cwd": folder, "mcpServers": []},
        "session/resume": {"sessionId": "S", "cwd": folder, "mcpServers": []},
        "session/fork": {"sessionId": "S", "cwd": folder, "mcpServers": []},
        "session/list": {"cwd": folder, "cursor": None},
        "session/set_mode": {"sessionId": "S", "modeId": "auto"},
        "session/set_config_option": {"sessionId": "S", "configId": "mode", "value": "auto"},
        "session/prompt": {"sessionId": "S", "prompt": [{"type": "text", "text": "PLAN [{\"text\": \"x\"}]"}]},
        "_session/steering": {"sessionId": "S", "prompt": [{"type": "text", "text": "x"}], "_meta": {"steering": {"idleBehavior": "promptRequired"}}},
        "_bowline/compact": {"sessionId": "S", "customInstructions": "x"},
        "_bowline/tree": {"sessionId": "S", "format": "flat"},
        "_bowline/navigate": {"sessionId": "S", "entryId": "none", "summarize": False},
        "_bowline/changes": {"sessionId": "S", "run": 1, "diff": True},
        "_bowline/undo": {"sessionId": "S", "run": 1, "dryRun": True},
        "$/cancel_request": {"requestId": 99999},
        "session/cancel": {"sessionId": "S"},
        "session/close": {"sessionId": "other"},
        "session/delete": {"sessionId": "other"},
        "session/rename": {"x": 1},
    }
    blocks = [{"type": "text"}, {"type": "image", "data": 1, "mimeType": "image/png"}, {"type": "image", "data": "!!", "mimeType": "image/png"},
              {"type": "image", "data": "AAAA", "mimeType": "text/plain"}, {"type": "resource"}, {"type": "resource", "resource": {}},
              {"type": "resource", "resource": {"uri": "x"}}, {"type": "resource_link", "name": 1, "uri": 2}, {"type": 7}, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]
    servers = [{"name": "x"}, {"name": 1, "command": "x"}, {"name": "x", "command": 1}, {"name": "x", "type": "sse", "url": "x"}, {"name": "x", "type": "http"},
               {"name": "x", "command": "/none", "args": 1, "env": 2}, {"name": "x", "command": "/none", "args": [1], "env": [1, {"name": 1}]}]
    schema = Schema(install.schema())
    with start(model) as agent:
        session = agent.session()
        named = lambda params: json.loads(json.dumps(params).replace('"S"', json.dumps(session)))
        sent = {}
        for method, params in good.items():
            for field in params:
                for value in wrong:
                    sent[agent.request(method, {**named(params), field: value})] = (method, field, value)
            for value in (None, [], "x", 7):
                agent.last += 1
                agent.send({"jsonrpc": "2.0", "id": agent.last, "method": method, "params": value})
                sent[agent.last] = (method, "params", value)
        for block in blocks:
            number = agent.request("session/prompt", {"sessionId": session, "prompt": [block]})
            assert agent.answer(number)["error"]["code"] == -32602, block
        for server in servers:
            answer = agent.call("session/new", {"cwd": folder, "mcpServers": [server]})
            assert answer.get("error", {"code": -32602})["code"] == -32602, (server, answer)
        agent.result("session/new", {"cwd": folder, "mcpServers": [servers[-1]]})
        agent.initialize()
        for number, what in sent.items():
            answer = agent.answer(number)
            if "error" in answer:
                assert schema.problem_of_error(answer["error"]) is None
                is_refused = (answer["error"].get("data") or {}).get("code") in ("nothing_to_do", "invalid_argument", "unknown_entry")
                assert answer["error"]["code"] != -32603 or is_refused, (what, answer)
            else:
                assert not schema.problem("result", what[0], answer["result"]), (what, answer)
        numbers = [message["id"] for side, message in agent.messages if side == "agent" and "method" not in message]
        assert all(numbers.count(number) == 1 for number in sent), "a request was answered twice"
        is_alive(agent)


@attack
def ids_of_any_kind(model):
    with start(model) as agent:
        ids = ["text", "", 0, -7, 2 ** 53 + 1, 1e300, 1.5, "\u2028"]
        for number in ids:
            agent.send({"jsonrpc": "2.0", "id": number, "method": "session/list", "params": {}})
            agent.answer(number)
        # The same id twice: each request has its answer.
        agent.raw(b'{"jsonrpc":"2.0","id":"twice","method":"session/list","params":{}}\n' * 2)
        is_alive(agent)
        assert sum(1 for side, message in agent.messages if side == "agent" and message.get("id") == "twice") == 2
        # Answers to nothing.
        for number in (1, "permission-1", "read-1", None, [], {}):
            agent.send({"jsonrpc": "2.0", "id": number, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}})
            agent.send({"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "x"}})
        is_alive(agent)


@attack
def a_question_that_is_never_answered(model):
    with start(model, "--ask", "untrusted", serve=lambda _: None) as agent:
        session, other = agent.session(), agent.session(model.work("other"))
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(call("bash", command="touch ran"), {"text": "x"})})
        question = agent.asked("session/request_permission")
        assert agent.prompt(other, plan({"text": "meanwhile"}))["result"]["stopReason"] == "end_turn"
        # Nonsense is a no; the question is not asked again.
        agent.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": 7}})
        assert agent.answer(number)["result"]["stopReason"] == "end_turn"
        start_at = len(agent.messages)
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(call("bash", command="touch ran"), {"text": "x"})})
        question = agent.asked("session/request_permission", start_at)
        agent.result("session/close", {"sessionId": session})
        assert agent.answer(number)["result"]["stopReason"] == "cancelled"
        agent.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": "once"}}})
        assert agent.prompt(other, plan({"text": "after"}))["result"]["stopReason"] == "end_turn"
    assert not os.path.exists(model.work() + "/ran")


@attack
def a_question_that_is_answered_with_an_error(model):
    with start(model, "--ask", "untrusted", serve=lambda _: {"error": {"code": -32601, "message": "no"}}) as agent:
        session = agent.session()
        for _ in range(2):
            agent.prompt(session, plan(call("bash", command="touch ran"), {"text": "x"}))
        asked = [message for side, message in agent.messages if side == "agent" and message.get("method") == "session/request_permission"]
        assert len(asked) == 1, "it asks although the client cannot answer"
    assert not os.path.exists(model.work() + "/ran")


def edit_with(model, serve, before="one\n", name="file.txt"):
    """Has the model edit a file with a client that serves files in this way. Returns the file and the facts of the call."""
    path = f"{model.work()}/{name}"
    open(path, "w").write(before)
    with start(model, "--ask", "never", capabilities=EDITOR, serve=serve) as agent:
        session = agent.session()
        agent.prompt(session, plan(call("edit", path=name, edits=[{"oldText": "one", "newText": "two"}]), {"text": "x"}))
        end = agent.update(session, lambda update: update.get("status") in ("completed", "failed"), "the end of the call")
    return open(path).read(), end


@attack
def an_editor_that_refuses_files(model):
    text, end = edit_with(model, lambda _: {"error": {"code": -32603, "message": "read-only buffer"}})
    assert text == "two\n" and end["status"] == "completed", (text, end)
    assert end["rawOutput"]["editor"] == {"written": False, "reason": "read-only buffer"}, end


@attack
def an_editor_that_says_yes_and_writes_nothing(model):
    text, end = edit_with(model, lambda message: {"result": {"content": "one\n"} if "read" in message["method"] else {}})
    assert text == "two\n" and end["rawOutput"]["editor"]["written"], (text, end)


@attack
def an_editor_that_answers_nonsense(model):
    for result in (None, 7, [], {"content": 7}, {"content": None}):
        text, end = edit_with(model, lambda _: {"result": result})
        assert text == "two\n", (result, text, end)


@attack
def an_editor_that_formats(model):
    def serve(message):
        if message["method"] == "fs/write_text_file":
            with open(message["params"]["path"], "w") as file:
                file.write(message["params"]["content"].upper())
        return {"result": {"content": "one\n"} if "read" in message["method"] else {}}

    text, end = edit_with(model, serve)
    assert text == "TWO\n" and end["content"][0]["newText"] == "TWO\n", (text, end)


@attack
def an_editor_that_has_not_noticed_a_command(model):
    path = f"{model.work()}/file.txt"
    open(path, "w").write("old\n")
    written = []

    def serve(message):
        if message["method"] == "fs/read_text_file":
            return {"result": {"content": "old\n"}}
        written.append(message["params"]["content"])
        open(path, "w").write(message["params"]["content"])
        return {"result": {}}

    with start(model, "--ask", "never", capabilities=EDITOR, serve=serve) as agent:
        session = agent.session()
        agent.prompt(session, plan(call("read", path="file.txt"), call("bash", command="echo one > file.txt; echo kept >> file.txt"),
                                   call("edit", path="file.txt", edits=[{"oldText": "one", "newText": "two"}]), {"text": "x"}))
    assert written == ["two\nkept\n"] and open(path).read() == "two\nkept\n", written


@attack
def an_editor_is_asked_about_files_of_the_session_only(model):
    asked = []

    def serve(message):
        asked.append(message["params"]["path"])
        return {"error": {"code": -32603, "message": "x"}}

    outside = model.work("outside")
    os.symlink(outside, model.work() + "/link")
    with start(model, "--ask", "never", capabilities=EDITOR, serve=serve) as agent:
        session = agent.session()
        agent.prompt(session, plan(call("write", path=outside + "/a", content="x"), call("write", path="link/b", content="x"), {"text": "x"}))
        # Nor with a sandbox, whose limits the client does not know, nor if the user does not want it.
        agent.result("session/set_config_option", {"sessionId": session, "configId": "sandbox", "value": "workspace-write"})
        agent.prompt(session, plan(call("write", path="c", content="x"), {"text": "x"}))
    assert not asked and os.path.exists(outside + "/b") and os.path.exists(model.work() + "/c"), asked
    settings = json.load(open(model.folder + "/settings.json"))
    json.dump({**settings, "acp": {"editorWrites": False}}, open(model.folder + "/settings.json", "w"))
    with start(model, "--ask", "never", capabilities=EDITOR, serve=serve) as agent:
        agent.prompt(agent.session(), plan(call("write", path="d", content="x"), {"text": "x"}))
    assert not asked and os.path.exists(model.work() + "/d"), asked


@attack
def folders_that_are_none(model):
    path = model.work() + "/file"
    open(path, "w").close()
    gone = model.work("gone")
    os.symlink(model.work("real"), model.home + "/linked")
    with start(model) as agent:
        for cwd in (path, model.home + "/none", "relative", "", ".", "~", "/dev/null", "\0"):
            assert agent.error("session/new", {"cwd": cwd, "mcpServers": []}) == -32602, cwd
        session = agent.session(model.home + "/linked")
        agent.prompt(session, plan(call("bash", command="touch here"), {"text": "x"}))
        assert os.path.exists(model.work("real") + "/here")
        # A folder that goes away fails the calls, not the session.
        session = agent.session(gone)
        os.rmdir(gone)
        assert agent.prompt(session, plan(call("bash", command="true"), {"text": "x"}))["result"]["stopReason"] == "end_turn"
        assert agent.error("session/load", {"sessionId": session, "cwd": model.work(), "mcpServers": []}) == -32602
        is_alive(agent)


@attack
def requests_that_do_not_wait(model):
    """Everything about a session at once, without waiting for a single answer."""
    with start(model) as agent:
        session = agent.session()
        agent.prompt(session, plan({"text": "first"}))
    with start(model) as agent:
        named = {"sessionId": session, "cwd": model.work(), "mcpServers": []}
        first = [agent.request("session/load", named), agent.request("session/load", named), agent.request("session/resume", named)]
        prompt = agent.request("session/prompt", {"sessionId": session, "prompt": plan({"text": "second"})})
        closed = agent.request("session/close", {"sessionId": session})
        again = agent.request("session/load", named)
        deleted = agent.request("session/delete", {"sessionId": session})
        gone = agent.request("session/load", named)
        for number in (*first, again):
            assert "configOptions" in agent.answer(number)["result"], number
        assert agent.answer(prompt)["result"]["stopReason"] in ("cancelled", "end_turn")
        assert agent.answer(closed)["result"] == {} and agent.answer(deleted)["result"] == {}
        assert agent.answer(gone)["error"]["code"] == -32002
        assert agent.result("session/delete", {"sessionId": session}) == {}
        is_alive(agent)


@attack
def prompts_beside_turns_that_no_prompt_started(model):
    """A message into an idle session starts a turn; prompts wait for its end, and a cancel ends it."""
    with start(model) as agent:
        session = agent.session()
        for method, result in (("_session/steering", {"outcome": "startedNewTurn"}), ("_bowline/follow_up", {})):
            first = agent.request(method, {"sessionId": session, "prompt": plan({"text": "steered"})})
            prompts = [agent.request("session/prompt", {"sessionId": session, "prompt": plan({"text": f"prompt {number}"})}) for number in range(3)]
            assert agent.answer(first)["result"] == result
            for number in prompts:
                assert agent.answer(number)["result"]["stopReason"] == "end_turn"
        agent.request("_session/steering", {"sessionId": session, "prompt": plan(call("bash", command="sleep 60"), {"text": "x"})})
        agent.update(session, lambda update: update.get("status") == "in_progress", "a call in progress")
        waiting = agent.request("session/prompt", {"sessionId": session, "prompt": plan({"text": "never"})})
        agent.notify("session/cancel", {"sessionId": session})
        assert agent.answer(waiting)["result"] == {"stopReason": "cancelled"}
        agent.update(session, lambda update: update.get("status") == "failed", "the end of the call")
        is_alive(agent)
    texts = "".join(update["content"]["text"] for update in agent.updates(session) if update["sessionUpdate"] == "agent_message_chunk")
    assert texts.index("steered") < texts.index("prompt 0") < texts.index("prompt 1") < texts.index("prompt 2"), texts


@attack
def a_session_that_is_loaded_and_deleted_while_it_runs(model):
    with start(model) as agent:
        session = agent.session()
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(call("bash", command="touch started; sleep 60"), {"text": "x"})})
        agent.update(session, lambda update: update.get("status") == "in_progress", "a call in progress")
        agent.result("session/load", {"sessionId": session, "cwd": model.work(), "mcpServers": []})
        agent.notify("session/cancel", {"sessionId": session})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(call("bash", command="touch again; sleep 60"), {"text": "x"})})
        agent.result("session/delete", {"sessionId": session})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}
        assert agent.result("session/list")["sessions"] == []
        files = [name for _, _, names in os.walk(model.folder + "/sessions") for name in names if name.endswith(".jsonl")]
        assert files == [], files


@attack
def the_end_at_every_moment(model):
    """The client goes away in the middle of everything: no process is left, and the exit code is 0."""
    pid = model.work() + "/pid"
    long = call("bash", command="echo $$ > pid; sleep 60")

    def while_opening(agent):
        agent.request("session/new", {"cwd": model.work(), "mcpServers": []})

    def while_asking(agent):
        session = agent.session()
        agent.request("session/prompt", {"sessionId": session, "prompt": plan(long, {"text": "x"})})
        agent.asked("session/request_permission")

    def while_speaking(agent):
        session = agent.session()
        agent.request("session/prompt", {"sessionId": session, "prompt": plan({"n": 50, "hang": 5})})
        agent.update(session, lambda update: update["sessionUpdate"] == "agent_message_chunk", "text")

    def while_running(agent):
        session = agent.session()
        agent.result("session/set_mode", {"sessionId": session, "modeId": "auto"})
        agent.request("session/prompt", {"sessionId": session, "prompt": plan(long, {"text": "x"})})
        agent.update(session, lambda update: update.get("status") == "in_progress", "a call in progress")
        deadline = time.monotonic() + 20
        while not (os.path.exists(pid) and open(pid).read().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)

    for moment in (lambda _: None, while_opening, while_asking, while_speaking, while_running):
        for end in ("eof", signal.SIGTERM, signal.SIGHUP):
            agent = Agent(model, serve=lambda _: None)
            agent.initialize()
            if os.path.exists(pid):
                os.remove(pid)
            moment(agent)
            if end != "eof":
                agent.process.send_signal(end)
                agent.process.wait(10)
            code = agent.end()
            assert code == (0 if end == "eof" else 128 + end) or code == 0, (moment.__name__, end, code)
    if os.path.exists(pid):
        number = int(open(pid).read())
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{number}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{number}"), "a command is left"


@attack
def large_calls_make_short_messages(model):
    open(model.work() + "/big", "w").write("\x01\n" * 300_000)
    with start(model) as agent:
        session = agent.session()
        agent.prompt(session, plan(
            call("write", path="new", content="\x02" * 400_000), call("write", path="big", content="x\n" * 300_000),
            call("bash", command="head -c 3000000 /dev/zero | tr '\\0' '\\033'"), call("read", path="new"),
            call("bash", command="true # " + "y" * 300_000), {"text": "x"}))
        agent.prompt(session, [{"type": "text", "text": "z" * 900_000 + json.dumps("PLAN [")}])
    with start(model) as agent:
        agent.result("session/load", {"sessionId": session, "cwd": model.work(), "mcpServers": []})
        whole = "".join(update["content"]["text"] for update in agent.updates(session) if update["sessionUpdate"] == "user_message_chunk")
        assert whole.count("z") >= 900_000, "a message of before is not whole"
        longest = max(len(json.dumps(message, ensure_ascii=False)) for side, message in agent.messages if side == "agent" and message)
        assert longest < 256 * 1024, longest


@attack
def sessions_have_sandboxes_of_their_own(model):
    one, two = model.work("one"), model.work("two")
    with start(model, "--ask", "never", "--sandbox", "workspace-write") as agent:
        first, second = agent.session(one), agent.session(two)
        for session, own, other in ((first, one, two), (second, two, one)):
            agent.prompt(session, plan(call("bash", command=f"touch own; touch {other}/foreign"), {"text": "x"}))
            assert os.path.exists(own + "/own") and not os.path.exists(other + "/foreign"), session
        agent.result("session/set_config_option", {"sessionId": first, "configId": "sandbox", "value": "read-only"})
        for session, folder in ((first, one), (second, two)):
            agent.prompt(session, plan(call("bash", command="touch later"), {"text": "x"}))
        assert not os.path.exists(one + "/later") and os.path.exists(two + "/later")


@attack
def a_process_without_a_store(model):
    with Agent(model, ("--no-session", "--ask", "never")) as agent:
        capabilities = agent.initialize()["agentCapabilities"]
        assert capabilities["loadSession"] is False and set(capabilities["sessionCapabilities"]) == {"close"}, capabilities
        session = agent.session()
        agent.prompt(session, plan({"text": "x"}))
        for method in ("session/load", "session/resume", "session/fork"):
            code = agent.error(method, {"sessionId": "01a1f20b-dd61-77d7-9d95-dab56d527781", "cwd": model.work(), "mcpServers": []})
            assert code in (-32002, -32602), (method, code)


@attack
def a_key_that_is_stored_later(model):
    """Without a key a prompt is refused, and works once there is one. Clients with a terminal are offered to ask for it."""
    os.remove(model.folder + "/models.json")
    os.remove(model.folder + "/settings.json")
    with Agent(model, ("--ask", "never"), {"auth": {"terminal": True}}) as agent:
        methods = {method["id"]: method for method in agent.initialize()["authMethods"]}
        assert methods["login"]["type"] == "terminal" and "type" not in methods["keys"], methods
        session = agent.session()
        assert agent.prompt(session, plan({"text": "x"}))["error"]["code"] == -32000
        assert agent.error("authenticate", {"methodId": "keys"}) == -32000
        assert agent.error("authenticate", {"methodId": "none"}) == -32602
        # What the client runs in a terminal: its command line for the agent, and the arguments of the method.
        login = [install.BOWLINE, "acp", "--ask", "never", *methods["login"]["args"]]
        for name, key, code in (("", "", 1), ("no-such-provider\nneither\nnor this", "", 1), ("anthropic", "", 1), ("anthropic", "sk-secret", 0), ("", "", 0)):
            done = subprocess.run(login, input=f"{name}\n{key}\n", env=model.environment(), capture_output=True, text=True)
            assert done.returncode == code, (name, done)
            assert "sk-secret" not in done.stdout + done.stderr
        agent.result("authenticate", {"methodId": "keys"})


def main():
    failures = 0
    for name in sys.argv[1:] or ALL:
        with Model() as model:
            try:
                ALL[name](model)
                print(f"ok   {name}", flush=True)
            except AssertionError as error:
                failures += 1
                print(f"FAIL {name}: {str(error)[:1500] or error.__traceback__.tb_next.tb_lineno!r}", flush=True)
    print(f"{failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
