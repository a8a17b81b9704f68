"""The comparable form of a run with an extension, and the differences between two of them.

What extensions cause is compared in full: texts of dialogs, notifications, widgets, results of their tools, commands,
entries. What the agent itself words (system prompts, results and schemas of built-in tools, provider errors) is
compared by tests/conformance instead, and masked here.
"""
import difflib
import itertools
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import comparison  # noqa: E402
from wording import same_summary, same_words  # noqa: E402

BUILT_IN = {"read", "bash", "edit", "write", "grep", "find", "ls"}

# Updates whose number depends on timing: they come with the output of a process.
TIMED_TOOLS = {"bash", "subagent"}

VARYING = {"timestamp", "delayMs", "usage", "cost", "tokens", "tokensBefore", "estimatedTokensAfter", "contextUsage",
           "messageCount", "fullOutputPath", "startedAt", "createdAt", "updatedAt"}

IDS = {"id", "parentId", "entryId", "leafId", "firstKeptEntryId", "targetId", "fromId", "sessionId", "responseId",
       "toolCallId", "oldLeafId", "newLeafId"}

# Fields that only one side has, by design, and that clients need not know.
PRIVATE = {"durationMs", "rawStopReason", "responseId", "responseModel", "diagnostics", "thinkingLevel",
           "structuredContent", "completedAt", "duration", "ttft", "disposition"}

# The same for fields that mean something else in other records.
PRIVATE_OF_RECORD = {"message_end": "entryId", "agent_settled": "aborted"}

PATTERNS = [(re.compile(pattern), replacement) for pattern, replacement in [
    (r"\x1b\[[0-9;]*m", ""),  # bowline's theme has no colours, so that clients need not strip them.
    (r"bowline: not used, because this project is not trusted: [^\n]*\n", ""),  # For people, on stderr.
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d+Z?", "<time>"),
    (r"\b(toolu|call|msg|resp|chatcmpl)_[A-Za-z0-9_-]+", r"<\1>"),
    (r"\d+/\d+/\d{4}, \d+:\d\d:\d\d [AP]M", "<local time>"),
    (r"(bookmark-)\d{13}", r"\1<time>"),
    (r"/tmp/[A-Za-z0-9_-]+-[A-Za-z0-9_]{6}/", "/tmp/<folder>/"),
    (r"--tmp-conform-\w{8}-work--", "--<folder>--"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"System: \d+ chars", "System: <number> chars"),  # The agents' own prompts differ.
    (r"Fork from entry [0-9a-f]{8}", "Fork from entry <id>"),
]]


def normalise(played, script, replacements):
    """Returns the comparable lines of a run: its records, what the model was sent, outputs of shell commands."""
    log, requests, outputs, home, _ = played
    replacements = [(home, "<home>"), *replacements]
    result, loose = [], set()
    for entry in log:
        if "out" not in entry:
            if "exit" in entry or "stuck" in entry:
                result.append(entry)
            continue
        record = entry["out"]
        is_timed = record.get("type") == "tool_execution_update" and record.get("toolName") in TIMED_TOOLS
        if is_timed or record.get("type") == "bash_execution_update" or comparison.is_system(record):
            continue
        record = mask(record, replacements)
        if is_loose(record, script):
            text = json.dumps({"at some time": record}, ensure_ascii=False, sort_keys=True)
            loose.add(re.sub(script.loose[record["method"]], "…", text))
            continue
        comparison.mask_snapshots(record)
        if not comparison.join_delta(result, record):
            result.append({"out": record})
    lines = in_one_order([json.dumps(entry, ensure_ascii=False, sort_keys=True) for entry in result])
    lines += sorted(loose)
    sent = json.dumps(requests, ensure_ascii=False)
    for text in script.sent:
        lines.append(json.dumps({"model sees": text, "found": json.dumps(text, ensure_ascii=False)[1:-1] in sent}))
    offered = {tool.get("name") for body in requests for tool in body.get("tools", [])}
    lines += [json.dumps({"model is offered": name, "found": name in offered}) for name in script.offered]
    for command, output in outputs:
        lines.append(json.dumps({"shell": command, "output": mask(output, replacements)}, ensure_ascii=False))
    return lines


def is_loose(record, script):
    pattern = script.loose.get(record.get("method"))
    return pattern is not None and re.search(pattern, json.dumps(record, ensure_ascii=False)) is not None


def in_one_order(lines):
    """Sorts ends of tools that follow each other: calls that run side by side end when they are done."""
    result = []
    for is_end, group in itertools.groupby(lines, key=lambda line: '"type": "tool_execution_end"}}' in line):
        result += sorted(group) if is_end else group
    return result


def mask(value, replacements, is_top=True):
    """Replaces what varies between runs and what the agents word themselves."""
    if isinstance(value, list):
        parts = []
        for part in value:
            if isinstance(part, dict) and comparison.is_system(part.get("entry")):
                parts += part.get("children", [])  # Of a node of the tree that holds a system prompt.
            elif not comparison.is_system(part) and not is_own_command(part):
                parts.append(part)
        return [mask(part, replacements, False) for part in parts]
    if isinstance(value, str):
        for text, replacement in replacements:
            value = value.replace(text, replacement)
        for pattern, replacement in PATTERNS:
            value = pattern.sub(replacement, value)
        return value
    if not isinstance(value, dict):
        return value
    if "contextWindow" in value and "provider" in value:  # A model.
        return {key: value.get(key) for key in ("provider", "id", "name", "api")}
    result = {}
    for key, part in value.items():
        if key in PRIVATE or part is None or is_top and PRIVATE_OF_RECORD.get(value.get("type")) == key:
            continue
        if key in VARYING and not isinstance(part, bool):
            result[key] = f"<{key}>"
        elif key in IDS and isinstance(part, str) and not (is_top and is_command_id(part)):
            result[key] = "<id>"
        else:
            result[key] = mask(part, replacements, False)
    if result.get("data") == {}:
        del result["data"]
    if isinstance(result.get("summary"), str):
        result["summary"] = same_summary(result["summary"])
    if value.get("type") == "text" and isinstance(result.get("text"), str):
        result["text"] = same_words(result["text"])
    return mask_built_in(result)


def is_command_id(text):
    return re.fullmatch(r"c\d+", text)


def is_own_command(value):
    """Whether a command, or the text of a choice, stands for a command that pi itself has as an extension."""
    if isinstance(value, str):
        return value.startswith("/llama ")
    return isinstance(value, dict) and str((value.get("sourceInfo") or {}).get("path")).startswith("<inline:")


def mask_built_in(value):
    """Masks the details of built-in tools' results, which bowline extends."""
    if value.get("toolName") in BUILT_IN:
        for part in (value, value.get("result"), value.get("partialResult")):
            if isinstance(part, dict) and part.get("details"):
                part["details"] = "<details>"
    return value


def differences(expected, found):
    """Returns all differing lines: those only in the first run begin with `pi: `, those of the second with
    `bowline: `. As in tests/conformance, fields that only bowline has are no differences."""
    result = []
    matcher = difflib.SequenceMatcher(None, expected, found, autojunk=False)
    for operation, start, end, found_start, found_end in matcher.get_opcodes():
        if operation != "equal":
            result += unmatched(expected[start:end], found[found_start:found_end])
    return result


def unmatched(expected, found):
    """Returns the lines of two stretches that no line of the other one, in the same order, stands for."""
    result, begin = [], 0
    for line in expected:
        match = next((at for at in range(begin, len(found)) if stands_for(found[at], line)), None)
        if match is None:
            result.append(f"pi: {line}")
        else:
            result += [f"bowline: {extra}" for extra in found[begin:match]]
            begin = match + 1
    return result + [f"bowline: {extra}" for extra in found[begin:]]


def stands_for(found, expected):
    if found.startswith("{") and expected.startswith("{"):
        return contains(json.loads(found), json.loads(expected))
    return found == expected


def contains(value, part):
    """Whether a value has at least the fields of another one, at every depth."""
    if isinstance(part, dict):
        return isinstance(value, dict) and all(key in value and contains(value[key], part[key]) for key in part)
    if isinstance(part, list):
        return isinstance(value, list) and len(value) == len(part) and all(map(contains, value, part))
    return value == part


def explained(lines):
    """Returns differing lines in short: of two records of one kind only the fields that differ."""
    result, waiting = [], []
    for line in lines:
        kind = kind_of(line)
        partner = next((other for other in waiting if other[1] == kind), None) if line.startswith("bowline: ") else None
        if partner:
            waiting.remove(partner)
            found = list(fields_that_differ(record_of(partner[0]), record_of(line)))
            result[partner[2]] = f"{' '.join(kind)}: " + "; ".join(found)
        else:
            if line.startswith("pi: "):
                waiting.append((line, kind, len(result)))
            result.append(line)
    return result


def record_of(line):
    text = line.split(": ", 1)[1]
    return json.loads(text) if text.startswith("{") else text


def kind_of(line):
    record = record_of(line)
    if not isinstance(record, dict):
        return (line,)
    record = record.get("out", record)
    message = record.get("message") if isinstance(record.get("message"), dict) else {}
    update = record.get("assistantMessageEvent") or {}
    names = (record.get("type"), record.get("command"), record.get("method"), record.get("toolName"), message.get("role"),
             update.get("type"), record.get("shell"), record.get("model sees"))
    return tuple(str(name) for name in names if name)


def fields_that_differ(expected, found, path=""):
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected:
            if key not in found:
                yield f"{path}.{key} missing, pi has {json.dumps(expected[key], ensure_ascii=False)[:160]}"
            else:
                yield from fields_that_differ(expected[key], found[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(expected, found)):
            yield from fields_that_differ(one, other, f"{path}[{index}]")
    elif expected != found:
        one, other = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in (expected, found))
        same = next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        begin = max(0, same - 30)
        yield f"{path} pi {one[begin:begin + 200]!r} bowline {other[begin:begin + 200]!r}"
