"""An extension that does anything an extension may do, and much that it may not: it answers, fails, asks, is slow, writes
nonsense and exits. The seed is in the environment variable of its name, which its manifest asks for."""
import json
import os
import queue
import random
import sys
import threading
import time

HOOKS = """resources_discover session_start session_info_changed session_before_switch session_before_fork
session_before_compact session_compact session_before_tree session_tree session_shutdown input before_agent_start agent_start
agent_end turn_start turn_end agent_before_settle agent_settled message_start message_end context before_provider_headers
before_provider_request after_provider_response tool_execution_start tool_execution_end tool_call tool_result user_bash
model_select thinking_level_select""".split()
TOLD = ["message_update", "tool_execution_update"]

chance = random.Random(os.environ.get("UNRULY_SEED", "0"))
lock = threading.Lock()
responses = {}
cancelled = set()
requests = 0


def send(**record):
    line = json.dumps(record) + "\n"
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


def one_in(number):
    with lock:
        return chance.random() * number < 1


def pick(*values):
    with lock:
        return chance.choice(values)


def notify(method, **params):
    send(type="notify", method=method, params=params)


def request(method, **params):
    """Asks for something and waits for the answer."""
    global requests
    with lock:
        requests += 1
        id = f"r{requests}"
        responses[id] = queue.Queue()
    send(type="request", id=id, method=method, params=params)
    try:
        return responses[id].get(timeout=2)
    except queue.Empty:
        return None


def misbehave():
    """Does something that is not asked for, now and then."""
    if one_in(300):
        os._exit(pick(0, 1, 3))
    if one_in(100):
        with lock:
            sys.stdout.write(chance.choice(["nonsense\n", "{}\n", '{"type":"later"}\n', '{"type":"result","id":"999"}\n']))
            sys.stdout.flush()
    if one_in(15):
        pick(
            lambda: notify("ui.notify", message="hello", type="info"),
            lambda: notify("ui.setStatus", key="k", text="busy"),
            lambda: notify("ui.setWidget", key="w", lines=["one", "two"]),
            lambda: notify("session.appendEntry", customType="unruly", data={"n": 1}),
            lambda: notify("session.sendMessage", customType="unruly", content="a note", display=True),
            lambda: notify("session.setName", name="unruly"),
            lambda: notify("thinking.set", level="off"),
            lambda: notify("tools.setActive", names=["read", "bash", "write", "edit", "unruly"]),
            lambda: notify("nothing.like.this", x=1),
            lambda: send(type="error", where="somewhere", message="an error of no call"),
        )()
    if one_in(25):
        pick(
            lambda: request("ui.confirm", title="Sure?", message="really", timeout=150),
            lambda: request("ui.select", title="Which?", options=["a", "b"], timeout=150),
            lambda: request("ui.input", title="Name", timeout=150),
            lambda: request("session.context"),
            lambda: request("session.entries"),
            lambda: request("session.reload"),
            lambda: request("model.list"),
            lambda: request("model.complete", prompt="hi"),
            lambda: request("tool.execute", name="ls", args={}),
            lambda: request("unheard.of"),
        )()
    if one_in(30):
        time.sleep(pick(0.01, 0.03, 0.5))


def result_of(event):
    """Returns a result that the hook may have, or one that it may not."""
    if one_in(60):
        return pick(7, "text", [], {"cancel": "yes"}, {"messages": 3})
    return {
        "input": lambda: pick(None, {"action": "continue"}, {"action": "handled"}, {"action": "transform", "text": event.get("text", "")}),
        "before_agent_start": lambda: pick(
            None, {"message": {"customType": "unruly", "content": "more", "display": True}}, {"systemPrompt": "Be brief."}
        ),
        "context": lambda: pick(None, {"messages": event.get("messages", [])}),
        "tool_call": lambda: pick(None, None, {"block": True, "reason": "no"}, {"input": event.get("input", {})}),
        "tool_result": lambda: pick(None, {"content": [{"type": "text", "text": "changed"}]}, {"isError": True}),
        "message_end": lambda: pick(None, None, {"message": event.get("message")}),
        "session_before_switch": lambda: pick(None, {"cancel": True}),
        "session_before_fork": lambda: pick(None, {"cancel": True}),
        "session_before_compact": lambda: pick(None, {"cancel": True}),
        "session_before_tree": lambda: pick(None, {"cancel": True}),
        "turn_end": lambda: pick(None, None, None, {"continue": True}),
        "before_provider_headers": lambda: pick(None, {"headers": {"x-unruly": "1"}}),
        "before_provider_request": lambda: pick(None, event.get("payload")),
        "user_bash": lambda: pick(None, {"result": {"output": "mine", "exitCode": 0, "cancelled": False, "truncated": False}}),
    }.get(event["type"], lambda: None)()


def answer(id, value):
    if one_in(40):
        send(type="result", id=id, error={"message": "it went wrong"})
    else:
        send(type="result", id=id, result=value)


def stream(id):
    """Writes an answer of the model, or a part of one."""
    chunk = lambda **event: send(type="chunk", id=id, event=event)
    chunk(type="start")
    for index in range(pick(0, 1, 2)):
        chunk(type="text_start", contentIndex=index)
        for _ in range(pick(1, 5, 50)):
            if id in cancelled:
                break
            chunk(type="text_delta", contentIndex=index, delta="word ")
        chunk(type="text_end", contentIndex=index)
    if one_in(4):
        chunk(type="toolcall_start", contentIndex=5, id=f"call{id}", toolName=pick("ls", "unruly", "bash"))
        chunk(type="toolcall_delta", contentIndex=5, delta='{"command": "true"}')
    if one_in(30):
        return
    answer(id, {"stopReason": "stop"})


def carry_out(record):
    kind, id = record["type"], record.get("id")
    misbehave()
    if kind == "hook":
        answer(id, result_of(record["event"]))
    elif kind == "tool":
        send(type="update", id=id, partial={"content": [{"type": "text", "text": "half"}]})
        if one_in(10):
            # Nothing else ends a tool that waits: there may be no abort.
            deadline = time.monotonic() + 1
            while id not in cancelled and time.monotonic() < deadline:
                time.sleep(0.02)
        answer(id, {"content": [{"type": "text", "text": "whole"}], "details": {"n": 1}})
    elif kind == "command":
        answer(id, None)
    elif kind == "provider":
        stream(id)


for line in sys.stdin:
    record = json.loads(line)
    kind = record["type"]
    if kind == "init":
        extension = {
            "hooks": [{"event": name} for name in HOOKS] + [{"event": name, "await": False} for name in TOLD],
            "tools": [{"name": "unruly", "description": "A tool.", "parameters": {"type": "object"}}],
            "commands": [{"name": "unruly"}],
            "providers": [{"name": "unruly", "stream": True, "models": [{"id": "m1"}, {"id": "m2"}]}],
        }
        send(type="registered", protocol=1, extensions=[extension])
    elif kind == "cancel":
        cancelled.add(record["id"])
    elif kind == "response" and record["id"] in responses:
        responses[record["id"]].put(record)
    elif kind == "shutdown":
        break
    elif kind in ("hook", "tool", "command", "provider"):
        threading.Thread(target=carry_out, args=(record,), daemon=True).start()
