// Providers as objects, and collections of them, as extensions build them for themselves.

import { defaultProviderAuthContext, InMemoryCredentialStore, InMemoryModelsStore, ModelsError } from "./credentials.mjs";
import { lazyStream } from "./event_stream.mjs";
import { operationSignal } from "./signals.mjs";
import { normalizeContext } from "./transcript.mjs";

/** Returns a provider made of its parts. */
export function createProvider({ id, name, baseUrl, headers, auth, models, fetchModels, filterModels, api }) {
  let fetched = [];
  const single = typeof api.stream === "function" ? api : undefined;
  const apiOf = (model) => single ?? api[model.api];
  const call = (method) => (model, context, options) => {
    const functions = apiOf(model);
    if (functions?.[method]) return functions[method](model, context, options);
    return lazyStream(model, () => {
      throw new ModelsError("stream", `Provider ${id} has no API implementation for "${model.api}"`);
    });
  };
  const getModels = () => {
    const byId = new Map(models.map((model) => [model.id, model]));
    for (const model of fetched) byId.set(model.id, model);
    return [...byId.values()];
  };
  async function refreshModels(context) {
    const update = (list) => () => {
      fetched = list;
    };
    const stored = context.stored?.models.filter((model) => model.provider === id);
    if (stored && !(await context.publish({ update: update(stored) }))) return;
    if (!context.allowNetwork || context.signal.aborted) return;
    const list = await fetchModels(context);
    if (context.signal.aborted) return;
    await context.publish({ persist: { models: list, checkedAt: Date.now() }, update: update(list) });
  }
  const provider = {
    id,
    name: name ?? id,
    baseUrl,
    headers,
    auth,
    getModels,
    refreshModels: fetchModels && refreshModels,
    filterModels,
    stream: call("stream"),
    streamSimple: call("streamSimple"),
  };
  const all = single ? [single] : Object.values(api).filter(Boolean);
  for (const method of ["fetchDeferred", "cancelDeferred"]) {
    if (all.some((functions) => functions[method])) provider[method] = call(method);
  }
  return provider;
}

function mergeHeaders(base, over) {
  const names = new Set(Object.keys(over ?? {}).map((name) => name.toLowerCase()));
  const kept = Object.entries(base ?? {}).filter(([name]) => !names.has(name.toLowerCase()));
  const merged = { ...Object.fromEntries(kept), ...over };
  return Object.keys(merged).length > 0 ? merged : undefined;
}

/** A collection of providers. */
class Models {
  #providers = new Map();
  #credentials;
  #store;
  #context;

  constructor({ credentials, modelsStore, authContext } = {}) {
    this.#credentials = credentials ?? new InMemoryCredentialStore();
    this.#store = modelsStore ?? new InMemoryModelsStore();
    this.#context = authContext ?? defaultProviderAuthContext();
  }

  setProvider(provider) {
    this.#providers.set(provider.id, provider);
  }

  deleteProvider(id) {
    this.#providers.delete(id);
  }

  clearProviders() {
    this.#providers.clear();
  }

  getProviders() {
    return [...this.#providers.values()];
  }

  getProvider(id) {
    return this.#providers.get(id);
  }

  getModels(provider) {
    const providers = provider === undefined ? this.getProviders() : [this.#providers.get(provider)];
    return providers.flatMap((entry) => {
      try {
        return entry ? [...entry.getModels()] : [];
      } catch {
        return [];
      }
    });
  }

  getModel(provider, id) {
    return this.getModels(provider).find((model) => model.id === id);
  }

  getAllModels(provider) {
    return this.getModels(provider);
  }

  async refresh({ allowNetwork = true, providers, force, signal } = {}) {
    const errors = new Map();
    const stop = operationSignal(signal);
    const chosen = this.getProviders().filter(({ id, refreshModels }) => refreshModels && (providers?.includes(id) ?? true));
    const refreshOne = async (provider) => {
      try {
        const found = await this.getAuth(provider.id, { signal: stop });
        const credential = found && { type: "api_key", key: found.auth.apiKey, env: found.env };
        const publish = async ({ persist, update }) => {
          if (stop.aborted) return false;
          if (persist === null) await this.#store.delete(provider.id);
          else if (persist !== undefined) await this.#store.write(provider.id, persist);
          update?.();
          return true;
        };
        const stored = await this.#store.read(provider.id);
        const canFetch = allowNetwork && found !== undefined;
        await provider.refreshModels({ credential, stored, publish, allowNetwork: canFetch, force, signal: stop });
      } catch (error) {
        if (!stop.aborted) errors.set(provider.id, error instanceof Error ? error : new Error(String(error)));
      }
    };
    if (!stop.aborted) await Promise.all(chosen.map(refreshOne));
    return { aborted: stop.aborted, errors };
  }

  async checkAuth(id, options) {
    const stored = await this.#credentials.read(id, options);
    const found = await this.getAuth(id, options);
    return found && { source: found.source, type: stored?.type ?? "api_key" };
  }

  async getAvailable(id, options) {
    const providers = id === undefined ? this.getProviders() : [this.#providers.get(id)].filter(Boolean);
    const lists = providers.map(async (provider) => {
      if (!(await this.checkAuth(provider.id, options))) return [];
      const models = provider.getModels();
      return provider.filterModels?.(models, await this.#credentials.read(provider.id)) ?? models;
    });
    return (await Promise.all(lists)).flat();
  }

  async getAuth(providerOrModel, overrides = {}) {
    const model = typeof providerOrModel === "string" ? undefined : providerOrModel;
    const provider = this.#providers.get(model?.provider ?? providerOrModel);
    if (!provider) return undefined;
    const found = await this.#resolve(provider, overrides);
    if (!found || !model?.headers) return found;
    return { ...found, auth: { ...found.auth, headers: mergeHeaders(found.auth.headers, model.headers) } };
  }

  async #resolve({ id, auth }, { apiKey, env, signal }) {
    const stop = operationSignal(signal);
    const ctx = env ? { ...this.#context, env: async (name) => env[name] || this.#context.env(name) } : this.#context;
    const stored = apiKey === undefined ? await this.#credentials.read(id) : { type: "api_key", key: apiKey, env };
    if (stored?.type === "oauth") {
      if (!auth.oauth) return undefined;
      const isOver = stored.expires <= Date.now() + 5 * 60 * 1000;
      const fresh = isOver ? await this.#credentials.modify(id, (current) => auth.oauth.refresh(current, stop)) : stored;
      return { auth: await auth.oauth.toAuth(fresh), source: "OAuth" };
    }
    return auth.apiKey?.resolve({ ctx, credential: stored, signal: stop });
  }

  async login(id, type, interaction) {
    const provider = this.#required(id);
    const method = type === "oauth" ? provider.auth.oauth : provider.auth.apiKey;
    if (!method?.login) throw new ModelsError("auth", `${provider.name} does not support ${type} login`);
    const credential = await method.login({ ...interaction, signal: operationSignal(interaction.signal) });
    await this.#credentials.modify(id, async () => credential);
    return credential;
  }

  logout(id, options) {
    return this.#credentials.delete(id, options);
  }

  #required(id) {
    const provider = this.#providers.get(id);
    if (!provider) throw new ModelsError("provider", `Unknown provider: ${id}`);
    return provider;
  }

  #call(method, model, context, { transformHeaders, ...options } = {}) {
    return lazyStream(model, async () => {
      const provider = this.#required(model.provider);
      const found = await this.getAuth(model, options);
      if (!found) throw new ModelsError("auth", `Provider is not configured: ${model.provider}`);
      const { auth } = found;
      let headers = mergeHeaders(auth.headers, options.headers);
      if (transformHeaders) headers = await transformHeaders(headers ?? {});
      const env = found.env || options.env ? { ...found.env, ...options.env } : undefined;
      const target = auth.baseUrl ? { ...model, baseUrl: auth.baseUrl } : model;
      const whole = { ...options, apiKey: options.apiKey ?? auth.apiKey, headers, env };
      return provider[method](target, normalizeContext(context), whole);
    });
  }

  stream(model, context, options) {
    return this.#call("stream", model, context, options);
  }

  streamSimple(model, context, options) {
    return this.#call("streamSimple", model, context, options);
  }

  complete(model, context, options) {
    return this.stream(model, context, options).result();
  }

  completeSimple(model, context, options) {
    return this.streamSimple(model, context, options).result();
  }
}

/** Returns an empty collection of providers. */
export function createModels(options) {
  return new Models(options);
}
