// Several handlers of one event, and events that the host completes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const extension = (body) => ({ "a.ts": `export default (pi) => { ${body} };` });

test("handlers run in the order of registration, each with what those before it changed", async () => {
  const body = `
    pi.on("input", () => ({ action: "transform", text: "1" }));
    pi.on("input", (event) => ({ action: "transform", text: event.text + "2" }));
    pi.on("input", () => { throw new Error("broken"); });
    pi.on("input", async (event) => ({ action: "transform", text: event.text + "3" }));`;
  await withHost(extension(body), async (engine) => {
    const { result } = await engine.hook({ type: "input", text: "0", source: "rpc" });
    assert.deepEqual(result, { action: "transform", text: "123" });
    assert.deepEqual(engine.of("error").map(({ where, message }) => [where, message]), [["input", "broken"]]);
  });
});

test("a blocked tool call ends the chain", async () => {
  const body = `
    pi.on("tool_call", (event) => { event.input.n += 1; });
    pi.on("tool_call", (event) => ({ block: event.input.n === 2, reason: "two" }));
    pi.on("tool_call", () => { throw new Error("not reached"); });`;
  await withHost(extension(body), async (engine) => {
    const event = { type: "tool_call", toolName: "t", toolCallId: "t", input: { n: 1 } };
    assert.deepEqual((await engine.hook(event)).result, { block: true, reason: "two", terminate: false });
  });
});

test("what is unsubscribed or subscribed in a handler counts from the next event on", async () => {
  const body = `
    const stop = pi.on("input", () => {
      stop();
      pi.on("input", () => ({ action: "handled" }));
    });`;
  await withHost(extension(body), async (engine) => {
    const event = { type: "input", text: "x", source: "rpc" };
    assert.equal((await engine.hook(event)).result, null);
    assert.deepEqual((await engine.hook(event)).result, { action: "handled" });
  });
});

test("subscriptions after loading are registered, and taken back with the last handler", async () => {
  const body = `
    let stop;
    pi.registerCommand("on", { handler: async () => { stop = pi.on("tool_call", () => {}); } });
    pi.registerCommand("off", { handler: async () => stop() });
    pi.on("session_switch", () => {});`;
  await withHost(extension(body), async (engine) => {
    const [{ hooks }] = engine.registered.extensions;
    assert.deepEqual(hooks.map(({ event }) => event), ["session_start", "session_shutdown"]);
    await engine.command("on");
    assert.deepEqual(engine.of("register")[0].hooks, [{ event: "tool_call", await: true }]);
    await engine.command("off");
    assert.deepEqual(engine.of("unregister")[0].hooks, ["tool_call"]);
  });
});

test("an update has the whole message", async () => {
  const body = `
    pi.on("message_update", (event) => {
      const { type, partial } = event.assistantMessageEvent;
      pi.appendEntry("seen", { type, same: partial === event.message, content: event.message.content, usage: event.message.usage });
    });`;
  await withHost(extension(body), async (engine) => {
    const [{ hooks }] = engine.registered.extensions;
    assert.deepEqual(hooks.slice(2), [
      { event: "message_update", await: false },
      { event: "message_start", await: false },
    ]);
    const tell = (event) => engine.send({ type: "event", ext: "a", event });
    tell({ type: "message_start", message: { role: "assistant", content: [], model: "m", timestamp: 1 } });
    const steps = [
      { type: "thinking_start", contentIndex: 0 },
      { type: "thinking_delta", contentIndex: 0, delta: "hm" },
      { type: "text_start", contentIndex: 1 },
      { type: "text_delta", contentIndex: 1, delta: "a" },
      { type: "text_delta", contentIndex: 1, delta: "b" },
      { type: "toolcall_start", contentIndex: 2, id: "t", toolName: "bash" },
      { type: "toolcall_delta", contentIndex: 2, delta: '{"x":' },
      { type: "toolcall_delta", contentIndex: 2, delta: "1}" },
    ];
    for (const assistantMessageEvent of steps) tell({ type: "message_update", usage: { input: 1 }, assistantMessageEvent });
    const seen = () => engine.of("notify").filter(({ method }) => method === "session.appendEntry");
    await engine.next(() => seen().length === steps.length);
    const { data } = seen().at(-1).params;
    assert.deepEqual(data, {
      type: "toolcall_delta",
      same: true,
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "ab" },
        { type: "toolCall", id: "t", name: "bash", arguments: { x: 1 } },
      ],
      usage: { input: 1 },
    });
    // What a handler was given does not change afterwards.
    assert.deepEqual(seen()[3].params.data.content[1], { type: "text", text: "a" });
  });
});

test("entries that a tree leaves are found when they are asked for", async () => {
  const body = `
    pi.on("session_before_tree", ({ preparation }) => ({
      customInstructions: JSON.stringify([preparation.commonAncestorId, preparation.entriesToSummarize.map((entry) => entry.id)]),
    }));`;
  const entry = (id, parentId) => ({ type: "custom", customType: "x", id, parentId, timestamp: "2026-01-01T00:00:00Z" });
  const entries = [entry("1", null), entry("2", "1"), entry("3", "2"), entry("4", "2")];
  await withHost(
    extension(body),
    async (engine) => {
      const preparation = { targetId: "3", oldLeafId: "4", userWantsSummary: true };
      const { result } = await engine.hook({ type: "session_before_tree", preparation });
      assert.deepEqual(JSON.parse(result.customInstructions), ["2", ["4"]]);
    },
    { answers: { "session.entries": { entries, leafId: "4" } } },
  );
});
