// Agents that extensions make beside the user's session.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import * as pi from "../../../extensions/pi-host/shims/pi-coding-agent.mjs";
import { folder } from "./coding_support.mjs";
import { connectBridge, listedModel } from "./model_support.mjs";

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } };
const answer = (content, stopReason = "stop") => ({ role: "assistant", content, api: "a", provider: "p", model: "m", usage, stopReason, timestamp: 1 });
const said = (text) => answer([{ type: "text", text }]);
const called = (name, given) => answer([{ type: "toolCall", id: "c", name, arguments: given }], "toolUse");

/** Returns an agent in a folder with these files, whose model gives these answers, and the requests for them. */
async function agent(t, answers, options = {}, files = {}) {
  const requests = [];
  const stream = (params, { signal }) => {
    requests.push(params);
    const next = answers[requests.length - 1];
    return typeof next === "function" ? next(signal) : next;
  };
  connectBridge({ models: [listedModel("p", "m", { contextWindow: 100_000 })], answers: { "model.stream": stream } });
  const root = folder(t, files);
  const agentDir = join(root, "agent");
  const base = { cwd: root, agentDir, sessionManager: pi.SessionManager.inMemory(root), settingsManager: pi.SettingsManager.inMemory() };
  const { session } = await pi.createAgentSession({ ...base, ...options });
  return { session, requests, root };
}

test("an agent works with the session's tools and its own until it is done", async (t) => {
  const own = {
    name: "own",
    description: "",
    parameters: { type: "object", properties: {} },
    execute: async (_id, _args, _signal, _onUpdate, ctx) => ({ content: [{ type: "text", text: `${ctx.mode} ${ctx.hasUI}` }], details: {} }),
  };
  const answers = [called("read", { path: "a.txt" }), called("own", {}), said("done")];
  const { session, requests } = await agent(t, answers, { tools: ["read", "own"], customTools: [own] }, { "a.txt": "content" });
  const events = [];
  session.subscribe(({ type }) => events.push(type));
  await session.prompt("go");
  assert.equal(session.getLastAssistantText(), "done");
  const results = session.messages.filter(({ role }) => role === "toolResult").map(({ content }) => content[0].text);
  assert.deepEqual(results, ["content", "print false"]);
  assert.deepEqual(session.getActiveToolNames(), ["read", "own"]);
  assert.equal(requests.length, 3);
  assert.equal(events[0], "agent_start");
  assert.deepEqual(events.slice(-2), ["agent_end", "agent_settled"]);
  const stored = session.sessionManager.getEntries().filter(({ type }) => type === "message").map(({ message }) => message.role);
  assert.deepEqual(stored.filter((role) => role !== "system"), ["user", "assistant", "toolResult", "assistant", "toolResult", "assistant"]);
  const { toolCalls, cost } = session.getSessionStats();
  assert.deepEqual([toolCalls, cost], [2, 1.5]);
});

test("an agent has the instructions, skills and templates of the project", async (t) => {
  const files = {
    "AGENTS.md": "Use tabs.",
    ".pi/skills/one/SKILL.md": "---\ndescription: First\n---\nThe text",
    ".pi/prompts/hello.md": "Say $1 to $2",
  };
  const { session, requests } = await agent(t, [said("a"), said("b")], {}, files);
  assert.match(session.systemPrompt, /Use tabs\.[^]*<name>one<\/name>/);
  await session.prompt("/hello hi 'all of you'");
  await session.prompt("/skill:one now");
  const sent = requests.at(-1).messages.filter(({ role }) => role === "user").map(({ content }) => content[0].text ?? content);
  assert.equal(sent[0], "Say hi to all of you");
  assert.match(sent[1], /^<skill name="one" location="[^"]+">\n[^]*The text\n<\/skill>\n\nnow$/);
});

test("a loader can replace what an agent starts with", async (t) => {
  const root = folder(t, { "AGENTS.md": "not wanted" });
  const resourceLoader = new pi.DefaultResourceLoader({
    cwd: root,
    agentDir: join(root, "agent"),
    noContextFiles: true,
    systemPromptOverride: () => "Be a poet.",
    appendSystemPromptOverride: () => ["Rhyme."],
  });
  await resourceLoader.reload();
  const { session } = await agent(t, [], { resourceLoader, noTools: "all" });
  assert.match(session.systemPrompt, /^Be a poet\.\n\n<addendum>\nRhyme\.\n<\/addendum>/);
  assert.doesNotMatch(session.systemPrompt, /not wanted/);
  assert.deepEqual(session.getActiveToolNames(), []);
});

test("messages are queued while an agent works, and it can be aborted", async (t) => {
  let session;
  const queued = [];
  const first = async () => {
    await assert.rejects(session.prompt("no"), /already processing/);
    await session.prompt("next", { streamingBehavior: "followUp" });
    return said("first");
  };
  const endless = (signal) => {
    setTimeout(() => void session.abort(), 10);
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  };
  ({ session } = await agent(t, [first, said("second"), endless]));
  session.subscribe((event) => event.type === "queue_update" && queued.push(event.followUp));
  await session.prompt("go");
  assert.equal(session.getLastAssistantText(), "second");
  assert.deepEqual(queued, [["next"], []]);
  await session.prompt("for ever");
  assert.equal(session.messages.at(-1).stopReason, "aborted");
  assert.equal(session.isStreaming, false);
});

test("an agent goes on with an earlier session", async (t) => {
  const sessionManager = pi.SessionManager.inMemory("/p");
  sessionManager.appendModelChange("p", "gone");
  sessionManager.appendMessage({ role: "user", content: "earlier", timestamp: 1 });
  connectBridge({ models: [listedModel("p", "m")] });
  const settingsManager = pi.SettingsManager.inMemory();
  const { session, modelFallbackMessage } = await pi.createAgentSession({ sessionManager, settingsManager, agentDir: folder(t) });
  assert.match(modelFallbackMessage, /p\/gone[^]*p\/m/);
  assert.deepEqual(session.messages.map(({ role }) => role), ["system", "user"]);
  assert.throws(() => session.exportToHtml(), /does not serve AgentSession\.exportToHtml\(\)/);
});

test("extensions that are given as functions take part in an agent's work", async (t) => {
  const root = folder(t);
  const told = [];
  const factory = (extension) => {
    extension.registerTool({
      name: "added",
      description: "",
      parameters: { type: "object", properties: { text: { type: "string" } } },
      execute: async (_id, { text }) => ({ content: [{ type: "text", text }], details: {} }),
    });
    extension.on("session_start", (event) => void told.push(event.type, extension.getActiveTools()));
    extension.on("before_agent_start", ({ systemPrompt }) => ({ systemPrompt: `${systemPrompt} Changed.` }));
    extension.on("tool_call", ({ toolName, input }) => {
      if (toolName === "read") return { block: true, reason: "not here" };
      input.text = `${input.text}!`;
    });
    extension.on("tool_result", ({ content }) => ({ content: [{ type: "text", text: `<${content[0].text}>` }] }));
    extension.on("context", () => {
      throw new Error("broken");
    });
    extension.on("session_shutdown", (event) => void told.push(event.reason));
  };
  const resourceLoader = new pi.DefaultResourceLoader({
    cwd: root,
    agentDir: join(root, "agent"),
    extensionFactories: [{ name: "mine", factory }, () => Promise.reject(new Error("does not load"))],
  });
  await resourceLoader.reload();
  assert.deepEqual(resourceLoader.getExtensions().errors, [{ path: "<inline:2>", error: "does not load" }]);
  const answers = [called("added", { text: "a" }), called("read", { path: "x" }), said("end")];
  const { session, requests } = await agent(t, answers, { resourceLoader, tools: ["read", "added"] });
  const errors = [];
  await session.bindExtensions({ onError: ({ event, error }) => errors.push([event, error]) });
  // Who replaces the messages leaves the system prompt out.
  session.agent.state.messages = [{ role: "user", content: "seed", timestamp: 1 }];
  await session.prompt("go");
  const results = session.messages.filter(({ role }) => role === "toolResult").map(({ content, isError }) => [content[0].text, isError]);
  assert.deepEqual(results, [["<a!>", false], ["not here", true]]);
  assert.match(requests[0].systemPrompt ?? JSON.stringify(requests[0].messages[0]), /Changed\./);
  assert.deepEqual(errors[0], ["context", "broken"]);
  await session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
  assert.deepEqual(told, ["session_start", ["read", "added"], "quit"]);
});

test("models are found by the names that people give them", async () => {
  connectBridge({ models: [listedModel("p", "big-20250101"), listedModel("p", "big"), listedModel("q", "org/small")] });
  const modelRuntime = await pi.ModelRuntime.create();
  const named = (cliModel, more) => {
    const { model, thinkingLevel, error } = pi.resolveCliModel({ cliModel, modelRuntime, ...more });
    return [model && `${model.provider}/${model.id}`, thinkingLevel, error];
  };
  assert.deepEqual(named("p/big:high"), ["p/big", "high", undefined]);
  assert.deepEqual(named("org/small"), ["q/org/small", undefined, undefined]);
  assert.deepEqual(named("small", { cliThinking: "low" }), ["q/org/small", "low", undefined]);
  assert.equal(named("none")[2], "There is no model none");
  const { scopedModels, diagnostics } = await pi.resolveModelScopeWithDiagnostics(["p/*:low", "none"], modelRuntime);
  assert.deepEqual(scopedModels.map(({ model, thinkingLevel }) => [model.id, thinkingLevel]), [["big-20250101", "low"], ["big", "low"]]);
  assert.equal(diagnostics.length, 1);
});
