"""Compares the records of a run with a recording of the real agent.

Both sides are normalised first: times, ids, paths below HOME, durations and token counts become placeholders;
consecutive deltas of one block are joined; tool_execution_update and bash_execution_update are dropped, because their
number depends on timing; the prose of tool results and errors is replaced by "<any>".

A record matches when every recorded field is present with the same value. Extra fields, and records of a type that the
recording does not contain, are allowed. Missing ones are not.
"""
import json
import re

# Their number depends on timing.
TIMED = {"tool_execution_update", "bash_execution_update", "ToolExecutionUpdate"}

PATTERNS = [(re.compile(pattern), replacement) for pattern, replacement in [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d+Z?", "<time>"),
    (r"(toolu|call|msg|resp|fc|chatcmpl)_[A-Za-z0-9_-]+", r"<\1>"),
    (r"Full output: \S+\.log", "Full output: <path>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"(?s)([Ff]ailed to parse command:).*", r"\1 <why>"),
]]

PATHS = {"sessionFile", "session_file", "sessionPath", "parentSession", "cwd"}

IDS = {"id", "parentId", "entryId", "leafId", "firstKeptEntryId", "targetId", "fromId", "entry_id", "sessionId",
       "session_id", "first_kept_entry_id", "responseId", "response_id"}

# Fields whose values differ between agents or runs: only their presence is compared.
VARYING = {"timestamp", "timestamp_ms", "delayMs", "delay_ms", "duration", "ttft", "completedAt", "tokensBefore",
           "estimatedTokensAfter", "tokens_before", "tokens_after", "contextUsage", "context_tokens", "cost", "model",
           "models", "usage", "tokens", "sourceInfo", "startup_diagnostics", "version", "messageCount",
           "totalMessages", "systemPrompt", "dumpTools", "fullOutputPath", "summary", "resources", "commands"}

# Fields that an agent adds for its own purposes. Clients do not depend on them, so they are not compared.
# contextSnapshot, for example, is private to omp: it holds the size of omp's own system prompt and tools.
PRIVATE = {"durationMs", "structuredContent", "rawStopReason", "responseId", "responseModel", "providerThinkingLevel",
           "diagnostics", "errorId", "errorStatus", "attribution", "stopDetails", "endTurn", "deferred",
           "disabledFeatures", "tokensPerSecond", "todoPhases", "fastModeEnabled", "fastModeActive", "workingDir",
           "totalLines", "totalBytes", "outputLines", "outputBytes", "intent", "partialArgs", "streamIndex",
           "agentInvoked", "premiumRequests", "systemMessage", "run_summary", "labels", "branches", "branch_summary",
           "entry_count", "active_branch", "tree_recovery", "protocolVersion", "supportedProtocolVersions",
           "maxFrameBytes", "maxReassembledFrameBytes", "isTerminal", "reported", "wall_time_seconds", "error_code",
           "retryErrors", "trace", "contextSnapshot"}


def normalise(log, home, ignored, tool_details):
    """Returns the comparable form of a log: the received records and how the run ended."""
    result = []
    for entry in log:
        if "out" not in entry:
            if "exit" in entry or "stuck" in entry:
                result.append(entry)
            continue
        record = entry["out"]
        if record.get("type") in TIMED or record.get("type") in ignored or is_system(record):
            continue
        record = mask_prose(mask(record, home), tool_details)
        mask_snapshots(record)
        if not join_delta(result, record):
            result.append({"out": record})
    return result


def mask(value, home, is_top=True):
    """Replaces what varies between runs."""
    if isinstance(value, dict):
        result = {}
        for key, part in value.items():
            if key in PRIVATE or (key == "thinkingLevel" and value.get("role") == "assistant"):
                continue
            # A model is compared where it is only a name.
            if key in VARYING and not (key == "model" and isinstance(part, str)):
                result[key] = f"<{key}>"
            elif key in PATHS and isinstance(part, str):
                result[key] = "<path>"
            elif key in IDS and isinstance(part, str) and not (is_top and key == "id"):
                result[key] = "<id>"
            else:
                result[key] = mask(part, home, False)
        return result
    if isinstance(value, list):
        flat = []
        for part in value:  # A tree node that holds a system prompt is replaced by its children.
            is_system_node = isinstance(part, dict) and is_system(part.get("entry"))
            flat += part.get("children", []) if is_system_node else [part]
        return [mask(part, home, False) for part in flat if not is_system(part)]
    if isinstance(value, str):
        value = value.replace(home, "<home>")
        for pattern, replacement in PATTERNS:
            value = pattern.sub(replacement, value)
    return value


def is_system(value):
    """Whether a record, message or session entry carries a system prompt, which is different in every agent."""
    if not isinstance(value, dict):
        return False
    message = value.get("message") if isinstance(value.get("message"), dict) else value
    return message.get("role") == "system"


def mask_prose(value, tool_details):
    """Masks the wording of tool results and errors. With tool_details, the names of a result's details are compared."""
    if isinstance(value, list):
        return [mask_prose(part, tool_details) for part in value]
    if not isinstance(value, dict):
        return value
    value = {key: mask_prose(part, tool_details) for key, part in value.items()}
    if value.get("type") == "error":
        value["error"] = "<any>"
    is_end = value.get("type") in ("tool_execution_end", "ToolExecutionEnd")
    if is_end or value.get("role") in ("toolResult", "tool_result") or "tool_call_id" in value:
        for part in (value, value.get("result")):
            if not isinstance(part, dict):
                continue
            if "content" in part:
                part["content"] = "<any>"
            if part is not value:
                part.pop("isError", None)
            details = {key: "<any>" for key in part.pop("details", None) or {}}
            if tool_details and details:
                part["details"] = details
            part.pop("truncated", None)
        if not tool_details and "result" in value:
            value["result"] = "<any>"
    errors = ("errorMessage", "error_message", "final_error", "finalError")
    return {key: ("<any>" if key in errors and part else part) for key, part in value.items()}


def mask_snapshots(record):
    """Masks repeated messages: only their presence is compared."""
    if record.get("type") in ("message_update", "MessageUpdate"):
        if "message" in record:
            record["message"] = "<snapshot>"
        update = update_of(record)
        if "partial" in update:
            update["partial"] = "<snapshot>"
    if record.get("type") in ("message_start", "MessageStart"):
        message = record["message"]
        if message.get("role") == "assistant" and "errorMessage" not in message:
            message["content"] = "<content>"  # May already hold the first block.
            message.pop("stopReason", None)


def update_of(record):
    return record.get("assistantMessageEvent") or record.get("assistant_event") or {}


def is_delta(record):
    return str(update_of(record).get("type", "")).endswith("_delta")


def join_delta(result, record):
    """Joins a delta to the one before it, if both belong to the same block. Returns whether it did."""
    last = result[-1].get("out", {}) if result else {}
    if not (is_delta(record) and is_delta(last)):
        return False
    update, before = update_of(record), update_of(last)
    if (update["type"], update.get("contentIndex")) != (before["type"], before.get("contentIndex")):
        return False
    update["delta"] = before["delta"] + update["delta"]
    result[-1] = {"out": record}
    return True


def compare(recorded, received):
    """Returns the first difference as a sentence, or None."""
    types = {entry["out"].get("type") for entry in recorded if "out" in entry} | {"<not json>"}
    received = [entry for entry in received if "out" not in entry or entry["out"].get("type") in types]
    for index, want in enumerate(recorded):
        if index >= len(received):
            return f"record {index} is missing: {name_of(want)}"
        got = received[index]
        if name_of(want) != name_of(got):
            return f"record {index} is {name_of(got)}, recorded: {name_of(want)}"
        difference = difference_of(want, got)
        if difference:
            return f"record {index} ({name_of(want)}): {difference}"
    if len(received) > len(recorded):
        extra = len(received) - len(recorded)
        return f"{extra} records more than recorded, the first: {name_of(received[len(recorded)])}"
    return None


def difference_of(want, got, path=""):
    if isinstance(want, dict) and isinstance(got, dict):
        for key, value in want.items():
            if key not in got:
                return f"{path}.{key} is missing, recorded: {json.dumps(value)[:120]}"
            difference = difference_of(value, got[key], f"{path}.{key}")
            if difference:
                return difference
        return None
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return f"{path} has {len(got)} items, recorded: {len(want)}"
        parts = (difference_of(a, b, f"{path}[{index}]") for index, (a, b) in enumerate(zip(want, got)))
        return next(filter(None, parts), None)
    return None if want == got else f"{path} is {json.dumps(got)[:160]}, recorded: {json.dumps(want)[:160]}"


def name_of(entry):
    if "out" not in entry:
        return json.dumps(entry)
    record = entry["out"]
    message = record.get("message") if isinstance(record.get("message"), dict) else {}
    names = (record.get("type"), record.get("command"), update_of(record).get("type"), message.get("role"))
    return " ".join(str(name) for name in names if name)
