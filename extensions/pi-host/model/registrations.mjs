// The providers that extensions have registered, with what of them stays in this process: functions and whole models.

/** By name: `{name, config}` of a configuration, or `{name, native}` of a provider object. */
const registered = new Map();

// bowline talks to servers of these APIs itself.
export const BUILT_IN_APIS = [
  ...["anthropic-messages", "openai-completions", "openai-responses", "openai-codex-responses"],
  ...["azure-openai-responses", "google-generative-ai", "google-vertex", "mistral-conversations"],
  ...["bedrock-converse-stream", "pi-messages"],
];

/** Returns a provider that an extension has registered. */
export function registrationOf(name) {
  return registered.get(name);
}

/** Returns all providers that extensions have registered. */
export function registrations() {
  return [...registered.values()];
}

/** Notes a provider in place of the one of its name. */
export function putRegistration(registration) {
  registered.set(registration.name, registration);
}

/** Forgets a provider. Returns whether there was one. */
export function removeRegistration(name) {
  return registered.delete(name);
}

/** Returns the APIs that a configuration names. */
function apisOf({ api, models = [] }) {
  return [api, ...models.map((model) => model.api)].filter((name) => name !== undefined);
}

/** Tells whether an extension writes the answers of a provider, so that bowline cannot talk to its server. */
export function streamsItself(name) {
  const registration = registered.get(name);
  if (!registration) return false;
  if (registration.native) return true;
  const { config } = registration;
  return typeof config.streamSimple === "function" || apisOf(config).some((api) => !BUILT_IN_APIS.includes(api));
}

/** Returns the models of a provider as its extension describes them, whole. */
export function describedModels({ name, native, config, listed }) {
  if (native) {
    try {
      return [...native.getModels()];
    } catch {
      return [];
    }
  }
  return (listed ?? config.models ?? []).map((model) => ({
    ...model,
    provider: name,
    api: model.api ?? config.api,
    baseUrl: model.baseUrl ?? config.baseUrl ?? "",
    name: model.name ?? model.id,
    reasoning: model.reasoning ?? false,
    input: model.input ?? ["text"],
    cost: model.cost ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: model.contextWindow ?? 128_000,
    maxTokens: model.maxTokens ?? 16_384,
  }));
}
