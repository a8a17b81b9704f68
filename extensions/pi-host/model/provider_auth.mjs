// The key and the headers for the requests of a provider.

import { bridge } from "../bridge.mjs";
import { resolveHeaders, resolveValue } from "./config_values.mjs";
import { HELD_KEY, listedModels } from "./engine_request.mjs";
import { findEnvKeys, getEnvApiKey } from "./environment_keys.mjs";
import { registrationOf, streamsItself } from "./registrations.mjs";

/** A token that ends sooner is renewed first. */
const SOON_MS = 5 * 60 * 1000;

const context = {
  env: async (name) => process.env[name] || undefined,
  fileExists: async (path) => (await import("node:fs")).existsSync(path),
};

const isOfProject = () => bridge.currentExtension?.()?.sourceInfo?.scope === "project";

/** Tells whether bowline has what it needs to use a provider. */
export function isUsable(provider) {
  return listedModels().some((model) => model.provider === provider);
}

/** Asks bowline for the key of a provider. */
async function askEngine(provider) {
  // Extensions of a project get no keys. Their model calls go through bowline, which puts the key in.
  if (isOfProject()) return isUsable(provider) ? { apiKey: HELD_KEY } : {};
  return (await bridge.request("model.auth", { provider })) ?? {};
}

/** Asks for the key of a provider that an extension has registered. It is of no use to its server if bowline holds it. */
async function askForOwn(name) {
  const answer = await askEngine(name);
  return answer.apiKey === HELD_KEY && streamsItself(name) ? {} : answer;
}

/** Returns a stored login that is still good, renewed by its extension if it is not. */
async function renewed(provider, oauth, credential, signal) {
  if (!(credential.expires <= Date.now() + SOON_MS)) return credential;
  const fresh = await oauth.refreshToken(credential, signal ?? new AbortController().signal);
  const stored = { ...fresh, type: "oauth" };
  // A bowline that cannot store it renews it again the next time.
  await bridge.request("model.storeCredential", { provider, credential: stored }).catch(() => {});
  return stored;
}

async function ofNative(native, signal) {
  const resolve = native.auth?.apiKey?.resolve;
  const answer = await askForOwn(native.id).catch(() => ({}));
  const stored = answer.credential;
  if (stored?.type === "oauth" && native.auth?.oauth) {
    const { oauth } = native.auth;
    const refreshToken = (credential, stop) => oauth.refresh(credential, stop);
    const auth = await oauth.toAuth(await renewed(native.id, { refreshToken }, stored, signal));
    return { auth, source: "OAuth" };
  }
  const credential = answer.apiKey ? { type: "api_key", key: answer.apiKey } : undefined;
  const input = { ctx: context, credential, signal: signal ?? new AbortController().signal };
  if (resolve) return resolve.call(native.auth.apiKey, input);
  return credential ? { auth: { apiKey: answer.apiKey } } : undefined;
}

async function ofConfig(name, config, signal) {
  const answer = await askForOwn(name).catch((error) => ({ error }));
  if (answer.credential?.type === "oauth" && config.oauth) {
    const credential = await renewed(name, config.oauth, answer.credential, signal);
    return { auth: { apiKey: config.oauth.getApiKey(credential) }, source: "OAuth" };
  }
  const apiKey = answer.apiKey ?? resolveValue(config.apiKey) ?? getEnvApiKey(name);
  if (apiKey) return { auth: { apiKey }, source: answer.apiKey ? "stored credential" : "configured API key" };
  if (answer.error && config.apiKey?.startsWith("!")) throw answer.error;
  return undefined;
}

/** Returns key and headers of a provider as `{auth, source}`, or `undefined` if there is no key. */
export async function providerAuth(provider, signal) {
  const registration = registrationOf(provider);
  if (registration?.native) return ofNative(registration.native, signal);
  const { config } = registration ?? {};
  const found = config ? await ofConfig(provider, config, signal) : await ofEngine(provider);
  if (!found) return undefined;
  const headers = { ...found.auth.headers, ...resolveHeaders(config?.headers) };
  if (config?.authHeader) headers.Authorization = `Bearer ${found.auth.apiKey}`;
  return Object.keys(headers).length > 0 ? { ...found, auth: { ...found.auth, headers } } : found;
}

async function ofEngine(provider) {
  const { apiKey, headers, baseUrl } = await askEngine(provider);
  if (!apiKey && !headers) return undefined;
  const auth = { apiKey, ...(headers ? { headers } : {}), ...(baseUrl ? { baseUrl } : {}) };
  return { auth, source: findEnvKeys(provider)?.[0] ?? "stored credential" };
}

/** Returns the headers of a model's own definition. */
export function modelHeaders(model) {
  const { config } = registrationOf(model.provider) ?? {};
  const defined = config?.models?.find(({ id }) => id === model.id)?.headers;
  return { ...model.headers, ...resolveHeaders(defined) };
}
