// `pi`: what the factory of an extension gets.

import { toJson } from "../records.mjs";
import { runAs } from "../host/current.mjs";
import { SERVERS_CHANGE, mcpServerApi } from "./mcp_servers.mjs";
import { customMessage, userMessage } from "./command_context.mjs";
import { execute } from "./exec.mjs";
import { virtualModelApi } from "./virtual_models.mjs";

/** Returns the API of an instance of an extension. */
export function createApi(host, runtime) {
  const usable = () => runtime.assertUsable();
  const active = () => runtime.assertActive();
  const api = {
    ...registering(host, runtime),
    ...acting(host, runtime),
    ...accepting(runtime),
    ...mcpServerApi(host, runtime),
    ...virtualModelApi(host, runtime),
    exec: (command, parameters, options) => {
      usable();
      return execute(command, parameters, options?.cwd ?? host.state.cwd, options);
    },
    events: {
      on: (channel, handler) => {
        usable();
        return runtime.track(runAs(runtime, undefined, () => host.bus.on(channel, handler)));
      },
      emit: (channel, data) => {
        usable();
        host.bus.emit(channel, data);
      },
    },
    getSettings: () => {
      active();
      return host.requests.requestSync(runtime.extension.id, "settings.get");
    },
  };
  return api;
}

/** What works while the factory runs, and later. */
function registering(host, runtime) {
  const { extension } = runtime;
  const usable = () => runtime.assertUsable();
  const changed = () => {
    if (!runtime.isStale && extension.runtime === runtime) extension.announce();
  };
  return {
    on(event, handler) {
      usable();
      if (typeof handler !== "function") throw new TypeError(`The handler of ${String(event)} is not a function`);
      const remove = runtime.on(String(event), handler);
      const announce = event === SERVERS_CHANGE ? () => host.announceAll() : changed;
      announce();
      return () => {
        remove();
        announce();
      };
    },
    registerTool(tool) {
      usable();
      const { name, parameters } = tool;
      if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters)) {
        throw new Error(`Tool "${name}" registered by extension "${extension.path}" must define an object parameter schema.`);
      }
      runtime.tools.set(name, tool);
      changed();
      if (!runtime.isLoading) host.services.expectTool(extension, tool);
    },
    registerCommand(name, options) {
      usable();
      runtime.commands.set(String(name), { ...options });
      changed();
    },
    registerFlag(name, options) {
      usable();
      const { type, default: fallback } = options;
      if (fallback !== undefined && typeof fallback !== type) {
        throw new Error(`Invalid default for flag "${name}": expected ${type}, got ${typeof fallback}`);
      }
      runtime.flags.set(name, { ...options });
      changed();
    },
    getFlag(name) {
      usable();
      const flag = runtime.flags.get(name);
      if (!flag) return undefined;
      return (runtime.isLoading ? undefined : host.mirror.flag(extension.id, name)) ?? flag.default;
    },
    registerProvider(nameOrProvider, config) {
      usable();
      if (typeof nameOrProvider === "string" && !config) {
        throw new Error("Provider config is required when registering by name");
      }
      const { name, registration } = host.services.providers().providerRegistration(nameOrProvider, config);
      runtime.providers.set(name, JSON.parse(toJson({ ...registration, name })));
      changed();
      host.services.invalidateModels();
    },
    unregisterProvider(name) {
      usable();
      if (!runtime.providers.delete(name)) return;
      host.services.providers().forgetProvider(name);
      changed();
      host.services.invalidateModels();
    },
  };
}

/** What works only once the session is there. What is set is seen at once by what is got. */
function acting(host, runtime) {
  const { id } = runtime.extension;
  const { state, mirror } = host;
  const notify = (method, params) => {
    runtime.assertActive();
    host.requests.notify(id, method, params);
  };
  const looking = (look) => () => {
    runtime.assertActive();
    return look();
  };
  return {
    sendMessage: (message, options) => {
      runtime.assertActive();
      host.entries.markStale();
      notify("session.sendMessage", customMessage(message, options));
    },
    sendUserMessage: (content, options) => {
      runtime.assertActive();
      notify("session.sendUserMessage", userMessage(content, options));
    },
    appendEntry: (customType, data) => {
      notify("session.appendEntry", { customType: String(customType), data });
      host.entries.markStale();
    },
    setSessionName: (name) => {
      notify("session.setName", { name: String(name) });
      mirror.expect({ sessionName: String(name).trim() || null });
      host.entries.markStale();
    },
    getSessionName: looking(() => state.sessionName ?? undefined),
    setLabel: (entryId, label) => {
      notify("session.setLabel", { entryId, label });
      host.entries.markStale();
    },
    getActiveTools: looking(() => [...(state.activeTools ?? [])]),
    setActiveTools: (names) => {
      const exposures = new Map(host.services.tools().map(({ name, exposure }) => [name, exposure]));
      const wanted = [...new Set(names.map(String))].filter((name) => exposures.get(name) !== "hidden");
      notify("tools.setActive", { names: wanted });
      mirror.expect({ activeTools: wanted.filter((name) => exposures.has(name)) });
    },
    getAllTools: looking(() => host.services.tools()),
    getCommands: looking(() => host.services.commands()),
    setModel: async (model) => {
      runtime.assertActive();
      const { provider, id: modelId } = model;
      const found = host.services.models().find((known) => known.provider === provider && known.id === modelId);
      if (!found) return false;
      notify("model.set", { provider, modelId });
      mirror.expect({ model: found });
      return true;
    },
    getThinkingLevel: looking(() => state.thinkingLevel ?? "off"),
    setThinkingLevel: (level) => {
      notify("thinking.set", { level });
      mirror.expect({ thinkingLevel: host.services.clampThinkingLevel(level) });
    },
  };
}

/** What has no effect without a terminal. */
function accepting(runtime) {
  const accept = () => runtime.assertUsable();
  return {
    registerShortcut: accept,
    registerMessageRenderer: accept,
    registerEntryRenderer: accept,
    registerMarkdownTransformer: accept,
    registerToolRenderer: accept,
  };
}
