// What pi-ai computes without a model.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as ai from "../../../extensions/pi-host/shims/pi-ai.mjs";
import { connectBridge, listedModel } from "./model_support.mjs";

test("a choice of texts is a schema", () => {
  const schema = JSON.parse(JSON.stringify(ai.StringEnum(["a", "b"], { description: "d", default: "a" })));
  assert.deepEqual([schema.type, schema.enum, schema.description, schema.default], ["string", ["a", "b"], "d", "a"]);
});

test("prices follow the size of the input", () => {
  const tiers = [{ inputTokensAbove: 100, input: 4, output: 8, cacheRead: 1, cacheWrite: 5 }];
  const model = { cost: { input: 2, output: 4, cacheRead: 1, cacheWrite: 3, tiers } };
  const usage = (input) => ({ input, output: 1_000_000, cacheRead: 0, cacheWrite: 0, cost: {} });
  assert.equal(ai.calculateCost(model, usage(100)).output, 4);
  assert.equal(ai.calculateCost(model, usage(101)).output, 8);
  const kept = ai.calculateCost(model, { input: 0, output: 0, cacheRead: 0, cacheWrite: 10, cacheWrite1h: 10, cost: {} });
  assert.equal(kept.cacheWrite, (2 * 2 * 10) / 1_000_000);
});

test("thinking levels are those of the model", () => {
  const model = { reasoning: true, thinkingLevelMap: { xhigh: "x", low: null } };
  assert.deepEqual(ai.getSupportedThinkingLevels(model), ["off", "minimal", "medium", "high", "xhigh"]);
  assert.equal(ai.clampThinkingLevel(model, "low"), "medium");
  assert.equal(ai.clampThinkingLevel(model, "max"), "xhigh");
  assert.deepEqual(ai.getSupportedThinkingLevels({ reasoning: false }), ["off"]);
});

test("unfinished JSON is read as far as it goes", () => {
  for (const [text, value] of [
    ["", {}],
    ['{"a":"b', { a: "b" }],
    ['{"a":"b\\u00', { a: "b" }],
    ['{"a":[1,2', { a: [1, 2] }],
    ['{"a":tr', { a: true }],
    ['{"a":{"b":nu', { a: { b: null } }],
    ['{"a":1,"b', { a: 1 }],
    ['{"a":"x\ty"}', { a: "x\ty" }],
    ['{"a":"C:\\dir"}', { a: "C:\\dir" }],
    ["nonsense", {}],
  ]) {
    assert.deepEqual(ai.parseStreamingJson(text), value, text);
  }
  assert.throws(() => ai.parseJsonWithRepair("{"), SyntaxError);
  assert.match(ai.parseToolCallArguments("[1]").argumentsError, /must be a JSON object/);
});

test("failures tell whether the conversation is too large and whether a retry may help", () => {
  const failed = (errorMessage) => ({ stopReason: "error", errorMessage, usage: {} });
  assert.equal(ai.isContextOverflow(failed("prompt is too long: 2 tokens > 1 maximum")), true);
  assert.equal(ai.isContextOverflow(failed("rate limit: too many tokens")), false);
  assert.equal(ai.isContextOverflow({ stopReason: "stop", usage: { input: 11, cacheRead: 0 } }, 10), true);
  assert.equal(ai.isRetryableAssistantError(failed("503 Service Unavailable")), true);
  assert.equal(ai.isRetryableAssistantError(failed("429 insufficient_quota")), false);
});

test("a failed call is repeated", async () => {
  const answers = [ai.fauxAssistantMessage([], { stopReason: "error", errorMessage: "overloaded" }), ai.fauxAssistantMessage("ok")];
  const scheduled = [];
  const policy = { enabled: true, maxRetries: 2, baseDelayMs: 1 };
  const callbacks = { onRetryScheduled: (...given) => scheduled.push(given) };
  const answer = await ai.retryAssistantCall(async () => answers.shift(), policy, undefined, callbacks);
  assert.equal(answer.stopReason, "stop");
  assert.deepEqual(scheduled, [[1, 2, 1, "overloaded"]]);
});

test("the catalog is that of bowline", async () => {
  connectBridge({ models: [listedModel("anthropic", "c"), listedModel("home", "m")] });
  assert.equal(ai.getModel("home", "m").id, "m");
  assert.deepEqual(ai.getModels("anthropic").map(({ id }) => id), ["c"]);
  assert.deepEqual(ai.getProviders(), ["anthropic", "home"]);
  assert.deepEqual(Object.keys(ai.ANTHROPIC_MODELS), ["c"]);
  assert.deepEqual(ai.anthropicProvider().getModels().map(({ id }) => id), ["c"]);
  await assert.rejects(ai.generateImages({ api: "x" }), /does not serve/);
});

test("keys are found in the environment", () => {
  assert.equal(ai.getEnvApiKey("groq", { GROQ_API_KEY: "k" }), "k");
  assert.equal(ai.getEnvApiKey("anthropic", { ANTHROPIC_AUTH_TOKEN: "t" }), undefined);
  assert.deepEqual(ai.findEnvKeys("anthropic", { ANTHROPIC_AUTH_TOKEN: "t" }), ["ANTHROPIC_AUTH_TOKEN"]);
  assert.equal(ai.getEnvApiKey("constructor", {}), undefined);
});

test("a collection of providers calls the one of the model with its key", async () => {
  const { provider, setResponses, getModel } = ai.fauxProvider({ provider: "p" });
  let key;
  setResponses([
    (_context, options) => {
      key = options.apiKey;
      return ai.fauxAssistantMessage("hi");
    },
  ]);
  const models = ai.createModels();
  models.setProvider(provider);
  const answer = await models.completeSimple(getModel(), { messages: [] });
  assert.deepEqual([answer.content[0].text, key], ["hi", "faux"]);
  const unknown = await models.completeSimple({ ...getModel(), provider: "q" }, { messages: [] });
  assert.equal(unknown.errorMessage, "Unknown provider: q");
});

test("arguments of a tool call are converted and checked", () => {
  const parameters = { type: "object", properties: { n: { type: "number" }, o: { type: "string" } }, required: ["n"] };
  const tool = { name: "t", parameters };
  assert.deepEqual(ai.validateToolArguments(tool, { name: "t", arguments: { n: "5", o: null } }), { n: 5 });
  assert.throws(() => ai.validateToolArguments(tool, { name: "t", arguments: {} }), /^Error: Validation failed for tool "t":\n {2}- n: /);
  assert.throws(() => ai.validateToolCall([tool], { name: "u", arguments: {} }), { message: 'Tool "u" not found' });
});
