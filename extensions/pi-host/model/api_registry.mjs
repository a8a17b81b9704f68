// The APIs by which models are called: those that extensions register, and those of bowline.

import { streamFromEngine } from "./engine_stream.mjs";
import { lazyStream } from "./event_stream.mjs";
import { BUILT_IN_APIS } from "./registrations.mjs";
import { normalizeContext } from "./transcript.mjs";

/** By API: what an extension registered in place of it or beside it. */
const registered = new Map();

/** Returns the functions of an API that bowline carries out. */
export function builtInApi(api) {
  const stream = (model, context, options) => streamFromEngine(model, context, options, api);
  return { api, stream, streamSimple: stream };
}

function guarded(api, run) {
  return (model, context, options) => {
    if (model.api !== api) throw new Error(`Mismatched api: ${model.api} expected ${api}`);
    return run(model, context, options);
  };
}

/** Registers the functions of an API. */
export function registerApiProvider({ api, stream, streamSimple }, sourceId) {
  const provider = { api, stream: guarded(api, stream), streamSimple: guarded(api, streamSimple) };
  registered.set(api, { provider, sourceId });
}

/** Returns the functions of an API. */
export function getApiProvider(api) {
  const known = registered.get(api)?.provider;
  return known ?? (BUILT_IN_APIS.includes(api) ? builtInApi(api) : undefined);
}

/** Returns the functions of all APIs. */
export function getApiProviders() {
  const own = [...registered.values()].map(({ provider }) => provider);
  return [...own, ...BUILT_IN_APIS.filter((api) => !registered.has(api)).map(builtInApi)];
}

/** Takes back what was registered under an identifier. */
export function unregisterApiProviders(sourceId) {
  for (const [api, entry] of registered) {
    if (entry.sourceId === sourceId) registered.delete(api);
  }
}

/** Takes back all that was registered. */
export function resetApiProviders() {
  registered.clear();
}

/** Calls a model by what is registered for its API, else by bowline. */
export function streamByApi(model, context, options, method) {
  const own = registered.get(model.api)?.provider;
  return own ? own[method](model, normalizeContext(context), options) : streamFromEngine(model, context, options);
}

/** Calls a model of an API that only an extension can serve. */
export function streamOfOwnApi(model, context, options, method) {
  return lazyStream(model, () => {
    const own = getApiProvider(model.api);
    if (!own) throw new Error(`No API provider registered for api: ${model.api}`);
    return own[method](model, context, options);
  });
}
