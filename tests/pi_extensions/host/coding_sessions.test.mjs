// Sessions as extensions read and make them, and what of them is summarized.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readOnlySessionManager } from "../../../extensions/pi-host/session_manager.mjs";
import * as pi from "../../../extensions/pi-host/shims/pi-coding-agent.mjs";
import { folder, withBridge } from "./coding_support.mjs";

const user = (content) => ({ role: "user", content, timestamp: 1 });
const usage = (totalTokens) => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens });
const assistant = (text, more) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  provider: "p",
  model: "m",
  usage: usage(10),
  stopReason: "stop",
  timestamp: 2,
  ...more,
});
const lines = (file) => readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

test("a session's file is made with the first message of the conversation", (t) => {
  const root = folder(t);
  const session = pi.SessionManager.create(root, join(root, "sessions"), { id: "mine" });
  session.appendCustomEntry("note", { a: 1 });
  assert.equal(existsSync(session.getSessionFile()), false);
  session.appendMessage(user("hello"));
  const last = session.appendMessage(assistant("hi"));
  assert.deepEqual(lines(session.getSessionFile()).map(({ type }) => type), ["session", "custom", "message", "message"]);
  const again = pi.SessionManager.open(session.getSessionFile());
  assert.equal(again.getSessionId(), "mine");
  assert.equal(again.getLeafId(), last);
  assert.deepEqual(again.getEntries(), session.getEntries());
});

test("branches, labels and summaries are entries of a tree", () => {
  const session = pi.SessionManager.inMemory("/project");
  const first = session.appendMessage(user("one"));
  const left = session.appendMessage(assistant("two"));
  session.appendLabelChange(left, "here");
  session.branchWithSummary(first, "was left");
  session.appendMessage(user("three"));
  assert.equal(session.getLabel(left), "here");
  assert.deepEqual(session.buildSessionContext().messages.map(({ role }) => role), ["user", "branchSummary", "user"]);
  assert.equal(session.getTree()[0].children.length, 2);
  const { entries, commonAncestorId } = pi.collectEntriesForBranchSummary(session, left, session.getLeafId());
  assert.deepEqual([entries.map(({ id }) => id), commonAncestorId], [[left], first]);
});

test("a file with a torn end and of an old version can be opened", (t) => {
  const old = [
    { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/project" },
    { type: "message", timestamp: "2025-01-01T00:00:01.000Z", message: user("one") },
    { type: "message", timestamp: "2025-01-01T00:00:02.000Z", message: { ...user("x"), role: "hookMessage", customType: "c" } },
  ];
  const root = folder(t, { "old.jsonl": `${old.map((entry) => JSON.stringify(entry)).join("\n")}\n{"type":"mess` });
  const session = pi.SessionManager.open(join(root, "old.jsonl"));
  const [one, two] = session.getEntries();
  assert.equal(two.parentId, one.id);
  assert.equal(two.message.role, "custom");
  assert.equal(lines(join(root, "old.jsonl"))[0].version, 3);
});

test("sessions are listed, found and forked", async (t) => {
  const root = folder(t);
  const dir = join(root, "sessions");
  const session = pi.SessionManager.create(root, dir, { id: "first" });
  session.appendMessage(user("what I said"));
  session.appendSessionInfo("named");
  const [info] = await pi.SessionManager.list(root, dir);
  assert.deepEqual([info.id, info.name, info.firstMessage, info.messageCount], ["first", "named", "what I said", 1]);
  assert.equal(pi.SessionManager.continueRecent(root, dir).getSessionId(), "first");
  const fork = pi.SessionManager.forkFrom(session.getSessionFile(), root, join(root, "other"));
  assert.equal(fork.getHeader().parentSession, session.getSessionFile());
  assert.deepEqual(fork.getEntries(), session.getEntries());
  writeFileSync(join(root, "empty.jsonl"), "not a session");
  assert.throws(() => pi.SessionManager.open(join(root, "empty.jsonl")), /not a session/);
});

test("the running session is read from what the host knows, and cannot be changed", (t) => {
  const made = pi.SessionManager.inMemory("/project");
  const first = made.appendMessage(user("one"));
  const state = { cwd: "/project", sessionId: "id", sessionFile: null };
  const entries = made.getEntries();
  withBridge(t, { state, entries: () => entries, header: () => ({ type: "session", id: "id" }) });
  const running = readOnlySessionManager();
  assert.equal(running.getLeafId(), first);
  assert.equal(running.getSessionFile(), undefined);
  made.appendMessage(assistant("two"));
  made.appendSessionInfo("name");
  entries.push(...made.getEntries().slice(1));
  assert.deepEqual(running.getBranch(), made.getBranch());
  assert.equal(running.getSessionName(), "name");
  state.leafId = first;
  assert.deepEqual(running.buildSessionContext().messages, [user("one")]);
  assert.equal(running.appendMessage, undefined);
});

test("a compaction keeps the newest messages and whole turns", () => {
  const session = pi.SessionManager.inMemory("/project");
  const call = { type: "toolCall", id: "1", name: "edit", arguments: { path: "b.ts" } };
  session.appendMessage(user("x".repeat(400)));
  session.appendMessage(assistant("y", { content: [{ type: "toolCall", id: "0", name: "read", arguments: { path: "a.ts" } }, call] }));
  const kept = session.appendMessage(user("z".repeat(400)));
  session.appendMessage(assistant("end", { usage: usage(900) }));
  const settings = { ...pi.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: 90 };
  const preparation = pi.prepareCompaction(session.getBranch(), settings);
  assert.equal(preparation.firstKeptEntryId, kept);
  assert.equal(preparation.tokensBefore, 900);
  assert.deepEqual(preparation.messagesToSummarize.map(({ role }) => role), ["user", "assistant"]);
  assert.deepEqual([...preparation.fileOps.edited], ["b.ts"]);
  assert.deepEqual(pi.findCutPoint(session.getEntries(), 0, 4, 5), { firstKeptEntryIndex: 2, turnStartIndex: -1, isSplitTurn: false });
});

test("a summary is asked of bowline's model", async (t) => {
  const requests = [];
  const request = async (method, params) => {
    requests.push([method, params]);
    return assistant("the summary", { usage: { ...usage(5), cost: { total: 1 } } });
  };
  withBridge(t, { state: {}, request });
  const model = { provider: "p", id: "m", maxTokens: 1000, reasoning: true, contextWindow: 10000 };
  const preparation = {
    messagesToSummarize: [user("old")],
    turnPrefixMessages: [user("prefix")],
    isSplitTurn: true,
    fileOps: { read: new Set(["a"]), written: new Set(), edited: new Set(["b"]) },
    settings: { reserveTokens: 2000 },
    firstKeptEntryId: "k",
    tokensBefore: 7,
  };
  const result = await pi.compact(preparation, model, undefined, undefined, "focus", undefined, "high");
  assert.match(result.summary, /^the summary\n\n---\n\n[^]*the summary\n\n<read-files>\na\n<\/read-files>\n\n<modified-files>\nb\n<\/modified-files>$/);
  assert.equal(result.usage.cost.total, 2);
  assert.deepEqual(requests.map(([method, { model: name, maxTokens }]) => [method, name, maxTokens]), [
    ["model.complete", "p/m", 1000],
    ["model.complete", "p/m", 1000],
  ]);
  assert.match(requests[0][1].messages[0].content[0].text, /\[User\]: old[^]*Additional focus: focus/);
});

test("conversations are told to a model as text", () => {
  const messages = pi.convertToLlm([
    { role: "bashExecution", command: "ls", output: "a", exitCode: 0, timestamp: 1 },
    { role: "custom", customType: "c", content: "note", timestamp: 1 },
    assistant("answer", { content: [{ type: "thinking", thinking: "hm" }, { type: "toolCall", name: "read", arguments: { path: "x" } }] }),
    { role: "toolResult", content: [{ type: "text", text: "r".repeat(2100) }], timestamp: 1 },
  ]);
  const text = pi.serializeConversation(messages);
  assert.match(text, /^\[User\]: Ran `ls`[^]*\[User\]: note\n\n\[Assistant thinking\]: hm\n\n\[Assistant tool calls\]: read\(path="x"\)/);
  assert.match(text, /\[\.\.\. 100 more characters truncated\]$/);
  assert.equal(pi.estimateTokens(user("12345")), 2);
  assert.equal(pi.shouldCompact(90, 100, { enabled: true, reserveTokens: 20 }), true);
});
