// A provider whose answers are given beforehand, for tests of extensions.

import { randomUUID } from "node:crypto";
import { registerApiProvider, unregisterApiProviders } from "./api_registry.mjs";
import { estimateContextTokens, estimateMessageTokens } from "./estimate.mjs";
import { createAssistantMessageEventStream, failStream, noUsage } from "./event_stream.mjs";
import { createProvider } from "./models_collection.mjs";

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Returns a block of text. */
export function fauxText(text) {
  return { type: "text", text };
}

/** Returns a block of thinking. */
export function fauxThinking(thinking) {
  return { type: "thinking", thinking };
}

/** Returns a tool call. */
export function fauxToolCall(name, given, { id } = {}) {
  return { type: "toolCall", id: id ?? `tool:${randomUUID()}`, name, arguments: given };
}

/** Returns an answer. */
export function fauxAssistantMessage(content, { stopReason = "stop", timestamp = Date.now(), ...others } = {}) {
  const blocks = typeof content === "string" ? [fauxText(content)] : [content].flat();
  const given = Object.entries(others).filter(([, value]) => value !== undefined);
  return {
    ...{ role: "assistant", content: blocks, api: "faux", provider: "faux", model: "faux-1", usage: noUsage() },
    ...{ stopReason, ...Object.fromEntries(given), timestamp },
  };
}

function pieces(text, { min = 3, max = 5 } = {}) {
  const parts = [];
  for (let start = 0; start < text.length; ) {
    const tokens = min + Math.floor(Math.random() * (Math.max(min, max) - min + 1));
    parts.push(text.slice(start, start + 4 * Math.max(1, tokens)));
    start += 4 * Math.max(1, tokens);
  }
  return parts.length > 0 ? parts : [""];
}

const pause = (text, perSecond) =>
  perSecond > 0 ? new Promise((resolve) => setTimeout(resolve, (text.length / 4 / perSecond) * 1000)) : undefined;

const BLOCKS = {
  text: (block) => ({ name: "text", text: block.text, empty: { type: "text", text: "" } }),
  thinking: (block) => ({ name: "thinking", text: block.thinking, empty: { type: "thinking", thinking: "" } }),
  toolCall: (block) => ({ name: "toolcall", text: JSON.stringify(block.arguments), empty: { ...block, arguments: {} } }),
};

/** Plays an answer as events. */
async function play(stream, message, { tokenSize, tokensPerSecond }, signal) {
  const partial = { ...message, content: [], stopReason: "pending" };
  const push = (type, fields) => stream.push({ type, ...fields, partial: { ...partial } });
  const isAborted = () => {
    if (signal?.aborted) failStream(stream, partial, "Request was aborted", "aborted");
    return Boolean(signal?.aborted);
  };
  if (isAborted()) return;
  push("start");
  for (const [contentIndex, block] of message.content.entries()) {
    const { name, text, empty } = BLOCKS[block.type](block);
    partial.content = [...partial.content, empty];
    push(`${name}_start`, { contentIndex });
    for (const delta of pieces(text, tokenSize)) {
      await pause(delta, tokensPerSecond);
      if (isAborted()) return;
      if (name !== "toolcall") empty[name] += delta;
      push(`${name}_delta`, { contentIndex, delta });
    }
    if (name === "toolcall") empty.arguments = block.arguments;
    push(`${name}_end`, { contentIndex, ...(name === "toolcall" ? { toolCall: block } : { content: text }) });
  }
  const { stopReason } = message;
  if (stopReason === "error" || stopReason === "aborted") {
    stream.push({ type: "error", reason: stopReason, error: message });
  } else {
    stream.push({ type: "done", reason: stopReason, message });
  }
  stream.end(message);
}

/** Returns the functions and models of such a provider. */
export function createFauxCore(options = {}) {
  const api = options.api ?? `faux:${randomUUID()}`;
  const provider = options.provider ?? "faux";
  const definitions = options.models?.length > 0 ? options.models : [{ id: "faux-1", name: "Faux Model" }];
  const models = definitions.map((definition) => ({
    ...{ name: definition.id, baseUrl: "http://localhost:0", reasoning: false, input: ["text", "image"] },
    ...{ cost: { ...NO_COST }, contextWindow: 128_000, maxTokens: 16_384, ...definition, api, provider },
  }));
  const state = { callCount: 0, deferredFetchCount: 0, cancelledDeferred: [] };
  let responses = [];

  async function respond(stream, step, model, context, given) {
    try {
      await given?.onResponse?.({ status: 200, headers: {} }, model);
      if (!step) throw new Error("No more faux responses queued");
      const answer = structuredClone(typeof step === "function" ? await step(context, given, state, model) : step);
      const input = estimateContextTokens({ messages: context.messages ?? [] }).tokens;
      const output = estimateMessageTokens(answer);
      const usage = { ...noUsage(), input, output, totalTokens: input + output };
      await play(stream, { ...answer, api, provider, model: model.id, usage }, options, given?.signal);
    } catch (error) {
      failStream(stream, { ...fauxAssistantMessage([]), api, provider, model: model.id }, error);
    }
  }

  function stream(model, context, given) {
    const target = createAssistantMessageEventStream();
    state.callCount += 1;
    const step = responses.shift();
    queueMicrotask(() => respond(target, step, model, context, given));
    return target;
  }

  return {
    api,
    provider,
    models,
    stream,
    streamSimple: stream,
    state,
    getModel: (id) => (id === undefined ? models[0] : models.find((model) => model.id === id)),
    setResponses: (steps) => {
      responses = [...steps];
    },
    appendResponses: (steps) => {
      responses.push(...steps);
    },
    getPendingResponseCount: () => responses.length,
  };
}

/** Returns such a provider as an object. */
export function fauxProvider(options) {
  const { stream, streamSimple, provider: id, ...core } = createFauxCore(options);
  const auth = { apiKey: { name: "Faux", resolve: async () => ({ auth: { apiKey: "faux" }, source: "faux" }) } };
  return { ...core, provider: createProvider({ id, auth, models: core.models, api: { stream, streamSimple } }) };
}

/** Registers such a provider for its API. */
export function registerFauxProvider(options) {
  const { stream, streamSimple, provider: _, ...core } = createFauxCore(options);
  const sourceId = `faux:${randomUUID()}`;
  registerApiProvider({ api: core.api, stream, streamSimple }, sourceId);
  return { ...core, unregister: () => unregisterApiProviders(sourceId) };
}
