// The key and the headers for the requests of a provider.

import { bridge } from "../bridge.mjs";
import { resolveHeaders, resolveValue } from "./config_values.mjs";
import { HELD_KEY } from "./engine_request.mjs";
import { findEnvKeys, getEnvApiKey } from "./environment_keys.mjs";
import { authOf } from "./login.mjs";
import { registrationOf, streamsItself } from "./registrations.mjs";

const context = {
  env: async (name) => process.env[name] || undefined,
  fileExists: async (path) => (await import("node:fs")).existsSync(path),
};

const isOfProject = () => bridge.currentExtension?.()?.sourceInfo?.scope === "project";

/** Tells whether bowline has what it needs to use a provider. */
export function isUsable(provider) {
  return authStatus(provider).configured;
}

/** Returns whether there is a key or a login for a provider, and where it is. */
export function authStatus(provider) {
  try {
    return bridge.authStatus(provider);
  } catch (error) {
    bridge.log?.("warning", `Whether there is a key for ${provider} is not known: ${error.message}`);
    return { configured: false, oauth: false };
  }
}

/** Asks bowline for the key of a provider, and for its headers with those of a model. A login is renewed if it has expired. */
async function askEngine(provider, model) {
  // Extensions of a project get no keys. Their model calls go through bowline, which puts the key in.
  if (isOfProject()) return isUsable(provider) ? { apiKey: HELD_KEY } : {};
  return (await bridge.request("model.auth", { provider, model })) ?? {};
}

/** Asks for the key of a provider that an extension has registered. It is of no use to its server if bowline holds it. */
async function askForOwn(name) {
  const answer = await askEngine(name);
  return answer.apiKey === HELD_KEY && streamsItself(name) ? {} : answer;
}

/** Throws why a key or a login that is there cannot be used. */
function throwUnlessMissing(name, { error }) {
  if (error && authStatus(name).configured) throw error;
}

async function ofNative(native, signal) {
  const resolve = native.auth?.apiKey?.resolve;
  const answer = await askForOwn(native.id).catch((error) => ({ error }));
  throwUnlessMissing(native.id, answer);
  const stored = answer.credential;
  if (stored?.type === "oauth" && native.auth?.oauth) {
    return { auth: await authOf({ native }, stored), source: "OAuth" };
  }
  const credential = answer.apiKey ? { type: "api_key", key: answer.apiKey } : undefined;
  const input = { ctx: context, credential, signal: signal ?? new AbortController().signal };
  if (resolve) return resolve.call(native.auth.apiKey, input);
  return credential ? { auth: { apiKey: answer.apiKey } } : undefined;
}

async function ofConfig(name, config) {
  const answer = await askForOwn(name).catch((error) => ({ error }));
  if (answer.credential?.type === "oauth" && config.oauth) {
    return { auth: await authOf({ name, config }, answer.credential), source: "OAuth" };
  }
  const apiKey = answer.apiKey ?? resolveValue(config.apiKey) ?? getEnvApiKey(name);
  if (apiKey) return { auth: { apiKey }, source: answer.apiKey ? "stored credential" : "configured API key" };
  throwUnlessMissing(name, answer);
  return undefined;
}

/** Returns key and headers of a provider as `{auth, source}`, or `undefined` if there is no key. */
export async function providerAuth(provider, signal, model) {
  const registration = registrationOf(provider);
  if (registration?.native) return ofNative(registration.native, signal);
  const { config } = registration ?? {};
  const found = config ? await ofConfig(provider, config) : await ofEngine(provider, model);
  if (!found) return undefined;
  const headers = { ...found.auth.headers, ...resolveHeaders(config?.headers) };
  if (config?.authHeader) headers.Authorization = `Bearer ${found.auth.apiKey}`;
  return Object.keys(headers).length > 0 ? { ...found, auth: { ...found.auth, headers } } : found;
}

async function ofEngine(provider, model) {
  const { apiKey, headers } = await askEngine(provider, model);
  if (!apiKey && !headers) return undefined;
  const auth = { apiKey, ...(headers ? { headers } : {}) };
  return { auth, source: findEnvKeys(provider)?.[0] ?? "stored credential" };
}

/** Returns the headers of a model's own definition. */
export function modelHeaders(model) {
  const { config } = registrationOf(model.provider) ?? {};
  const defined = config?.models?.find(({ id }) => id === model.id)?.headers;
  return { ...model.headers, ...resolveHeaders(defined) };
}
