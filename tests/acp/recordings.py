#!/usr/bin/env python3
"""Plays conversations with bowline and compares them with recordings, message by message.

  tests/acp/recordings.py check [NAME ...]     exit code 1 on a difference
  tests/acp/recordings.py record [NAME ...]    writes golden/NAME.jsonl

Every message of a conversation, and of its recording, is held against the official schema. What differs from run to run (ids,
times, paths) is replaced; pieces of a text are joined. Messages of one session keep their order; those of two do not.
"""
import json
import os
import re
import sys

import conversations
import install
from schema import OwnSchema, Schema

GOLDEN = install.HERE + "/golden"


class Neutral:
    """Replaces what differs from run to run by names, the same name for the same value."""

    TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
    UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")

    def __init__(self, home):
        self.home, self.names = home, {}

    def name(self, kind, value):
        count = sum(1 for known, _ in self.names if known == kind)
        return self.names.setdefault((kind, value), f"${kind}{count + 1}")

    def value(self, value, key=None):
        if isinstance(value, dict):
            return {name: self.value(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if isinstance(value, str):
            if key in ("messageId", "entryId", "compactionId", "leafId", "summaryEntryId"):
                return self.name(key.upper(), value)
            if key in ("toolCallId", "terminalId", "terminal_id"):
                return self.name("CALL", value)
            if key == "version":
                return "$VERSION"
            text = value.replace(self.home, "$HOME").replace(install.ROOT, "$ROOT").replace(sys.executable, "$PYTHON")
            text = self.UUID.sub(lambda found: self.name("SESSION", found[0]), text)
            return self.TIME.sub("$TIME", text)
        return 0 if key == "durationMs" else value


def is_chunk(message):
    update = (message.get("params") or {}).get("update") or {}
    return update.get("sessionUpdate", "").endswith("_chunk") and update.get("content", {}).get("type") == "text"


def is_progress(message):
    """Whether a message shows how far a running call is, which depends on time."""
    update = (message.get("params") or {}).get("update") or {}
    return update.get("sessionUpdate") == "tool_call_update" and "status" not in update and \
        "title" not in update and not (update.get("_meta") or {}).get("terminal_exit")


def with_whole_output(message, outputs):
    """Returns a message with all that its terminal shows if it ends one, and otherwise with nothing of it: in how many
    pieces it comes depends on time."""
    update = (message.get("params") or {}).get("update") or {}
    meta = update.get("_meta") or {}
    output = meta.get("terminal_output")
    if not output and "terminal_exit" not in meta:
        return message
    message = json.loads(json.dumps(message))
    update = message["params"]["update"]
    call = update["toolCallId"]
    outputs[call] = outputs.get(call, "") + (output or {}).get("data", "")
    update["_meta"].pop("terminal_output", None)
    if "terminal_exit" in meta:
        update["_meta"]["terminal_output"] = outputs.pop(call)
    return message


def streams(messages):
    """Returns the messages of the agent by session, and those of the client in order."""
    found, of_request, outputs = {}, {}, {}
    for side, message in messages:
        params = message.get("params") or {}
        if side == "client":
            found.setdefault("client", []).append(message)
            if "id" in message and "method" in message:
                of_request[message["id"]] = params.get("sessionId")
            continue
        if "method" not in message:
            session = of_request.get(message.get("id"))
            session = session or (message.get("result") or {}).get("sessionId") or "connection"
        else:
            session = params.get("sessionId", "connection")
        stream = found.setdefault(session, [])
        message = with_whole_output(message, outputs)
        if is_progress(message):
            continue
        if is_chunk(message) and stream and is_chunk(stream[-1]):
            last, update = stream[-1]["params"]["update"], params["update"]
            if (last["sessionUpdate"], last["messageId"]) == (update["sessionUpdate"], update["messageId"]):
                last["content"]["text"] += update["content"]["text"]
                continue
        stream.append(json.loads(json.dumps(message)))
    return found


def problems(messages, schema):
    """Returns what the schema has against messages of both sides."""
    methods, found = {}, []
    for side, message in messages:
        number = (side, json.dumps(message.get("id")))
        if "method" in message:
            if "id" in message:
                methods[number] = message["method"]
            found.append(schema.problem("params", message["method"], message.get("params")))
        else:
            asker = ("client" if side == "agent" else "agent", number[1])
            if "error" in message:
                found.append(schema.problem_of_error(message["error"]))
            elif asker in methods:
                found.append(schema.problem("result", methods[asker], message["result"]))
            else:
                found.append(f"an answer to nothing: {json.dumps(message)[:200]}")
    return [problem for problem in found if problem]


def first_difference(golden, played):
    for session in sorted({*golden, *played}):
        expected, found = golden.get(session, []), played.get(session, [])
        for index in range(max(len(expected), len(found))):
            one, other = (stream[index] if index < len(stream) else None for stream in (expected, found))
            if one != other:
                return f"{session}, message {index + 1}:\n  recorded {json.dumps(one)[:1500]}\n  played   {json.dumps(other)[:1500]}"
    return None


def main():
    verb, names = sys.argv[1], sys.argv[2:] or sorted(conversations.ALL)
    schema, own, failures = Schema(install.schema()), OwnSchema(install.ROOT + "/schema/acp.json"), 0
    for name in names:
        messages, home = conversations.play(name)
        found = problems(messages, schema) + own.problems(messages)
        neutral = Neutral(home)
        messages = [(side, neutral.value(message)) for side, message in messages]
        path = f"{GOLDEN}/{name}.jsonl"
        if verb == "record":
            os.makedirs(GOLDEN, exist_ok=True)
            with open(path, "w") as file:
                file.writelines(json.dumps({side: message}, ensure_ascii=False) + "\n" for side, message in messages)
        recording = [next(iter(json.loads(line).items())) for line in open(path)]
        found += [f"recording: {problem}" for problem in problems(recording, schema)]
        difference = first_difference(streams(recording), streams(messages))
        found += [difference] if difference else []
        failures += bool(found)
        print(f"FAIL {name}: " + "\n     ".join(found[:5]) if found else f"ok   {name} ({len(messages)} messages)", flush=True)
    print(f"{len(names) - failures} passed, {failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
