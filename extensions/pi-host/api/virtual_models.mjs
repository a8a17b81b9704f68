// Virtual models that extensions register: entries of the list of models whose extension chooses the model for each request.

import { invalidNameOf, virtualEntry } from "../model/virtual_model.mjs";
import { convertToLlm } from "../session/messages.mjs";

/** The entries of the session's file with what a router keeps, as in pi. */
const STATE_ENTRY = "pi.virtual-model-state";

export const nameOf = ({ provider, id }) => `${provider}/${id}`;

/** Returns the functions of `pi` that are about virtual models. */
export function virtualModelApi(host, runtime) {
  const { extension } = runtime;
  const changed = () => {
    host.services.invalidateModels();
    if (!runtime.isStale && extension.runtime === runtime) extension.announce();
  };
  return {
    registerVirtualModel(definition) {
      runtime.assertUsable();
      const problem = invalidNameOf(definition);
      if (problem) throw new Error(problem);
      if (typeof definition.route !== "function") {
        throw new TypeError(`The virtual model ${nameOf(definition)} has no function route.`);
      }
      const { provider, id } = definition;
      const known = runtime.isLoading ? undefined : host.services.modelRegistry().find(provider, id);
      if (known && known.api !== virtualEntry(definition).api) {
        throw new Error(`Virtual model ${nameOf(definition)} conflicts with a physical model.`);
      }
      runtime.virtualModels.set(nameOf(definition), definition);
      changed();
    },
    unregisterVirtualModel(provider, id) {
      runtime.assertUsable();
      if (runtime.virtualModels.delete(nameOf({ provider, id }))) changed();
    },
  };
}

/** Has an extension choose the model for a request, and returns its choice as bowline takes it. */
export async function route(host, extension, record, call) {
  const { runtime } = extension;
  const definition = runtime.virtualModels.get(record.name);
  if (!definition) throw new Error(`The extension has no virtual model ${record.name}`);
  const request = routeRequest(host, record, call.signal);
  const chosen = await definition.route(request, host.createContext(runtime, call));
  const { provider, id } = chosen?.model ?? {};
  if (typeof provider !== "string" || typeof id !== "string") {
    throw new Error(`route() of ${record.name} returned no model`);
  }
  keepState(host, extension, record, request, chosen.state);
  const { thinkingLevel } = chosen;
  return { provider, modelId: id, thinkingLevel: typeof thinkingLevel === "string" ? thinkingLevel : "off" };
}

/** Tells whether a request belongs to the session, so that its router has a state there. */
const isOfSession = ({ reason, messages }) => reason !== "direct" && messages === undefined;

/** Writes what a router keeps to the session, before the request is sent. */
function keepState(host, extension, record, request, state) {
  if (!isOfSession(record) || state === undefined || state === request.state) return;
  const { provider, id: modelId } = record.model;
  const data = JSON.parse(JSON.stringify({ provider, modelId, state }));
  host.requests.notify(extension.id, "session.appendEntry", { customType: STATE_ENTRY, data });
  host.entries.markStale();
}

/** Returns what a router is told of a request. What takes long is found out when it is looked at. */
function routeRequest(host, record, signal) {
  const { model, thinkingLevel, reason, previous, failed } = record;
  const physical = (provider, id) => {
    const found = host.services.modelRegistry().find(provider, id);
    return found && found.api !== model.api ? found : undefined;
  };
  const request = { model, thinkingLevel, reason, signal };
  lazily(request, "previous", () => {
    const found = previous && physical(previous.provider, previous.modelId);
    return found && { model: found, thinkingLevel: previous.thinkingLevel };
  });
  lazily(request, "failed", () => {
    const found = failed && physical(failed.provider, failed.model);
    return found && { model: found, thinkingLevel: failed.thinkingLevel, message: failed };
  });
  lazily(request, "state", () => (isOfSession(record) ? storedState(host, model) : undefined));
  lazily(request, "messages", () => {
    const { systemPrompt, messages } = record.messages ? record : host.requests.requestSync(host.attributed(), "session.context");
    const system = systemPrompt ? [{ role: "system", content: systemPrompt, timestamp: Date.now() }] : [];
    return [...system, ...convertToLlm(messages)];
  });
  return request;
}

function storedState(host, { provider, id }) {
  const isMeant = ({ type, customType, data }) =>
    type === "custom" && customType === STATE_ENTRY && data?.provider === provider && data.modelId === id;
  return host.services.sessionManager().getBranch().findLast(isMeant)?.data.state;
}

function lazily(object, name, compute) {
  let known;
  Object.defineProperty(object, name, {
    configurable: true,
    enumerable: true,
    get: () => (known ??= { value: compute() }).value,
  });
}
