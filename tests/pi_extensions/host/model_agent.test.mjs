// Agents of extensions, over answers that are given beforehand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createFauxCore, fauxAssistantMessage, fauxToolCall } from "../../../extensions/pi-host/model/faux.mjs";
import { Agent, agentLoop } from "../../../extensions/pi-host/shims/pi-agent-core.mjs";

const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
const user = (content) => ({ role: "user", content, timestamp: 0 });

/** Returns an agent, its events and what gives it answers. */
function agentWith(responses, { tools = [], ...options } = {}) {
  const core = createFauxCore({ api: "f", provider: "f" });
  core.setResponses(responses);
  const initialState = { systemPrompt: "Be brief.", model: core.getModel(), tools };
  const agent = new Agent({ initialState, streamFn: core.streamSimple, ...options });
  const events = [];
  agent.subscribe((event) => {
    if (event.type !== "message_update") events.push(event);
  });
  return { agent, events, core };
}

const add = {
  ...{ name: "add", label: "Add", description: "Adds one.", parameters: schema },
  async execute(_id, { a }, _signal, onUpdate) {
    onUpdate({ content: [], details: "half" });
    if (a > 9) throw new Error("too large");
    return { content: [{ type: "text", text: String(a + 1) }], details: { a } };
  },
};

const calls = (...list) =>
  fauxAssistantMessage(list.map(([given, id]) => fauxToolCall("add", given, { id })), { stopReason: "toolUse" });

test("a run calls the model and its tools until there is nothing more", async () => {
  const { agent, events } = agentWith([calls([{ a: "1" }, "1"], [{ a: 10 }, "2"], [{}, "3"]), fauxAssistantMessage("done")], {
    tools: [add],
  });
  await agent.prompt("go");
  assert.deepEqual(events.filter(({ type }) => !type.startsWith("message_")).map(({ type }) => type), [
    ...["agent_start", "turn_start", "tool_execution_start", "tool_execution_start", "tool_execution_start"],
    ...["tool_execution_end", "tool_execution_update", "tool_execution_update", "tool_execution_end"],
    ...["tool_execution_end", "turn_end", "turn_start", "turn_end", "agent_end"],
  ]);
  const results = agent.state.messages.filter(({ role }) => role === "toolResult");
  assert.deepEqual(results.map(({ toolCallId, isError }) => [toolCallId, isError]), [["1", false], ["2", true], ["3", true]]);
  assert.deepEqual(results.slice(0, 2).map(({ content }) => content[0].text), ["2", "too large"]);
  assert.match(results[2].content[0].text, /^Validation failed for tool "add":/);
  assert.deepEqual(agent.state.messages.map(({ role }) => role).slice(0, 3), ["system", "user", "assistant"]);
  assert.equal(agent.state.isStreaming, false);
  assert.equal(agent.state.systemPrompt, "Be brief.");
});

test("queued messages are taken one at a time", async () => {
  const seen = [];
  const record = ({ messages }) => {
    seen.push(messages.at(-1).content);
    return fauxAssistantMessage("ok");
  };
  const { agent, core } = agentWith([]);
  core.setResponses([
    (context) => {
      for (const text of ["a", "b"]) agent.steer(user(text));
      agent.followUp(user("later"));
      return record(context);
    },
    ...[record, record, record],
  ]);
  await agent.prompt(user("first"));
  assert.deepEqual(seen, ["first", "a", "b", "later"]);
  assert.equal(agent.hasQueuedMessages(), false);
});

test("hooks block calls and change results", async () => {
  const { agent } = agentWith([calls([{ a: 1 }, "1"], [{ a: 2 }, "2"]), fauxAssistantMessage("done")], {
    tools: [add],
    beforeToolCall: async ({ args }) => (args.a === 1 ? { block: true, reason: "not this" } : undefined),
    afterToolCall: async () => ({ isError: true, details: "changed" }),
  });
  await agent.prompt("go");
  const [blocked, changed] = agent.state.messages.filter(({ role }) => role === "toolResult");
  assert.deepEqual([blocked.isError, blocked.content[0].text], [true, "not this"]);
  assert.deepEqual([changed.isError, changed.details, changed.content[0].text], [true, "changed", "3"]);
});

test("a failure ends the run and is noted", async () => {
  const { agent, events } = agentWith([fauxAssistantMessage([], { stopReason: "error", errorMessage: "boom" })]);
  await agent.prompt("go");
  assert.equal(agent.state.errorMessage, "boom");
  assert.equal(events.at(-1).type, "agent_end");
  const thrown = agentWith([], {
    transformContext() {
      throw new Error("broken");
    },
  });
  await thrown.agent.prompt("go");
  assert.equal(thrown.agent.state.errorMessage, "broken");
});

test("an abort ends the run", async () => {
  const { agent, core } = agentWith([]);
  core.setResponses([
    () => {
      agent.abort();
      return fauxAssistantMessage("never");
    },
  ]);
  await agent.prompt("go");
  assert.equal(agent.state.messages.at(-1).stopReason, "aborted");
  await agent.waitForIdle();
  assert.equal(agent.signal, undefined);
});

test("a tool that is taken away is told to the model", async () => {
  const { agent } = agentWith([fauxAssistantMessage("1"), fauxAssistantMessage("2")], { tools: [add] });
  await agent.prompt("go");
  agent.state.tools = [];
  await agent.prompt("on");
  const changes = agent.state.messages.filter(({ role }) => role === "system");
  assert.deepEqual(changes.map(({ toolsAdded, toolsRemoved }) => [toolsAdded?.length, toolsRemoved]), [
    [1, undefined],
    [undefined, [{ name: "add" }]],
  ]);
});

test("a second prompt is refused while one is in progress", async () => {
  const { agent } = agentWith([fauxAssistantMessage("1")]);
  const first = agent.prompt("go");
  await assert.rejects(agent.prompt("again"), /already processing/);
  await first;
  await assert.rejects(agent.continue(), /Cannot continue from message role: assistant/);
});

test("the loop is a stream of events with a result", async () => {
  const core = createFauxCore({ api: "f" });
  core.setResponses([fauxAssistantMessage("ok")]);
  const config = { model: core.getModel(), convertToLlm: (messages) => messages };
  const stream = agentLoop([user("go")], { messages: [], tools: [] }, config, undefined, core.streamSimple);
  const types = [];
  for await (const { type } of stream) types.push(type);
  assert.deepEqual([types.at(0), types.at(-1)], ["agent_start", "agent_end"]);
  assert.deepEqual((await stream.result()).map(({ role }) => role), ["user", "assistant"]);
});
