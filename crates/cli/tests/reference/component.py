"""An extension whose command /pick shows a component until the client closes it. It needs no library."""
import json
import sys


def send(**record):
    print(json.dumps(record), flush=True)


for line in sys.stdin:
    record = json.loads(line)
    if record["type"] == "init":
        send(type="registered", protocol=1, extensions=[{"commands": [{"name": "pick"}]}])
    elif record["type"] == "command":
        command = record["id"]
        send(type="request", id="1", method="ui.custom", params={"key": "pick:1", "lines": ["Pick one", "> a", "  b"]})
    elif record["type"] == "input":
        send(type="notify", method="ui.setWidget", params={"key": "pick:1", "lines": ["Pick one", "  a", "> b"]})
    elif record["type"] == "response":
        send(type="result", id=command)
