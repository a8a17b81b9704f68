"""An extension that does what a file beside it says. The file has the same name with the ending .json:

    {"registration": {...}, "on": {"hook:input": [ACTION, ...], "tool:now": [...], "command:hi": [...]}}

The keys are the types of the records, and for some of them what they are about. "$id" in a record that is sent stands for
the id of the record that it answers. What arrives is written to a file with the ending .log. Without actions, calls are
answered with nothing.
"""
import json
import os
import subprocess
import sys
import time

PLACE = os.path.splitext(os.path.abspath(__file__))[0]
PLAN = json.load(open(PLACE + ".json"))
LOG = open(PLACE + ".log", "a")
ANSWERED = {"hook", "tool", "command", "complete"}
names = {}
# The extension that the current record names, in a process that serves several.
address = {}
counts = {}


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def fill_in(value, call):
    if value == "$id":
        return call
    if isinstance(value, str) and value.startswith("$id of "):
        return names[value[len("$id of "):]]
    if isinstance(value, dict):
        return {name: fill_in(member, call) for name, member in value.items()}
    if isinstance(value, list):
        return [fill_in(member, call) for member in value]
    return value


def act(action, call):
    for kind, value in action.items():
        if kind == "send":
            write(json.dumps(fill_in(value, call)) + "\n")
        elif kind == "result":
            write(json.dumps({"type": "result", "id": call, "result": value, **address}) + "\n")
        elif kind == "error":
            write(json.dumps({"type": "result", "id": call, "error": {"message": value}, **address}) + "\n")
        elif kind == "raw":
            write(value)
        elif kind == "repeat":
            for number in range(value["count"]):
                write(value["text"].replace("#", str(number)))
        elif kind == "stderr":
            sys.stderr.write(value)
            sys.stderr.flush()
        elif kind == "sleep":
            time.sleep(value)
        elif kind == "exit":
            sys.stdout.flush()
            os._exit(value)
        elif kind == "daemon":
            left = subprocess.Popen(["env", "-i", "setsid", "sleep", "300"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            open(PLACE + ".daemon", "w").write(str(left.pid))
        elif kind == "close":
            os.close(1)
        elif kind == "sequence":
            # Another list of actions each time, the last one from then on.
            turn = counts[id(action)] = counts.get(id(action), -1) + 1
            for step in value[min(turn, len(value) - 1)]:
                act(step, call)
        elif kind == "unless":
            # Does the rest only once in the life of the test.
            if os.path.exists(PLACE + "." + value):
                return
            open(PLACE + "." + value, "w").close()
        else:
            raise ValueError(kind)


def key_of(record):
    kind = record["type"]
    about = {
        "hook": lambda: record["event"]["type"],
        "event": lambda: record["event"]["type"],
        "tool": lambda: record["name"],
        "command": lambda: record["name"],
        "complete": lambda: record["command"],
        "provider": lambda: record["op"],
        "response": lambda: record["id"],
    }
    return kind + ":" + about[kind]() if kind in about else kind


for action in PLAN.get("start", []):
    act(action, None)
for line in sys.stdin:
    LOG.write(line)
    LOG.flush()
    record = json.loads(line)
    key, call = key_of(record), record.get("id")
    address = {"ext": record["ext"]} if "ext" in record else {}
    names[key] = call
    actions = PLAN.get("on", {}).get(key)
    if record["type"] == "init" and actions is None:
        registered = {"type": "registered", "protocol": 1, "extensions": [PLAN.get("registration", {})]}
        actions = [{"send": registered}]
    elif record["type"] == "shutdown" and actions is None:
        actions = [{"exit": 0}]
    elif record["type"] in ANSWERED and actions is None:
        actions = [{"result": None}]
    for action in actions or []:
        act(action, call)
