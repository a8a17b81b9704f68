// Providers of models that extensions register: what bowline is told of them, and the calls of them.

import { bridge } from "../bridge.mjs";
import { AnswerChunks } from "./answer_chunks.mjs";
import { streamOfOwnApi } from "./api_registry.mjs";
import { listedModels } from "./engine_request.mjs";
import { isContextOverflow } from "./failures.mjs";
import { authOf, login, loginRecord, renew } from "./login.mjs";
import { modelHeaders, providerAuth } from "./provider_auth.mjs";
import {
  describedModels,
  putRegistration,
  registrationOf,
  removeRegistration,
  streamsItself,
} from "./registrations.mjs";
import { normalizeContext } from "./transcript.mjs";

/** How long an extension may take to end an answer that is not wanted any more. */
const GRACE_MS = 1000;

const MODEL_FIELDS = [
  ...["id", "name", "api", "baseUrl", "reasoning", "thinkingLevelMap", "input", "cost", "contextWindow"],
  ...["maxTokens", "headers", "compat"],
];

const defined = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Returns a model as bowline takes it. Models that do not chat are left out. */
function modelRecords(models) {
  const chats = (models ?? []).filter((model) => (model.type ?? "chat") === "chat");
  return chats.map((model) => defined(Object.fromEntries(MODEL_FIELDS.map((field) => [field, model[field]]))));
}

const textHeaders = (headers) =>
  headers && Object.fromEntries(Object.entries(headers).filter(([, value]) => typeof value === "string"));

function registrationOfNative(native) {
  return defined({
    name: native.id,
    stream: true,
    refresh: typeof native.refreshModels === "function" || undefined,
    baseUrl: native.baseUrl,
    headers: textHeaders(native.headers),
    models: modelRecords(native.getModels()),
    login: loginRecord({ native }),
  });
}

function registrationOfConfig(name, config) {
  return defined({
    name,
    stream: streamsItself(name) || undefined,
    refresh: typeof config.refreshModels === "function" || undefined,
    baseUrl: config.baseUrl,
    api: config.api,
    apiKey: config.apiKey,
    headers: textHeaders(config.headers),
    authHeader: config.authHeader,
    models: config.models && modelRecords(config.models),
    login: loginRecord({ config }),
  });
}

function checkName(name) {
  if (!name.trim()) throw new Error("Provider id must not be empty.");
}

/**
 * Notes a provider and returns its name and what bowline is told of it.
 *
 * @param nameOrProvider the name, or a whole provider with functions of its own
 * @param config what a name means; fields that a later registration leaves out stay
 */
export function providerRegistration(nameOrProvider, config) {
  bridge.invalidateModels?.();
  if (typeof nameOrProvider !== "string") {
    const native = nameOrProvider;
    checkName(native.id);
    putRegistration({ name: native.id, native });
    return { name: native.id, registration: registrationOfNative(native) };
  }
  const name = nameOrProvider;
  checkName(name);
  if (!config) throw new Error("Provider config is required when registering by name");
  if (config.streamSimple && !config.api) {
    throw new Error(`Provider ${name}: "api" is required when registering streamSimple.`);
  }
  const whole = { ...registrationOf(name)?.config, ...defined(config) };
  putRegistration({ name, config: whole });
  return { name, registration: registrationOfConfig(name, whole) };
}

/** Forgets a provider. */
export function forgetProvider(name) {
  bridge.invalidateModels?.();
  return removeRegistration(name);
}

/**
 * Carries out what a `provider` record asks for and returns its `result`.
 *
 * A failure is thrown as an error, which may have `kind` and `retryAfterMs` for the record's `error`.
 */
export async function runProvider(name, op, { request, credential, callbacks } = {}, emitChunk, signal) {
  const registration = registrationOf(name);
  if (!registration) throw new Error(`The provider ${name} is not registered any more.`);
  switch (op) {
    case "stream":
      return answer(registration, request, { emitChunk, callbacks }, signal);
    case "refresh":
      return refresh(registration, credential, signal);
    case "login":
      return login(registration, signal);
    case "refreshToken":
      return renew(registration, credential, signal);
    case "apiKey":
      return (await authOf(registration, credential)).apiKey;
    default:
      throw new Error(`The provider ${name} cannot carry out ${op}.`);
  }
}

/** Returns the stream that a provider's own functions make. */
export function streamOfProvider(registration, model, context, options, method = "streamSimple") {
  const { native, config } = registration;
  if (native) return native[method](model, context, options);
  const isOwn = typeof config.streamSimple === "function" && (model.api === undefined || model.api === config.api);
  return isOwn ? config.streamSimple(model, context, options) : streamOfOwnApi(model, context, options, method);
}

/** Returns options with the key and the headers of the provider, over which those of the caller go. */
export async function authorized(registration, model, options) {
  const found = options.apiKey ? undefined : await providerAuth(registration.name, options.signal);
  const headers = { ...found?.auth.headers, ...modelHeaders(model), ...options.headers };
  return defined({
    ...options,
    apiKey: options.apiKey ?? found?.auth.apiKey,
    env: found?.env || options.env ? { ...found?.env, ...options.env } : undefined,
    headers: Object.keys(headers).length > 0 ? headers : undefined,
  });
}

async function answer(registration, request, { emitChunk, callbacks }, signal) {
  const { name } = registration;
  const { thinkingLevel, maxTokens, sessionId, systemPrompt, messages, tools } = request;
  const described = describedModels(registration).find(({ id }) => id === request.model.id);
  const model = { ...described, ...request.model, provider: name };
  const reasoning = thinkingLevel === "off" ? undefined : thinkingLevel;
  const options = await authorized(registration, model, defined({ signal, maxTokens, reasoning, sessionId, ...callbacks }));
  const chunks = new AnswerChunks(emitChunk);
  const final = await orAborted(read(registration, model, { systemPrompt, messages, tools }, options, chunks), signal);
  if (!final) throw new Error(`The answer of the provider ${name} ended before it was complete.`);
  const { stopReason } = final;
  if (stopReason === "error" || stopReason === "aborted") throw failure(final);
  chunks.finish(final);
  return { stopReason: ["length", "toolUse"].includes(stopReason) ? stopReason : "stop" };
}

/** Reads an answer and returns its message, if it has one. */
async function read(registration, model, request, options, chunks) {
  // Newer extensions look for the prompt and the tools in the messages, older ones beside them.
  const context = { ...request, ...normalizeContext(request) };
  const stream = await streamOfProvider(registration, model, context, options);
  let latest;
  for await (const event of stream) {
    if (event.type === "done") return event.message;
    if (event.type === "error") return { stopReason: event.reason ?? "error", ...event.error };
    latest = event.partial ?? latest;
    chunks.take(event);
  }
  // A stream that was ended without its last event may still have a result.
  const result = typeof stream.result === "function" ? stream.result() : undefined;
  const nothing = new Promise((resolve) => setTimeout(resolve, 0));
  return (await Promise.race([result, nothing])) ?? (chunks.isEmpty ? undefined : latest);
}

/** Returns what a promise resolves to, unless it is not settled soon after the signal aborts. */
async function orAborted(promise, signal) {
  if (!signal) return promise;
  let onAbort;
  let timer;
  const aborted = new Promise((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(new Error("Request was aborted")), GRACE_MS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function failure(message) {
  const text = message.errorMessage || (message.stopReason === "aborted" ? "Request was aborted" : "Unknown error");
  const error = new Error(text);
  // The rest is found out from the text by bowline.
  if (isContextOverflow({ usage: {}, ...message, stopReason: "error", errorMessage: text })) error.kind = "context";
  return error;
}

/** Lists the models of a provider anew and returns them as bowline takes them. */
async function refresh(registration, credential, signal) {
  const { native, config } = registration;
  if (native ? native.refreshModels : config.refreshModels) await askForModels(registration, credential, signal);
  bridge.invalidateModels?.();
  if (native) return modelRecords(native.getModels());
  const isChanged = credential && config.oauth?.modifyModels;
  return modelRecords(isChanged ? modifiedModels(registration, credential) : (registration.listed ?? config.models));
}

/** Returns the models that a login makes of those of its provider. */
function modifiedModels(registration, credential) {
  const { name, config } = registration;
  const isOwn = registration.listed ?? config.models;
  // A provider that only changes another one has the models of that.
  if (!isOwn) registration.base ??= listedModels({ all: true }).filter(({ provider }) => provider === name);
  const models = isOwn ? describedModels(registration) : registration.base;
  return config.oauth.modifyModels(structuredClone(models), credential);
}

async function askForModels(registration, login, signal) {
  const { native, config, name } = registration;
  const found = await providerAuth(name, signal).catch(() => undefined);
  const stored = registration.stored;
  const context = {
    credential: login ?? (found?.auth.apiKey ? { type: "api_key", key: found.auth.apiKey, env: found.env } : undefined),
    stored,
    baseUrl: native?.baseUrl ?? config?.baseUrl,
    allowNetwork: true,
    force: true,
    signal: signal ?? new AbortController().signal,
    publish: async ({ persist, update }) => {
      if (persist !== undefined) registration.stored = persist ?? undefined;
      update?.();
      return true;
    },
  };
  if (native) await native.refreshModels(context);
  else registration.listed = await config.refreshModels(context);
}
