// What a record means, whatever the dialect: the same event has another name, another case and another wrapping in each,
// but not another meaning. What is not known is shown as it is.

const snake = (name) => String(name).replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/[-./]/g, "_").toLowerCase();

// The value of the first of several names that a record has.
function pick(record, ...names) {
  if (!isObject(record)) return undefined;
  for (const name of names) if (record[name] !== undefined && record[name] !== null) return record[name];
  return undefined;
}

// The names that some dialects have for the same event.
const SAME = {
  settled: "agent_settled", retry_start: "auto_retry_start", retry_end: "auto_retry_end",
  auto_compaction_start: "compaction_start", auto_compaction_end: "compaction_end",
};

// Dialogs of extensions that wait for an answer.
const DIALOGS = ["select", "confirm", "input", "editor"];

// Returns the type of a record as it is written, for the list and its filter.
function typeOf(record) {
  if (!isObject(record)) return "text";
  if (record.jsonrpc !== undefined) {
    if (record.method === "session/update") return pick(record.params?.update, "sessionUpdate") ?? record.method;
    return record.method ?? (record.error ? "error" : "result");
  }
  const inner = isObject(record.event) ? record.event : record;
  const step = pick(inner, "assistantMessageEvent", "assistant_event");
  return String(step?.type ?? inner.type ?? record.role ?? "record");
}

// Returns what a line of the agent says, as facts: { kind, … }.
function factsOfAgent(record) {
  if (!isObject(record)) return [];
  if (record.jsonrpc !== undefined) return factsOfJsonRpc(record);
  const event = isObject(record.event) ? record.event : record;
  const name = snake(event.type ?? "");
  switch (SAME[name] ?? name) {
    case "response": return [{ kind: "response", id: record.id, command: record.command, success: record.success !== false, error: record.error }];
    case "agent_start": return [{ kind: "run_start" }];
    case "agent_end": case "agent_settled": return [{ kind: "run_end", error: pick(event, "error", "error_message", "errorMessage") }];
    case "turn_start": return [{ kind: "turn_start" }];
    case "message_start": return messageFacts("message_start", event.message);
    case "message_end": return messageFacts("message_end", event.message);
    case "message": return messageFacts("message_end", event.message);
    // Some dialects tell of the user's messages only so.
    case "input": return [{ kind: "text", role: "user", text: String(event.text ?? "") }];
    case "message_update": return deltaFacts(event);
    case "tool_execution_start": return [{ kind: "tool_start", ...call(event) }];
    case "tool_execution_end": return [{ kind: "tool_end", ...call(event), ...result(event) }];
    case "host_tool_call": return [{ kind: "wait_start", id: `host ${event.id}`, label: `client runs ${event.toolName}` }];
    case "approval_request": return [{ kind: "wait_start", id: `approval ${event.id}`, label: `approval of ${event.tool ?? "a call"}` }];
    case "approval_resolved": return [{ kind: "wait_end", id: `approval ${event.id}` }];
    case "extension_ui_request":
      return DIALOGS.includes(event.method) ? [{ kind: "wait_start", id: `dialog ${event.id}`, label: `dialog: ${event.title ?? event.method}` }] : [];
    case "auto_retry_start": return [{ kind: "wait_start", id: "retry", label: `backoff, attempt ${event.attempt}` }];
    case "auto_retry_end": return [{ kind: "wait_end", id: "retry" }];
    case "compaction_start": return [{ kind: "compaction_start" }];
    case "compaction_end": return [{ kind: "compaction_end" }];
    case "extension_error": return [{ kind: "note", text: `an extension failed at ${event.event}: ${event.error}`, isBad: true }];
    case "error": return [{ kind: "note", text: String(event.error ?? event.message ?? "error"), isBad: true }];
    default: return [];
  }
}

// Returns what a line of the client says.
function factsOfClient(record) {
  if (!isObject(record)) return [];
  if (record.jsonrpc !== undefined) return factsOfJsonRpc(record, true);
  const name = snake(record.type ?? "");
  switch (name) {
    case "extension_ui_response": return [{ kind: "wait_end", id: `dialog ${record.id}` }];
    case "host_tool_result": return [{ kind: "wait_end", id: `host ${record.id}` }];
    default: {
      const facts = [{ kind: "command", id: record.id, command: record.type }];
      const text = pick(record, "message", "text");
      if (["prompt", "steer", "follow_up"].includes(name) && typeof text === "string") facts.push({ kind: "asked", text });
      if (name === "approval_response") facts.push({ kind: "wait_end", id: `approval ${record.requestId ?? record.id}` });
      return facts;
    }
  }
}

function factsOfJsonRpc(record, isClient = false) {
  const { id, method, params, result, error } = record;
  if (method === undefined) {
    const facts = [{ kind: "response", id: `${isClient ? "agent" : "client"} ${id}`, command: "", success: !error, error: error?.message }];
    if (isClient) facts.push({ kind: "wait_end", id: `request ${id}` });
    if (result?.stopReason) facts.push({ kind: "acp_turn_end" }, { kind: "run_end" });
    if (result?.usage) facts.push({ kind: "usage", usage: usageOf(result.usage) });
    return facts;
  }
  if (isClient) {
    const facts = [{ kind: "command", id: `client ${id}`, command: method }];
    if (method === "session/prompt") facts.push({ kind: "run_start" }, { kind: "text", role: "user", text: textOf(params?.prompt) });
    return facts;
  }
  if (method !== "session/update") {
    return id === undefined ? [] : [{ kind: "wait_start", id: `request ${id}`, label: method }];
  }
  const update = params?.update ?? {};
  const text = textOf(update.content === undefined ? [] : [update.content]);
  switch (update.sessionUpdate) {
    case "agent_message_chunk": return [{ kind: "delta", block: `text ${update.messageId}`, form: "text", text }];
    case "agent_thought_chunk": return [{ kind: "delta", block: `thinking ${update.messageId}`, form: "thinking", text }];
    case "tool_call": case "tool_call_update": {
      const tool = { id: update.toolCallId, name: update.title ?? update.kind, args: update.rawInput };
      const facts = [];
      if (update.sessionUpdate === "tool_call" || update.status === "in_progress") facts.push({ kind: "tool_start", ...tool });
      if (["completed", "failed"].includes(update.status)) {
        const output = Array.isArray(update.content) ? textOf(update.content.map((part) => part.content ?? part)) : "";
        facts.push({ kind: "tool_end", ...tool, text: output, isError: update.status === "failed" });
      }
      return facts;
    }
    default: return [];
  }
}

function call(event) {
  const inner = pick(event, "tool_call", "tool_result") ?? event;
  return {
    id: pick(inner, "toolCallId", "tool_call_id", "id") ?? "",
    name: pick(inner, "toolName", "tool_name", "name") ?? "tool",
    args: pick(inner, "args", "arguments", "input"),
  };
}

function result(event) {
  const inner = pick(event, "tool_result") ?? event;
  const output = pick(inner, "result", "content", "output");
  return { text: textOf(isObject(output) ? output.content : output), isError: Boolean(pick(inner, "isError", "is_error")) };
}

// The arguments of a call in a few words.
function argumentsOf(args) {
  if (args === undefined) return "";
  const parsed = typeof args === "string" ? parse(args) ?? args : args;
  if (!isObject(parsed)) return typeof parsed === "string" ? parsed : JSON.stringify(parsed);
  return Object.values(parsed).map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" ");
}

// The text of a content: a text, or blocks.
function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === undefined ? "" : JSON.stringify(content);
  return content.map((part) => (typeof part === "string" ? part : part?.text ?? (part?.type === "image" ? "[image]" : ""))).join("");
}

function messageFacts(kind, message) {
  if (!isObject(message)) return [];
  const role = snake(pick(message, "role") ?? "");
  const facts = [{ kind, role, message: { role, blocks: blocksOf(message, role) }, model: pick(message, "model") }];
  const isAnswer = role === "assistant";
  const stop = pick(message, "stopReason", "stop_reason");
  if (isAnswer) facts[0].error = ["error", "aborted"].includes(stop) ? pick(message, "errorMessage", "error_message") ?? stop : undefined;
  if (isAnswer && kind === "message_end" && message.usage) facts.push({ kind: "usage", usage: usageOf(message.usage) });
  return facts;
}

// The blocks of a message: { form: text | thinking | call | result, … }.
function blocksOf(message, role) {
  const content = pick(message, "content", "contents");
  if (role === "tool_result" || role === "tool") {
    return [{ form: "result", id: pick(message, "toolCallId", "tool_call_id") ?? "", text: textOf(content), isError: Boolean(pick(message, "isError", "is_error")) }];
  }
  if (typeof content === "string") return [{ form: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => {
    if (!isObject(part)) return [{ form: "text", text: String(part) }];
    const form = snake(part.type ?? "text");
    if (form === "thinking" || form === "reasoning") return [{ form: "thinking", text: String(pick(part, "thinking", "text", "content") ?? "") }];
    if (["tool_call", "tool_use"].includes(form)) {
      const inner = isObject(part.tool_call) ? part.tool_call : part;
      return [{ form: "call", ...call(inner), args: pick(inner, "arguments", "args", "input") }];
    }
    if (form === "tool_result") return [{ form: "result", ...call(part), ...result(part) }];
    if (form === "image") return [{ form: "text", text: "[image]" }];
    return [{ form: "text", text: String(pick(part, "text", "content") ?? "") }];
  });
}

function deltaFacts(event) {
  const step = pick(event, "assistantMessageEvent", "assistant_event");
  const index = pick(step ?? event, "contentIndex", "content_index") ?? 0;
  if (step) {
    const kind = snake(step.type ?? "");
    const form = kind.startsWith("thinking") ? "thinking" : kind.startsWith("tool") ? "call" : "text";
    const text = typeof step.delta === "string" && kind.endsWith("delta") ? step.delta : "";
    return [{ kind: "delta", block: String(index), form, text }];
  }
  // The message has the new text as its only block.
  const [block] = blocksOf(event.message ?? {}, "assistant");
  return block ? [{ kind: "delta", block: String(index), form: block.form, text: block.text ?? "" }] : [];
}

function usageOf(usage) {
  const number = (...names) => Number(pick(usage, ...names) ?? 0) || 0;
  const cost = pick(usage, "cost");
  return {
    input: number("input", "input_tokens", "inputTokens"),
    output: number("output", "output_tokens", "outputTokens"),
    cacheRead: number("cacheRead", "cache_read_tokens", "cachedReadTokens", "cache_read"),
    cacheWrite: number("cacheWrite", "cache_write_tokens", "cachedWriteTokens", "cache_write"),
    cost: Number((isObject(cost) ? cost.total : cost) ?? 0) || 0,
  };
}

// Returns what is known of a record in a few words.
function summaryOf(record, type) {
  if (!isObject(record)) return "";
  const event = isObject(record.event) ? record.event : record;
  if (record.type === "response") {
    const outcome = record.success === false ? ` failed: ${record.error ?? ""}` : "";
    return `${record.command ?? ""}${outcome}${record.id === undefined ? "" : ` · id ${JSON.stringify(record.id)}`}`;
  }
  const { message } = event;
  if (isObject(message)) {
    const blocks = blocksOf(message, snake(message.role ?? "")).map((block) => block.text || (block.name ? `${block.name}(…)` : ""));
    return `${message.role ?? ""}: ${blocks.filter(Boolean).join(" · ")}`;
  }
  if (type.includes("tool_") || type.includes("Tool")) {
    const { name, args } = call(event);
    const partial = pick(event, "partialResult", "partial_result", "partial_tool_result");
    if (partial !== undefined) return `${name} ${textOf(isObject(partial) ? partial.content : partial)}`;
    if (args !== undefined) return `${name} ${JSON.stringify(args)}`;
    const text = result(event).text;
    if (text || name !== "tool") return `${name} ${text}`;
  }
  const rest = Object.entries(event).filter(([key]) => !["type", "jsonrpc", "method"].includes(key));
  return rest.map(([key, value]) => `${key}: ${typeof value === "string" ? value : shorten(JSON.stringify(value) ?? "", 200)}`).join("  ");
}

