"""What the extension of the recordings did, on bowline's protocol for extensions and without a library.

The command /uiall uses every method of the user interface once or more, and writes what it received to the file that the
environment variable EXTLOG names, under the names of the recorded log. /ask TITLE asks for a text and completes
titles, and /fail fails.
"""

import itertools
import json
import os
import queue
import sys
import threading
import time

REGISTERED = {
    "type": "registered",
    "protocol": 1,
    "extensions": [{"commands": [{"name": "uiall", "description": "every ui method"}, {"name": "ask", "hasCompletion": True}, {"name": "fail"}]}],
}

ids = itertools.count(1)
waiting = {}
writing = threading.Lock()


def send(**record):
    with writing:
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()


def start(method, **params):
    """Sends a request and returns its id."""
    request = f"r{next(ids)}"
    waiting[request] = queue.Queue()
    given = {name: value for name, value in params.items() if value is not None}
    send(type="request", id=request, method=f"ui.{method}", params=given)
    return request


def answer(request):
    """Waits for the answer to a request."""
    return waiting[request].get()


def ask(method, **params):
    return answer(start(method, **params))


def show(method, **params):
    send(type="notify", method=f"ui.{method}", params=params)


def note(name, value):
    with open(os.environ.get("EXTLOG", os.devnull), "a") as log:
        log.write(json.dumps({"k": name, "v": "<undefined>" if value is None else value}) + "\n")


def withdraw_later(request):
    time.sleep(0.3)
    send(type="cancel", id=request)


def use_everything(arguments):
    note("args", arguments)
    note("select", ask("select", title="Pick", options=["a", "b"]))
    note("select2", ask("select", title="Pick2", options=["a", "b"], timeout=60000))
    note("select-notinlist", ask("select", title="Pick3", options=["a", "b"]))
    note("confirm", ask("confirm", title="Sure?", message="really"))
    note("confirm-cancel", ask("confirm", title="Sure2?", message="really"))
    note("confirm-wrongkind", ask("confirm", title="Sure3?", message="really"))
    note("input", ask("input", title="Name", placeholder="placeholder text"))
    note("input-noplaceholder", ask("input", title="Name2"))
    note("input-empty", ask("input", title="Name3"))
    note("editor", ask("editor", title="Edit", prefill="line1\nline2"))
    note("editor-noprefill", ask("editor", title="Edit2"))
    note("timeout-select", ask("select", title="T", options=["x"], timeout=300))
    note("timeout-confirm", ask("confirm", title="T", message="t", timeout=300))
    withdrawn = start("input", title="S")
    threading.Thread(target=withdraw_later, args=[withdrawn]).start()
    note("signal-input", answer(withdrawn))
    both = [start("select", title="first", options=["1"]), start("confirm", title="second", message="m")]
    note("two-at-once", [answer(request) for request in both])
    show("notify", message="plain")
    show("notify", message="warn", type="warning")
    show("notify", message="err", type="error")
    show("setStatus", key="k", text="text")
    show("setStatus", key="k")
    show("setWidget", key="w", lines=["l1", "l2"])
    show("setWidget", key="w", lines=["l"], placement="belowEditor")
    show("setWidget", key="w")
    show("setTitle", title="title")
    show("setEditorText", text="editor text")
    show("setEditorText", text="pasted")


def run_command(record):
    if record["name"] == "fail":
        return send(type="result", id=record["id"], error={"message": "it exploded"})
    if record["name"] == "uiall":
        use_everything(record["args"])
    else:
        note(f"ask {record['args']}", ask("input", title=f"Ask {record['args']}"))
    send(type="result", id=record["id"])


for line in sys.stdin:
    record = json.loads(line)
    if record["type"] == "init":
        send(**REGISTERED)
    elif record["type"] == "command":
        threading.Thread(target=run_command, args=[record], daemon=True).start()
    elif record["type"] == "complete":
        titles = [{"value": "Name", "description": "the name of the user"}, "Number"]
        send(type="result", id=record["id"], result=titles)
    elif record["type"] == "response":
        waiting[record["id"]].put(record.get("result"))
    elif record["type"] == "shutdown":
        break
