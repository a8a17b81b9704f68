"""Writes the recordings that the browser test shows: a rich exchange, a hostile one and a long one."""

import json
import sys
from pathlib import Path

HOSTILE = '</script><script>document.title = "hacked"</script><img src=x onerror="document.title=\'hacked\'">\u202egnp.exe\u0007'


class Recording:
    """Builds a recording. The clock only goes forward."""

    def __init__(self, command):
        self.at = 0.0
        self.lines = [{"type": "exchange", "version": 1, "started": "2026-07-06T08:30:00Z", "command": command, "dialect": "pi"}]

    def row(self, source, record, after=0.4):
        self.at = round(self.at + after, 3)
        line = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
        self.lines.append({"at": self.at, "from": source, "line": line})

    def sent(self, record, after=40.0):
        self.row("client", record, after)

    def received(self, record, after=0.4):
        self.row("agent", record, after)

    def event(self, event):
        self.lines.append({"at": self.at, "from": "inspector", "line": "", "event": event})

    def write(self, path):
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines))


def usage(turn):
    used = {"input": 300 + 40 * turn, "output": 90 + 15 * turn, "cacheRead": 2400 * turn, "cacheWrite": 500}
    cost = {name: round(value * 0.000003, 6) for name, value in used.items()}
    return {**used, "totalTokens": sum(used.values()), "cost": {**cost, "total": round(sum(cost.values()), 6)}}


def answer(content, turn, reason):
    return {"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-sonnet-5", "usage": usage(turn), "stopReason": reason, "timestamp": 1}


def stream(recording, kind, index, words, pace):
    def step(**fields):
        recording.received({"type": "message_update", "usage": usage(0), "assistantMessageEvent": {"contentIndex": index, **fields}}, pace)
    step(type=f"{kind}_start")
    for word in words:
        step(type=f"{kind}_delta", delta=word)
    step(type=f"{kind}_end", content="".join(words))


def turn(recording, number, thinking, text, calls, asks=False):
    recording.received({"type": "turn_start"})
    recording.received({"type": "message_start", "message": answer([], number, "stop")}, 620)
    content = []
    if thinking:
        stream(recording, "thinking", 0, [word + " " for word in thinking.split()], 19)
        content.append({"type": "thinking", "thinking": thinking})
    stream(recording, "text", len(content), [word + " " for word in text.split()], 23)
    content.append({"type": "text", "text": text})
    for index, (name, arguments, _, _) in enumerate(calls):
        content.append({"type": "toolCall", "id": f"call-{number}-{index}", "name": name, "arguments": arguments})
    message = answer(content, number, "toolUse" if calls else "stop")
    recording.received({"type": "message_end", "message": message}, 4)
    for index, (name, arguments, output, took) in enumerate(calls):
        call = {"toolCallId": f"call-{number}-{index}", "toolName": name}
        if asks and index == 0:
            recording.received({"type": "extension_ui_request", "id": f"ask-{number}", "method": "confirm", "title": f"Run {name}?", "message": "cargo bench"}, 35)
            recording.sent({"type": "extension_ui_response", "id": f"ask-{number}", "confirmed": True}, 900)
        recording.received({"type": "tool_execution_start", **call, "args": arguments}, 55)
        failed = output.startswith("error")
        recording.received({"type": "tool_execution_end", **call, "result": {"content": [{"type": "text", "text": output}]}, "isError": failed, "durationMs": took}, took)
        result = {"role": "toolResult", **call, "content": [{"type": "text", "text": output}], "isError": failed, "timestamp": 1}
        for kind in ("message_start", "message_end"):
            recording.received({"type": kind, "message": result}, 12 if kind == "message_start" else 0.3)
    recording.received({"type": "turn_end", "message": message, "toolResults": []})


def prompt(recording, number, text):
    recording.sent({"id": f"c{number}", "type": "prompt", "message": text})
    recording.received({"id": f"c{number}", "type": "response", "command": "prompt", "success": True, "data": {"disposition": "started"}}, 3)
    recording.received({"type": "agent_start"})
    message = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}
    for kind in ("message_start", "message_end"):
        recording.received({"type": kind, "message": message})


def settle(recording):
    recording.received({"type": "agent_end", "messages": [], "willRetry": False})
    recording.received({"type": "agent_settled", "aborted": False})


def rich(path):
    recording = Recording(["bowline", "--mode", "rpc", "--model", "anthropic/claude-sonnet-5"])
    recording.sent({"id": "c0", "type": "get_session_stats"}, 3)
    recording.received({"id": "c0", "type": "response", "command": "get_session_stats", "success": False, "error": "no session", "code": "invalid_argument"}, 5)
    prompt(recording, 1, "The word count is slow on large files. Find out why, and make it fast.")
    turn(recording, 1, "The count may read line by line. I should look at the source first.", "I will look at how the words are counted.",
         [("bash", {"command": "rg -n 'fn count' src"}, "src/count.rs:12:pub fn count(text: &str) -> usize {", 180), ("read", {"path": "src/count.rs"}, "pub fn count(text: &str) -> usize {\n    text.split(' ').map(String::from).filter(|word| !word.is_empty()).count()\n}\n", 6)])
    turn(recording, 2, "", "Every word is copied into a String of its own. A test shows how much that costs.",
         [("bash", {"command": "cargo bench --bench count"}, "error: no bench target named `count`", 1450)], asks=True)
    recording.received({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 700, "errorMessage": "overloaded"}, 8)
    recording.received({"type": "auto_retry_end", "success": True, "attempt": 1}, 700)
    turn(recording, 3, "There is no benchmark, so I write the change and time the program.", "There is no benchmark yet. I change the count, and time the program before and after.",
         [("edit", {"path": "src/count.rs", "edits": [{"oldText": "text.split(' ').map(String::from)", "newText": "text.split_ascii_whitespace()"}]}, "Edited src/count.rs (1 change).", 9), ("bash", {"command": "cargo run --release -- big.txt"}, "4,812,330 words in 61 ms", 2100)])
    recording.sent({"id": "c2", "type": "steer", "message": "Keep the order of the output."}, 12)
    recording.received({"id": "c2", "type": "response", "command": "steer", "success": True, "data": {"disposition": "queued"}}, 2)
    recording.row("stderr", "warning: 1 extension took 320 ms to start", 2)
    turn(recording, 4, "", "It took 940 ms before and takes 61 ms now: words are counted in place, in the same order.", [])
    settle(recording)
    recording.sent({"id": "c3", "type": "prompt", "message": 7, "images": "none"}, 1800)
    recording.received({"id": "c3", "type": "response", "command": "prompt", "success": False, "error": "\"message\" must be a string", "code": "invalid_argument"}, 3)
    recording.received({"type": "agent_settled"}, 5)
    recording.sent("this is not JSON", 30)
    recording.event({"type": "closed", "of": "client"})
    recording.event({"type": "ended", "code": 0})
    recording.write(path)


def hostile(path):
    recording = Recording(["agent", HOSTILE])
    prompt(recording, 1, HOSTILE)
    turn(recording, 1, HOSTILE, HOSTILE, [(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, 5)])
    recording.received({"type": HOSTILE, HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]})
    recording.received({"type": "__proto__", "__proto__": {"constructor": 1}, "id": {"toString": 1}})
    recording.sent({"id": {"a": [1]}, "type": "constructor"})
    for line in ("", "null", "7", '"text"', "[]", "{", "{\"type\":null}", "{\"type\":{}}", "{\"type\":\"message_end\",\"message\":7}",
                 "{\"type\":\"message_end\",\"message\":{\"role\":{},\"content\":[null,7,{\"type\":{}}],\"usage\":{\"cost\":\"x\",\"input\":{}}}}",
                 "{\"type\":\"tool_execution_end\",\"result\":null}", "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":null}",
                 "{\"jsonrpc\":7,\"result\":{\"usage\":[]}}", "{\"type\":\"event\",\"event\":null}", "[" * 3000 + "]" * 3000, "{\"a\":" * 1500 + "1" + "}" * 1500):
        recording.received(line)
        recording.sent(line, 1)
    recording.received({"type": "x", "text": "long " * 60_000})
    recording.write(path)


def long(path, turns=340):
    recording = Recording(["bowline", "--mode", "rpc"])
    words = "The quick brown fox jumps over the lazy dog and then explains at length what it has seen there"
    for number in range(turns):
        prompt(recording, number, f"Question {number}")
        turn(recording, number, words, f"{words} {words}", [("bash", {"command": f"echo {number}"}, f"{number}\n", 40)])
        settle(recording)
    recording.write(path)
    return len(recording.lines)


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
rich(folder / "rich-exchange.jsonl")
hostile(folder / "hostile-exchange.jsonl")
print(long(folder / "long-exchange.jsonl"), "rows in the long exchange")
