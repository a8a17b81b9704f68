// What extensions and shims ask the host for that is made on demand: models, tools, commands, the system prompt.

import { createRequire } from "node:module";
import { isActiveAtOnce } from "./registration.mjs";

/** How long the list of models is trusted, in milliseconds. */
const MODELS_FRESH_MS = 5000;

// Modules that are large and not always needed are loaded when they are.
const load = createRequire(import.meta.url);

/** The services of the host. */
export class Services {
  #host;
  /** Lists of models with the time at which each was made, by whether those without a key are in it. */
  #models = new Map();
  /** Whether there are keys, by provider, with the times at which that was found out. */
  #authStatuses = new Map();
  #commands;
  #registry;
  #manager;

  constructor(host) {
    this.#host = host;
  }

  /** Returns the module that serves providers. */
  providers() {
    return load("../model/provider.mjs");
  }

  modelRegistry() {
    this.#registry ??= load("../model/registry.mjs").createModelRegistry();
    return this.#registry;
  }

  sessionManager() {
    this.#manager ??= load("../session_manager.mjs").readOnlySessionManager();
    return this.#manager;
  }

  /** Returns the models that can be used, or all that are known. */
  models({ all = false } = {}) {
    const known = this.#models.get(all);
    if (known && Date.now() - known.at <= MODELS_FRESH_MS) return known.list;
    const list = this.#ask("model.list", all ? { all } : {});
    this.#models.set(all, { list, at: Date.now() });
    return list;
  }

  /** Returns whether there is a key or a login for a provider. */
  authStatus(provider) {
    const known = this.#authStatuses.get(provider);
    if (known && Date.now() - known.at <= MODELS_FRESH_MS) return known.status;
    const status = this.#ask("model.authStatus", { provider });
    this.#authStatuses.set(provider, { status, at: Date.now() });
    return status;
  }

  invalidateModels() {
    this.#models.clear();
    this.#authStatuses.clear();
  }

  #ask(method, params) {
    return this.#host.requests.requestSync(this.#host.attributed(), method, params);
  }

  /** Returns the level that the model in use has in place of one that it does not have. */
  clampThinkingLevel(level) {
    const { model } = this.#host.state;
    return model && !model.reasoning ? "off" : level;
  }

  /** Returns all tools as pi describes them; to those who call them with what they declare of results and arguments. */
  tools({ withSchemas = false } = {}) {
    return (this.#host.state.allTools ?? []).map((tool) => {
      // bowline names extensions by their paths.
      const extension = this.#host.extensions().find(({ path }) => path === tool.extension);
      const definition = extension?.runtime.tools.get(tool.name);
      return {
        name: tool.name,
        description: tool.description,
        parameters: definition?.parameters ?? tool.parameters,
        promptGuidelines: definition?.promptGuidelines ?? tool.promptGuidelines,
        exposure: definition?.exposure ?? "direct",
        ...ofDefinition(definition, withSchemas ? [...DESCRIBING, ...FOR_CALLERS] : DESCRIBING),
        sourceInfo: tool.sourceInfo ?? extension?.sourceInfo ?? builtInSource(tool),
      };
    });
  }

  /** Adds a tool that an extension has just registered, which is enabled at once. */
  expectTool(extension, tool) {
    const { name, description, parameters } = tool;
    const { state, mirror } = this.#host;
    const others = (state.allTools ?? []).filter((tool) => tool.name !== name);
    const allTools = [...others, { name, description, parameters, source: "extension", extension: extension.path }];
    const active = state.activeTools ?? [];
    const activeTools = !isActiveAtOnce(tool) || active.includes(name) ? active : [...active, name];
    mirror.expect({ allTools, activeTools });
  }

  /** Returns the commands of the session as pi describes them. */
  commands() {
    this.#commands ??= this.#ask("session.commands").filter(({ source }) => source !== "builtin");
    return structuredClone(this.#commands);
  }

  invalidateCommands() {
    this.#commands = undefined;
  }

  /** Returns the system prompt of the session, or how it would be with changes. */
  systemPrompt(ext, changes) {
    const params = changes ? { changes } : {};
    return this.#host.requests.requestSync(ext, "session.systemPrompt", params)?.systemPrompt ?? "";
  }

  /** Returns what the system prompt of the session is made of. */
  systemPromptParts(ext) {
    return this.#host.requests.requestSync(ext, "session.systemPromptOptions") ?? {};
  }
}

/** What only the extension knows of its tool: for everybody, and for those who call it. */
const DESCRIBING = ["namespace", "annotations", "reachesTools"];
const FOR_CALLERS = ["label", "outputSchema", "constrainedSampling"];

function ofDefinition(definition, fields) {
  const known = fields.filter((field) => definition?.[field] !== undefined);
  return Object.fromEntries(known.map((field) => [field, definition[field]]));
}

/** Returns where a tool comes from that no extension offers: the engine, or the client as one that embeds pi does. */
function builtInSource({ name, source, extension }) {
  const kind = source === "client" ? "sdk" : (extension ?? "builtin");
  return { path: `<${kind}:${name}>`, source: kind, scope: "temporary", origin: "top-level" };
}
