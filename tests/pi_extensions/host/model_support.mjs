// A host without bowline: it keeps what is asked and answers as the test says.

import { bridge, connect } from "../../../extensions/pi-host/bridge.mjs";

/** Returns a model as bowline lists it. */
export function listedModel(provider, id, fields = {}) {
  return {
    ...{ id, name: id, api: "openai-completions", provider, baseUrl: "http://localhost:1/v1", reasoning: true },
    ...{ input: ["text"], cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } },
    ...{ contextWindow: 1000, maxTokens: 100, ...fields },
  };
}

/**
 * Connects the shims to it. `models` can be used, `known` are all. `answers` has, by method, what a request resolves to, or a function of the parameters and the
 * options of the request. `statuses` has what is known of the keys of providers.
 */
export function connectBridge({ models = [], known = models, answers = {}, scope = "user", statuses = {} } = {}) {
  const asked = [];
  const notified = [];
  connect({
    state: {},
    models: ({ all } = {}) => (all ? known : models),
    authStatus: (provider) => statuses[provider] ?? { configured: models.some((model) => model.provider === provider), oauth: false },
    invalidateModels() {},
    currentExtension: () => ({ id: "x", path: "/x.ts", sourceInfo: { scope } }),
    runtime: () => undefined,
    async request(method, params, options) {
      asked.push({ method, params });
      const answer = answers[method];
      if (answer === undefined) throw new Error(`${method} is not answered`);
      return typeof answer === "function" ? answer(params, options ?? {}) : answer;
    },
    requestSync(method, params) {
      asked.push({ method, params });
      return answers[method];
    },
    notify: (method, params) => notified.push({ method, params }),
    notServed(what) {
      throw new Error(`bowline does not serve ${what} to extensions.`);
    },
  });
  return { asked, notified, bridge };
}

/** Returns all events of a stream. */
export async function eventsOf(stream) {
  const events = [];
  for await (const event of stream) events.push(structuredClone(event));
  return events;
}
