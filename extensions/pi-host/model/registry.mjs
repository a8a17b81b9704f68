// `ctx.modelRegistry`: the models that bowline has and the providers that extensions register.

import { bridge } from "../bridge.mjs";
import { getApiProvider, streamByApi } from "./api_registry.mjs";
import { listedModels } from "./engine_request.mjs";
import { streamFromEngine } from "./engine_stream.mjs";
import { lazyStream } from "./event_stream.mjs";
import { getModelType } from "./model_facts.mjs";
import { authorized, forgetProvider, providerRegistration, streamOfProvider } from "./provider.mjs";
import { authStatus, isUsable, modelHeaders, providerAuth } from "./provider_auth.mjs";
import { describedModels, registrationOf, registrations, streamsItself } from "./registrations.mjs";
import { normalizeContext } from "./transcript.mjs";
import { VIRTUAL_API } from "./virtual_model.mjs";

const isSame = (model, other) => model.provider === other.provider && model.id === other.id;

/** Returns the models that bowline knows, with those that were registered and not listed yet. */
function allModels() {
  const listed = listedModels({ all: true });
  const described = [...registrations().flatMap(describedModels), ...(bridge.virtualModels?.() ?? [])];
  const others = described.filter((model) => !listed.some((known) => isSame(known, model)));
  return [...listed, ...others];
}

const providerNames = () => [...new Set(allModels().map(({ provider }) => provider))];

/** Returns what `ctx.modelRegistry` and `pi-ai` call a model with. */
export function streamModel(model, context, options = {}, method = "streamSimple") {
  const registration = registrationOf(model.provider);
  // bowline asks the router of a virtual model and calls the one that it chooses.
  if (model.api === VIRTUAL_API) return streamFromEngine(model, context, options);
  if (!registration || !streamsItself(model.provider)) return streamByApi(model, context, options, method);
  return lazyStream(model, async () => {
    const { transformHeaders, ...rest } = await authorized(registration, model, options);
    if (transformHeaders) rest.headers = await transformHeaders(rest.headers ?? {});
    return streamOfProvider(registration, model, normalizeContext(context), rest, method);
  });
}

function bridgedProvider(name) {
  const models = () => allModels().filter(({ provider }) => provider === name);
  return {
    id: name,
    name: displayName(name),
    baseUrl: models()[0]?.baseUrl,
    auth: {},
    getModels: models,
    stream: (model, context, options) => streamModel(model, context, options, "stream"),
    streamSimple: (model, context, options) => streamModel(model, context, options),
  };
}

function displayName(name) {
  const registration = registrationOf(name);
  return registration?.native?.name ?? registration?.config?.name ?? registration?.config?.oauth?.name ?? name;
}

async function keyAndHeaders(model) {
  try {
    const found = await providerAuth(model.provider, undefined, model.id);
    const headers = { ...found?.auth.headers, ...modelHeaders(model) };
    if (!found) {
      const { config } = registrationOf(model.provider) ?? {};
      const needsKey = config ? config.authHeader : !isUsable(model.provider);
      if (needsKey) return { ok: false, error: `No API key found for "${model.provider}"` };
    }
    return {
      ok: true,
      apiKey: found?.auth.apiKey,
      headers: Object.keys(headers).length > 0 ? headers : undefined,
      ...(found?.auth.baseUrl ? { baseUrl: found.auth.baseUrl } : {}),
      env: found?.env,
    };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}

async function keyOf(provider) {
  try {
    return (await providerAuth(provider))?.auth.apiKey;
  } catch {
    return undefined;
  }
}

/** Returns what pi says of the key of a provider. */
function describedStatus(provider) {
  const { configured, source, label } = authStatus(provider);
  return { configured, ...(source ? { source } : {}), ...(label ? { label } : {}) };
}

/** Stores a credential, or removes it if there is none. */
function storeCredential(provider, credential = null) {
  bridge.requestSync("model.storeCredential", { provider, credential });
  bridge.invalidateModels?.();
}

async function refresh({ allowNetwork = true, signal } = {}) {
  const errors = new Map();
  try {
    await bridge.request("model.list", { refresh: allowNetwork }, { signal });
  } catch (error) {
    if (!signal?.aborted) errors.set("bowline", error);
  }
  bridge.invalidateModels?.();
  return { aborted: Boolean(signal?.aborted), errors };
}

/** Registers a provider as `pi.registerProvider` does, so that it is taken back with the session. */
function register(...definition) {
  const api = bridge.runtime?.();
  if (typeof api?.registerProvider === "function") api.registerProvider(...definition);
  else providerRegistration(...definition);
}

function unregister(name) {
  const api = bridge.runtime?.();
  if (typeof api?.unregisterProvider === "function") api.unregisterProvider(name);
  else forgetProvider(name);
}

/** What older extensions look for beside the registry. */
const authStorage = {
  get: () => undefined,
  has: isUsable,
  hasAuth: isUsable,
  list: () => providerNames().filter(isUsable),
  getApiKey: keyOf,
  reload() {},
  set: (provider, credential) => storeCredential(provider, credential),
  remove: (provider) => storeCredential(provider),
  login: () => bridge.notServed("modelRegistry.authStorage.login()"),
  logout: (provider) => storeCredential(provider),
};

/** Returns the models of a type. bowline has only those that chat. */
function ofType(type, provider) {
  return allModels().filter((model) => getModelType(model) === type && (!provider || model.provider === provider));
}

/** Returns `ctx.modelRegistry`. */
export function createModelRegistry() {
  const find = (provider, id) => allModels().find((model) => isSame(model, { provider, id }));
  return {
    authStorage,
    refresh,
    getError: () => undefined,
    getAll: allModels,
    getAvailable: () => [...listedModels()],
    find,
    findOfType: (type, provider, id) => ofType(type, provider).find((model) => model.id === id),
    getModelOfType: (type, provider, id) => ofType(type, provider).find((model) => model.id === id),
    getModelsOfType: ofType,
    getAvailableOfType: async (type, provider) => ofType(type, provider).filter((model) => isUsable(model.provider)),
    hasConfiguredAuth: (model) => isUsable(model.provider),
    getApiKeyAndHeaders: keyAndHeaders,
    getApiKey: (model) => keyOf(model.provider),
    getApiKeyForProvider: keyOf,
    getProviderAuth: (provider) => providerAuth(provider),
    getProviderAuthStatus: describedStatus,
    getProvider: (name) => registrationOf(name)?.native ?? (providerNames().includes(name) ? bridgedProvider(name) : undefined),
    getProviderDisplayName: displayName,
    isUsingOAuth: (model) => authStatus(model.provider).oauth,
    stream: (model, context, options) => streamModel(model, context, options, "stream"),
    streamSimple: (model, context, options) => streamModel(model, context, options),
    complete: (model, context, options) => streamModel(model, context, options, "stream").result(),
    completeSimple: (model, context, options) => streamModel(model, context, options).result(),
    generateImages: () => bridge.notServed("modelRegistry.generateImages()"),
    classify: () => bridge.notServed("modelRegistry.classify()"),
    registerProvider: register,
    unregisterProvider: unregister,
    registerVirtualModel: (definition) => bridge.runtime?.()?.registerVirtualModel(definition),
    unregisterVirtualModel: (provider, id) => bridge.runtime?.()?.unregisterVirtualModel(provider, id),
    getRegisteredProviderConfig: (name) => registrationOf(name)?.config,
    getRegisteredNativeProvider: (name) => registrationOf(name)?.native,
    getRegisteredProviderIds: () => registrations().map(({ name }) => name),
    getApiProvider,
  };
}
