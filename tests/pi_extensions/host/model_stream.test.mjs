// Model calls of extensions: what bowline is asked and which events its chunks become.

import assert from "node:assert/strict";
import { test } from "node:test";
import { streamFromEngine } from "../../../extensions/pi-host/model/engine_stream.mjs";
import { createModelRegistry } from "../../../extensions/pi-host/model/registry.mjs";
import { connectBridge, eventsOf, listedModel } from "./model_support.mjs";

const model = listedModel("home", "m");
const usage = { input: 3, output: 4, cacheRead: 0, cacheWrite: 0, totalTokens: 7 };
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

function answer(fields = {}) {
  return {
    ...{ role: "assistant", content: [{ type: "text", text: "Hi" }], api: model.api, provider: "home", model: "m" },
    ...{ usage: { ...usage, cost }, stopReason: "stop", timestamp: 5, ...fields },
  };
}

test("chunks become events with the message so far", async () => {
  const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: "a" } };
  const chunks = [
    { type: "start", responseId: "r1" },
    { type: "thinking_start", contentIndex: 0 },
    { type: "thinking_delta", contentIndex: 0, delta: "hm" },
    { type: "thinking_end", contentIndex: 0, signature: "s" },
    { type: "text_start", contentIndex: 1 },
    { type: "text_delta", contentIndex: 1, delta: "Hi" },
    { type: "text_end", contentIndex: 1 },
    { type: "toolcall_start", contentIndex: 2, id: "c1", toolName: "read" },
    { type: "toolcall_delta", contentIndex: 2, delta: '{"path":' },
    { type: "toolcall_delta", contentIndex: 2, delta: '"a"}' },
    { type: "toolcall_end", contentIndex: 2 },
    { type: "usage", usage: { ...usage, cost } },
  ];
  const final = answer({ content: [{ type: "text", text: "Hi" }, call], stopReason: "toolUse" });
  connectBridge({
    models: [model],
    answers: {
      "model.stream": (_, { onProgress }) => {
        chunks.forEach(onProgress);
        return final;
      },
    },
  });
  const stream = streamFromEngine(model, { messages: [] });
  const events = await eventsOf(stream);
  assert.deepEqual(
    events.map(({ type }) => type),
    [...chunks.map(({ type }) => type).filter((type) => type !== "usage"), "done"],
  );
  assert.equal(events[0].partial.responseId, "r1");
  assert.equal(events[0].partial.stopReason, "pending");
  assert.equal(events[3].content, "hm");
  assert.equal(events[6].content, "Hi");
  assert.deepEqual(events[10].toolCall, call);
  assert.equal(events.at(-1).reason, "toolUse");
  const result = await stream.result();
  assert.deepEqual(result.content, final.content);
  assert.equal(result.responseId, "r1");
});

test("the parameters have the prompt, the tools and the limits", async () => {
  const { asked } = connectBridge({ models: [model], answers: { "model.stream": answer() } });
  const context = {
    systemPrompt: "Be brief.",
    messages: [
      { role: "user", content: "Hello" },
      { role: "custom", customType: "x", content: "note", display: true, timestamp: 2 },
    ],
    tools: [{ name: "t", description: "d", parameters: { type: "object" }, constrainedSampling: { type: "json_schema", strict: "require" } }],
  };
  const options = { maxTokens: 10, reasoning: "high", apiKey: "k", headers: { a: "b" } };
  await streamFromEngine(model, context, options).result();
  const [{ method, params }] = asked;
  assert.equal(method, "model.stream");
  const { messages, ...others } = params;
  assert.deepEqual(others, {
    ...{ model: "home/m", systemPrompt: "Be brief.", maxTokens: 10, thinkingLevel: "high" },
    ...{ tools: context.tools, apiKey: "k", headers: { a: "b" } },
  });
  assert.deepEqual(messages.map(({ role, content }) => [role, content[0].text]), [["user", "Hello"], ["user", "note"]]);
  assert.ok(messages.every(({ timestamp }) => Number.isInteger(timestamp)));
});

test("a model that bowline does not list is described", async () => {
  const { asked } = connectBridge({ models: [model], answers: { "model.stream": answer() } });
  const elsewhere = { ...model, baseUrl: "http://localhost:2", compat: { a: 1 } };
  await streamFromEngine(elsewhere, { messages: [] }).result();
  assert.deepEqual(asked[0].params.model, elsewhere);
});

test("a failure is a message", async () => {
  connectBridge({
    models: [model],
    answers: {
      "model.stream": (_, { onProgress }) => {
        onProgress({ type: "text_start", contentIndex: 0 });
        onProgress({ type: "text_delta", contentIndex: 0, delta: "par" });
        throw new Error("503 overloaded");
      },
    },
  });
  const events = await eventsOf(streamFromEngine(model, { messages: [] }));
  const { type, reason, error } = events.at(-1);
  assert.deepEqual([type, reason, error.stopReason, error.errorMessage], ["error", "error", "error", "503 overloaded"]);
  assert.deepEqual(error.content, [{ type: "text", text: "par" }]);
});

test("an abort is a message", async () => {
  const controller = new AbortController();
  const waits = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      controller.abort();
    });
  const { asked } = connectBridge({ models: [model], answers: { "model.stream": waits } });
  const stream = () => streamFromEngine(model, { messages: [] }, { signal: controller.signal });
  const first = await stream().result();
  assert.deepEqual([first.stopReason, first.errorMessage], ["aborted", "Request was aborted"]);
  assert.equal((await stream().result()).stopReason, "aborted");
  assert.equal(asked.length, 1);
});

test("the registry finds, lists and calls models", async () => {
  const { asked } = connectBridge({
    models: [model],
    answers: { "model.stream": answer(), "model.auth": { apiKey: "k" }, "model.list": [] },
  });
  const registry = createModelRegistry();
  assert.deepEqual(registry.getAll(), [model]);
  assert.deepEqual(registry.getAvailable(), [model]);
  assert.equal(registry.find("home", "m"), model);
  assert.equal(registry.find("home", "n"), undefined);
  assert.equal(registry.hasConfiguredAuth(model), true);
  assert.equal(registry.hasConfiguredAuth({ provider: "other" }), false);
  assert.equal(registry.getProviderDisplayName("home"), "home");
  assert.deepEqual(registry.getProvider("home").getModels(), [model]);
  assert.equal(registry.getError(), undefined);
  assert.equal(registry.isUsingOAuth(model), false);
  const auth = await registry.getApiKeyAndHeaders({ ...model, headers: { a: "b" } });
  assert.deepEqual([auth.ok, auth.apiKey, auth.headers], [true, "k", { a: "b" }]);
  assert.equal(await registry.getApiKeyForProvider("home"), "k");
  assert.equal((await registry.complete(model, { messages: [] })).content[0].text, "Hi");
  const refreshed = await registry.refresh();
  assert.deepEqual([refreshed.aborted, refreshed.errors.size], [false, 0]);
  assert.deepEqual(asked.at(-1), { method: "model.list", params: { refresh: true } });
});

test("a key that cannot be had is an error", async () => {
  const refuse = () => {
    throw new Error("no");
  };
  connectBridge({ models: [model], answers: { "model.auth": refuse } });
  const registry = createModelRegistry();
  assert.deepEqual(await registry.getApiKeyAndHeaders(model), { ok: false, error: "no" });
  assert.equal(await registry.getApiKeyForProvider("home"), undefined);
  connectBridge({ models: [], answers: { "model.auth": {} } });
  assert.deepEqual(await registry.getApiKeyAndHeaders(model), { ok: false, error: 'No API key found for "home"' });
});

test("extensions of a project call models without seeing keys", async () => {
  const { asked } = connectBridge({ models: [model], scope: "project", answers: { "model.stream": answer() } });
  const registry = createModelRegistry();
  const auth = await registry.getApiKeyAndHeaders(model);
  assert.equal(auth.ok, true);
  assert.equal((await registry.complete(model, { messages: [] }, auth)).stopReason, "stop");
  assert.deepEqual(asked.map(({ method }) => method), ["model.stream"]);
  assert.equal(asked[0].params.apiKey, undefined);
});

test("long arguments of a tool call are whole at the end", async () => {
  const text = JSON.stringify({ content: "x".repeat(200_000) });
  const call = { type: "toolCall", id: "c", name: "write", arguments: JSON.parse(text) };
  connectBridge({
    models: [model],
    answers: {
      "model.stream": (_, { onProgress }) => {
        onProgress({ type: "toolcall_start", contentIndex: 0, id: "c", toolName: "write" });
        for (let start = 0; start < text.length; start += 20) {
          onProgress({ type: "toolcall_delta", contentIndex: 0, delta: text.slice(start, start + 20) });
        }
        onProgress({ type: "toolcall_end", contentIndex: 0 });
        return answer({ content: [call], stopReason: "toolUse" });
      },
    },
  });
  const stream = streamFromEngine(model, { messages: [] });
  let ended;
  for await (const event of stream) if (event.type === "toolcall_end") ended = event.toolCall;
  assert.deepEqual(ended.arguments, call.arguments);
});
