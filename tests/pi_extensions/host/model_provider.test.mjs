// Providers that extensions register: what bowline is told of them, and how they answer.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { builtInApi, registerApiProvider, resetApiProviders } from "../../../extensions/pi-host/model/api_registry.mjs";
import { createAssistantMessageEventStream } from "../../../extensions/pi-host/model/event_stream.mjs";
import { createFauxCore, fauxAssistantMessage, fauxProvider, fauxThinking, fauxToolCall } from "../../../extensions/pi-host/model/faux.mjs";
import { forgetProvider, providerRegistration, runProvider } from "../../../extensions/pi-host/model/provider.mjs";
import { createModelRegistry } from "../../../extensions/pi-host/model/registry.mjs";
import { connectBridge, listedModel } from "./model_support.mjs";

const definition = {
  ...{ id: "m", name: "M", reasoning: true, input: ["text"], cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 } },
  ...{ contextWindow: 1000, maxTokens: 100 },
};
const request = {
  model: listedModel("own", "m", { api: "own-api" }),
  systemPrompt: "Be brief.",
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }], timestamp: 1 }],
  tools: [{ name: "t", description: "d", parameters: { type: "object" } }],
  thinkingLevel: "low",
  maxTokens: 50,
  sessionId: "s",
};

afterEach(() => {
  for (const name of ["own", "groq", "native", "keyed"]) forgetProvider(name);
  resetApiProviders();
});

/** Runs a request and returns the chunks with the result. */
async function run(name = "own", signal) {
  const chunks = [];
  const result = await runProvider(name, "stream", { request }, (chunk) => chunks.push(chunk), signal);
  return { chunks, result };
}

/** Registers a provider whose answers a function writes. */
function registerStream(streamSimple, others = {}) {
  return providerRegistration("own", { api: "own-api", baseUrl: "http://own", models: [definition], streamSimple, ...others });
}

/** Returns a function that pushes events. */
function pushing(...events) {
  return () => {
    const stream = createAssistantMessageEventStream();
    for (const event of events) stream.push(event);
    return stream;
  };
}

const textOf = (chunks, index) =>
  chunks.filter((chunk) => chunk.contentIndex === index && chunk.delta).map(({ delta }) => delta).join("");

test("a configuration becomes a registration", () => {
  connectBridge();
  const config = {
    ...{ baseUrl: "http://own", apiKey: "$KEY", api: "openai-completions", headers: { a: "b" }, authHeader: true },
    ...{ models: [{ ...definition, samplingParams: { top_k: 1 } }, { ...definition, id: "i", type: "image" }] },
    refreshModels: async () => [],
  };
  const { name, registration } = providerRegistration("own", config);
  assert.equal(name, "own");
  assert.deepEqual(registration, {
    ...{ name: "own", refresh: true, baseUrl: "http://own", apiKey: "$KEY", api: "openai-completions" },
    ...{ headers: { a: "b" }, authHeader: true, models: [definition] },
  });
});

test("a change of an address has no models", () => {
  connectBridge();
  assert.deepEqual(providerRegistration("own", { baseUrl: "http://proxy" }).registration, { name: "own", baseUrl: "http://proxy" });
  const second = providerRegistration("own", { headers: { a: "b" }, baseUrl: undefined }).registration;
  assert.deepEqual(second, { name: "own", baseUrl: "http://proxy", headers: { a: "b" } });
});

test("a configuration that cannot work is refused", () => {
  connectBridge();
  assert.throws(() => providerRegistration("own", { streamSimple() {} }), {
    message: 'Provider own: "api" is required when registering streamSimple.',
  });
  assert.throws(() => providerRegistration("own"), /config is required/);
  assert.throws(() => providerRegistration(" ", {}), /must not be empty/);
});

test("an answer is sent in chunks", async () => {
  connectBridge({ answers: { "model.auth": { apiKey: "k" } } });
  const core = createFauxCore({ api: "own-api", provider: "own", models: [{ id: "m" }] });
  const blocks = [fauxThinking("thinking about it"), { type: "text", text: "Hello there" }, fauxToolCall("t", { a: [1] }, { id: "c" })];
  let seen;
  core.setResponses([
    (context, options) => {
      seen = { context, options };
      return fauxAssistantMessage(blocks, { stopReason: "toolUse", responseId: "r" });
    },
  ]);
  registerStream(core.streamSimple, { headers: { a: "b" } });
  const { chunks, result } = await run();
  assert.deepEqual(result, { stopReason: "toolUse" });
  assert.deepEqual(chunks[0], { type: "start", responseId: "r" });
  const edges = chunks.filter(({ type }) => /_(start|end)$/.test(type)).map(({ type, contentIndex }) => [type, contentIndex]);
  assert.deepEqual(edges, [
    ...[["thinking_start", 0], ["thinking_end", 0], ["text_start", 1], ["text_end", 1]],
    ...[["toolcall_start", 2], ["toolcall_end", 2]],
  ]);
  assert.deepEqual([0, 1, 2].map((index) => textOf(chunks, index)), ["thinking about it", "Hello there", '{"a":[1]}']);
  assert.equal(chunks.at(-1).type, "usage");
  const { signal, ...options } = seen.options;
  assert.equal(signal, undefined);
  assert.deepEqual(options, { maxTokens: 50, reasoning: "low", sessionId: "s", apiKey: "k", headers: { a: "b" } });
  assert.deepEqual(seen.context.messages.map(({ role }) => role), ["system", "user"]);
  assert.deepEqual(seen.context.messages[0].toolsAdded, request.tools);
  assert.equal(seen.context.systemPrompt, "Be brief.");
});

test("an answer that has only a finished message is sent whole", async () => {
  connectBridge({ answers: { "model.auth": {} } });
  const message = fauxAssistantMessage([{ type: "text", text: "all", textSignature: "s" }, fauxToolCall("t", {}, { id: "c" })]);
  registerStream(pushing({ type: "done", reason: "stop", message }));
  const { chunks, result } = await run();
  assert.deepEqual(result, { stopReason: "stop" });
  assert.deepEqual(chunks.slice(0, -1), [
    { type: "start" },
    { type: "text_start", contentIndex: 0 },
    { type: "text_delta", contentIndex: 0, delta: "all" },
    { type: "text_end", contentIndex: 0, signature: "s" },
    { type: "toolcall_start", contentIndex: 1, id: "c", toolName: "t" },
    { type: "toolcall_delta", contentIndex: 1, delta: "{}" },
    { type: "toolcall_end", contentIndex: 1 },
  ]);
});

test("blocks that arrive at once are sent one after the other", async () => {
  connectBridge({ answers: { "model.auth": {} } });
  const calls = [fauxToolCall("a", { x: 1 }, { id: "1" }), fauxToolCall("b", { y: 2 }, { id: "2" })];
  const partial = { content: calls };
  const message = fauxAssistantMessage(calls, { stopReason: "toolUse" });
  registerStream(
    pushing(
      { type: "toolcall_start", contentIndex: 0, partial: { content: [{ type: "toolCall" }] } },
      { type: "toolcall_delta", contentIndex: 0, delta: '{"x"', partial },
      { type: "toolcall_start", contentIndex: 1, partial },
      { type: "toolcall_delta", contentIndex: 1, delta: '{"y":2}', partial },
      { type: "toolcall_delta", contentIndex: 0, delta: ":1}", partial },
      { type: "toolcall_end", contentIndex: 1, toolCall: calls[1], partial },
      { type: "toolcall_end", contentIndex: 0, toolCall: calls[0], partial },
      { type: "done", reason: "toolUse", message },
    ),
  );
  const { chunks } = await run();
  const order = chunks.filter(({ contentIndex }) => contentIndex !== undefined).map(({ contentIndex }) => contentIndex);
  assert.deepEqual(order, [...order].sort());
  assert.deepEqual([textOf(chunks, 0), textOf(chunks, 1)], ['{"x":1}', '{"y":2}']);
});

test("a failure has its text and, if the conversation is too large, its kind", async () => {
  connectBridge({ answers: { "model.auth": {} } });
  const failed = (errorMessage) => fauxAssistantMessage([], { stopReason: "error", errorMessage });
  registerStream(pushing({ type: "error", reason: "error", error: failed("503 overloaded") }));
  await assert.rejects(run(), (error) => error.message === "503 overloaded" && error.kind === undefined);
  registerStream(pushing({ type: "error", reason: "error", error: failed("prompt is too long") }));
  await assert.rejects(run(), { message: "prompt is too long", kind: "context" });
  registerStream(() => {
    throw new Error("broken");
  });
  await assert.rejects(run(), { message: "broken" });
  registerStream(() => {
    const stream = createAssistantMessageEventStream();
    stream.end();
    return stream;
  });
  await assert.rejects(run(), /ended before it was complete/);
});

test("an abort ends an answer that does not end", async () => {
  connectBridge({ answers: { "model.auth": {} } });
  let given;
  registerStream((_model, _context, options) => {
    given = options.signal;
    return createAssistantMessageEventStream();
  });
  const controller = new AbortController();
  const running = run("own", controller.signal);
  setTimeout(() => controller.abort(), 5);
  await assert.rejects(running, { message: "Request was aborted" });
  assert.equal(given.aborted, true);
});

test("an API of an extension answers for the providers that name it", async () => {
  connectBridge({ answers: { "model.auth": {} } });
  const core = createFauxCore({ api: "own-api", models: [{ id: "m" }] });
  core.setResponses([fauxAssistantMessage("by the API")]);
  const { registration } = providerRegistration("own", { api: "own-api", baseUrl: "http://own", models: [definition] });
  assert.equal(registration.stream, true);
  await assert.rejects(run(), { message: "No API provider registered for api: own-api" });
  registerApiProvider({ api: "own-api", stream: core.stream, streamSimple: core.streamSimple });
  assert.equal(textOf((await run()).chunks, 0), "by the API");
});

test("a whole provider is registered and answers", async () => {
  connectBridge({ answers: { "model.auth": {} } });
  const faux = fauxProvider({ provider: "own", api: "own-api", models: [{ id: "m" }] });
  faux.setResponses([fauxAssistantMessage("whole")]);
  const { name, registration } = providerRegistration(faux.provider);
  assert.equal(name, "own");
  assert.deepEqual([registration.stream, registration.models.map(({ id }) => id)], [true, ["m"]]);
  assert.equal(textOf((await run()).chunks, 0), "whole");
  assert.equal(createModelRegistry().getProvider("own"), faux.provider);
});

test("models are listed anew", async () => {
  connectBridge({ answers: { "model.auth": { apiKey: "k" } } });
  let given;
  providerRegistration("own", {
    ...{ api: "openai-completions", baseUrl: "http://own" },
    async refreshModels(context) {
      given = context;
      return [definition];
    },
  });
  assert.deepEqual(await runProvider("own", "refresh"), [definition]);
  assert.deepEqual([given.credential, given.allowNetwork], [{ type: "api_key", key: "k", env: undefined }, true]);
  const known = createModelRegistry().find("own", "m");
  assert.deepEqual([known.api, known.baseUrl, known.provider], ["openai-completions", "http://own", "own"]);
});

test("the registry calls a provider of this process without bowline", async () => {
  const { asked } = connectBridge({ models: [request.model], answers: { "model.auth": {} } });
  const core = createFauxCore({ api: "own-api", provider: "own", models: [{ id: "m" }] });
  core.setResponses([fauxAssistantMessage("direct")]);
  registerStream(core.streamSimple);
  const registry = createModelRegistry();
  const answer = await registry.complete(request.model, { messages: [] }, { apiKey: "given" });
  assert.equal(answer.content[0].text, "direct");
  assert.deepEqual(asked, []);
  assert.deepEqual(registry.getRegisteredProviderIds(), ["own"]);
  registry.unregisterProvider("own");
  assert.deepEqual(registry.getRegisteredProviderIds(), []);
});

test("a login is carried out with dialogs", async () => {
  const { notified } = connectBridge({ answers: { "ui.input": "code", "ui.select": "B" } });
  registerStream(() => {}, {
    oauth: {
      name: "Own",
      async login(callbacks) {
        callbacks.onAuth({ url: "https://own/login" });
        const chosen = await callbacks.onSelect({ message: "Which?", options: [{ id: "a", label: "A" }, { id: "b", label: "B" }] });
        return { access: `${chosen}:${await callbacks.onPrompt({ message: "Code" })}`, refresh: "r", expires: 1 };
      },
      refreshToken: async () => ({}),
      getApiKey: ({ access }) => access,
    },
  });
  const credential = await runProvider("own", "login");
  assert.deepEqual(credential, { access: "b:code", refresh: "r", expires: 1, type: "oauth" });
  assert.equal(notified[0].params.url, "https://own/login");
});

/** Registers a provider with a login whose tokens say what was done with them. */
function registerWithLogin(fields = {}, oauth = {}) {
  return providerRegistration("own", {
    ...{ api: "openai-completions", baseUrl: "http://own", models: [definition] },
    ...fields,
    oauth: {
      name: "Own",
      login: async () => ({ access: "a", refresh: "r", expires: 1 }),
      refreshToken: async ({ access, account }) => ({ access: `${access}2`, refresh: "r", expires: 2, account }),
      getApiKey: ({ access }) => `key-${access}`,
      ...oauth,
    },
  });
}

test("bowline is told of logins and whether the models depend on them", () => {
  connectBridge();
  assert.deepEqual(registerWithLogin().registration.login, { name: "Own", required: true, modifiesModels: undefined });
  const { registration } = registerWithLogin({}, { modifyModels: (models) => models });
  assert.equal(registration.login.modifiesModels, true);
  const native = { id: "native", name: "N", getModels: () => [], auth: { oauth: { name: "O", login() {} }, apiKey: { name: "K" } } };
  assert.deepEqual(providerRegistration(native).registration.login, { name: "O", required: false });
  const { registration: without } = providerRegistration("keyed", { baseUrl: "http://k", apiKey: "k" });
  assert.equal("login" in without, false);
});

test("a login is renewed and made into a key by its extension", async () => {
  connectBridge();
  registerWithLogin();
  const credential = { type: "oauth", access: "a", refresh: "r", expires: 1, account: "me" };
  const renewed = await runProvider("own", "refreshToken", { credential });
  assert.deepEqual(renewed, { access: "a2", refresh: "r", expires: 2, account: "me", type: "oauth" });
  assert.equal(await runProvider("own", "apiKey", { credential: renewed }), "key-a2");
});

test("an extension makes the key of a login itself when it answers", async () => {
  const credential = { type: "oauth", access: "fresh", refresh: "r", expires: Date.now() + 1e7 };
  connectBridge({ answers: { "model.auth": { credential } } });
  let key;
  registerStream((_model, _context, options) => {
    key = options.apiKey;
    return pushing({ type: "done", reason: "stop", message: fauxAssistantMessage("ok") })();
  }, { oauth: { name: "Own", login() {}, getApiKey: ({ access }) => `key-${access}` } });
  await run();
  assert.equal(key, "key-fresh");
});

test("the models of a provider follow its login", async () => {
  connectBridge();
  const modifyModels = (models, { access }) => models.map((model) => ({ ...model, baseUrl: `http://${access}` }));
  registerWithLogin({}, { modifyModels });
  const addresses = async (input) => (await runProvider("own", "refresh", input)).map(({ baseUrl }) => baseUrl);
  assert.deepEqual(await addresses({ credential: { type: "oauth", access: "mine" } }), ["http://mine"]);
  assert.deepEqual(await addresses({}), [definition.baseUrl]);
});

test("the models of another provider that a login changes are those that bowline lists", async () => {
  const { provider } = request.model;
  connectBridge({ known: [{ ...request.model, provider: "groq" }, { ...request.model, provider: `${provider}x` }] });
  const seen = [];
  providerRegistration("groq", {
    oauth: { name: "G", login() {}, modifyModels: (models) => (seen.push(...models), models.map((model) => ({ ...model, name: "changed" }))) },
  });
  assert.deepEqual(await runProvider("groq", "refresh", {}), []);
  const [changed] = await runProvider("groq", "refresh", { credential: { access: "a" } });
  assert.deepEqual([changed.name, seen.length], ["changed", 1]);
});

test("what a login still asks when it is over is withdrawn", async () => {
  const signals = [];
  connectBridge({
    answers: {
      "ui.input": (_params, { signal }) =>
        new Promise((_resolve, reject) => {
          signals.push(signal);
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    },
  });
  registerWithLogin({}, {
    login: async ({ onManualCodeInput }) => Promise.race([onManualCodeInput(), Promise.resolve({ access: "from the page" })]),
  });
  assert.equal((await runProvider("own", "login")).access, "from the page");
  assert.equal(signals[0].aborted, true);
});

test("a login that the user gives up says so in words that bowline knows", async () => {
  connectBridge({ answers: { "ui.input": () => null } });
  registerWithLogin({}, { login: async ({ onPrompt }) => ({ access: await onPrompt({ message: "Code" }) }) });
  await assert.rejects(runProvider("own", "login"), /^Error: Login cancelled$/);
});

test("the registry tells of keys what bowline knows", async () => {
  const models = [listedModel("groq", "g"), listedModel("own", "m")];
  const { asked } = connectBridge({
    models,
    statuses: { groq: { configured: true, source: "environment", label: "GROQ_API_KEY", oauth: false }, own: { configured: true, source: "stored", oauth: true } },
    answers: { "model.auth": { apiKey: "k", headers: { "x-team": "t" } }, "model.storeCredential": null },
  });
  const registry = createModelRegistry();
  const [groq, own] = models;
  assert.deepEqual([groq, own].map(registry.isUsingOAuth), [false, true]);
  assert.deepEqual([groq, listedModel("other", "o")].map(registry.hasConfiguredAuth), [true, false]);
  assert.deepEqual(registry.getProviderAuthStatus("groq"), { configured: true, source: "environment", label: "GROQ_API_KEY" });
  assert.deepEqual(registry.getProviderAuthStatus("other"), { configured: false });
  const access = await registry.getApiKeyAndHeaders(groq);
  assert.deepEqual([access.ok, access.apiKey, access.headers], [true, "k", { "x-team": "t" }]);
  assert.deepEqual(asked.find(({ method }) => method === "model.auth").params, { provider: "groq", model: "g" });
  registry.authStorage.set("own", { type: "api_key", key: "new" });
  registry.authStorage.remove("own");
  const stored = asked.filter(({ method }) => method === "model.storeCredential").map(({ params }) => params.credential);
  assert.deepEqual(stored, [{ type: "api_key", key: "new" }, null]);
});

test("a provider that hands its answers to an API of bowline describes the model", async () => {
  const answer = fauxAssistantMessage("from bowline");
  const { asked } = connectBridge({
    models: [request.model],
    answers: { "model.auth": { apiKey: "k" }, "model.stream": answer },
  });
  registerStream((model, context, options) =>
    builtInApi("anthropic-messages").streamSimple({ ...model, baseUrl: "http://proxy" }, context, { ...options, apiKey: "other" }),
  );
  assert.equal(textOf((await run()).chunks, 0), "from bowline");
  const { params } = asked.find(({ method }) => method === "model.stream");
  const { provider, id, api, baseUrl } = params.model;
  assert.deepEqual({ provider, id, api, baseUrl }, { provider: "own", id: "m", api: "anthropic-messages", baseUrl: "http://proxy" });
  assert.deepEqual([params.apiKey, params.systemPrompt, params.thinkingLevel], ["other", "Be brief.", "low"]);
});

test("a project's provider uses the key of its own configuration", async () => {
  const { asked } = connectBridge({ models: [request.model], scope: "project" });
  let key;
  const message = fauxAssistantMessage("ok");
  registerStream(
    (_model, _context, options) => {
      key = options.apiKey;
      return pushing({ type: "done", reason: "stop", message })();
    },
    { apiKey: "its own" },
  );
  await run();
  assert.deepEqual([key, asked], ["its own", []]);
});
