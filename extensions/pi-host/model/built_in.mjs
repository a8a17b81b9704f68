// The models and providers that bowline has itself, by the names of pi-ai.

import { createModelRegistry, streamModel } from "./registry.mjs";

let registry;

const models = () => (registry ??= createModelRegistry());

/** Returns a model. */
export function getModel(provider, id) {
  return models().find(provider, id);
}

/** Returns the models of a provider. */
export function getModels(provider) {
  return models().getAll().filter((model) => provider === undefined || model.provider === provider);
}

/** Returns the names of the providers. */
export function getProviders() {
  return [...new Set(getModels().map(({ provider }) => provider))];
}

/** Calls a model; the answer is a stream of events. */
export function stream(model, context, options) {
  return streamModel(model, context, options, "stream");
}

/** Calls a model with options that all of them have. */
export function streamSimple(model, context, options) {
  return streamModel(model, context, options, "streamSimple");
}

/** Calls a model and returns the whole answer. */
export async function complete(model, context, options) {
  return stream(model, context, options).result();
}

/** Calls a model with options that all of them have, and returns the whole answer. */
export async function completeSimple(model, context, options) {
  return streamSimple(model, context, options).result();
}

/** Returns a provider as an object. */
export function builtInProvider(id) {
  const auth = { apiKey: { name: "API key", resolve: () => models().getProviderAuth(id) } };
  return { id, name: models().getProviderDisplayName(id), auth, getModels: () => getModels(id), stream, streamSimple };
}

/** Returns all providers as objects. */
export function builtinProviders() {
  return getProviders().map(builtInProvider);
}

/** Returns the models of a provider by their ids. They are asked for when the first one is read. */
export function catalogOf(provider) {
  const read = () => Object.fromEntries(getModels(provider).map((model) => [model.id, model]));
  return new Proxy({}, {
    get: (_, id) => read()[id],
    has: (_, id) => Object.hasOwn(read(), id),
    ownKeys: () => Reflect.ownKeys(read()),
    getOwnPropertyDescriptor: (_, id) => Object.getOwnPropertyDescriptor(read(), id),
  });
}
