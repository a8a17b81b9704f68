// Extensions that an extension hands to an agent of its own as functions.

import { bridge } from "../../bridge.mjs";
import { execute } from "../../api/exec.mjs";
import { createModelRegistry } from "../../model/registry.mjs";
import { createEventBus, createSyntheticSourceInfo } from "../events.mjs";

const NOT_YET = "Extension runtime not initialized. Action methods cannot be called during extension loading.";
const ACTIONS = [
  ...["sendMessage", "sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "getActiveTools"],
  ...["setActiveTools", "getAllTools", "getCommands", "setModel", "getThinkingLevel", "setThinkingLevel"],
];

/** Returns what the extensions of an agent share. Actions work once an agent has them. */
export function createExtensionRuntime() {
  const notYet = () => {
    throw new Error(NOT_YET);
  };
  return {
    ...Object.fromEntries(ACTIONS.map((name) => [name, notYet])),
    flagValues: new Map(),
    pendingProviderRegistrations: [],
    pendingNativeProviderRegistrations: [],
    refreshTools() {},
    assertActive() {},
    invalidate() {},
    registerProvider: (name, config) => createModelRegistry().registerProvider(name, config),
    unregisterProvider: (name) => createModelRegistry().unregisterProvider(name),
  };
}

function createExtension(path) {
  const maps = ["handlers", "tools", "commands", "flags", "shortcuts", "messageRenderers", "entryRenderers"];
  const sourceInfo = createSyntheticSourceInfo(path, { source: "inline" });
  return { path, resolvedPath: path, sourceInfo, ...Object.fromEntries(maps.map((name) => [name, new Map()])) };
}

/** Returns `pi` for an extension. */
function createApi(extension, runtime, cwd, events) {
  const acting = ACTIONS.map((name) => [name, (...parameters) => runtime[name](...parameters)]);
  return {
    ...Object.fromEntries(acting),
    on(event, handler) {
      const handlers = extension.handlers.get(event) ?? [];
      extension.handlers.set(event, [...handlers, handler]);
      return () => extension.handlers.set(event, (extension.handlers.get(event) ?? []).filter((other) => other !== handler));
    },
    registerTool(definition) {
      extension.tools.set(definition.name, { definition, sourceInfo: extension.sourceInfo });
      runtime.refreshTools();
    },
    registerCommand: (name, options) => void extension.commands.set(name, { name, ...options }),
    registerFlag: (name, options) => void extension.flags.set(name, { name, ...options }),
    getFlag: (name) => runtime.flagValues.get(name) ?? extension.flags.get(name)?.default,
    registerShortcut: (key, options) => void extension.shortcuts.set(key, options),
    registerMessageRenderer: (type, renderer) => void extension.messageRenderers.set(type, renderer),
    registerEntryRenderer: (type, renderer) => void extension.entryRenderers.set(type, renderer),
    registerMarkdownTransformer() {},
    registerProvider: (name, config) => runtime.registerProvider(name, config),
    unregisterProvider: (name) => runtime.unregisterProvider(name),
    exec: (command, parameters, options) => execute(command, parameters, options?.cwd ?? cwd, options),
    events,
  };
}

/** Calls the functions. Returns the extensions that they made, and what failed. */
export async function loadInlineExtensions(factories, cwd, events = createEventBus()) {
  const runtime = createExtensionRuntime();
  const result = { extensions: [], errors: [], runtime };
  for (const [index, given] of factories.entries()) {
    const factory = typeof given === "function" ? given : given.factory;
    const extension = createExtension(`<inline:${typeof given === "function" ? index + 1 : given.name}>`);
    try {
      await factory(createApi(extension, runtime, cwd, events));
      result.extensions.push(extension);
    } catch (error) {
      result.errors.push({ path: extension.path, error: error?.message ?? String(error) });
    }
  }
  return result;
}

/** Calls the handlers of an agent's extensions. */
export class ExtensionRunner {
  #extensions;
  #context;
  #onError = ({ extensionPath, event, error }) => bridge.log?.("error", `${extensionPath} failed in ${event}: ${error}`);

  /** `context` returns `ctx`. */
  constructor(extensions, context) {
    this.#extensions = extensions;
    this.#context = context;
  }

  /** Says who is told of errors. */
  reportTo(onError) {
    if (onError) this.#onError = onError;
  }

  hasHandlers(event) {
    return this.#extensions.some(({ handlers }) => handlers.get(event)?.length > 0);
  }

  /** Calls the handlers of an event one after the other. `use` gets each result, and may return true to end this. */
  async emit(event, use = () => false, signal = undefined) {
    for (const { path, handlers } of this.#extensions) {
      for (const handler of handlers.get(event.type) ?? []) {
        try {
          const result = await handler(event, this.#context(signal));
          if (result !== undefined && use(result)) return;
        } catch (error) {
          // A tool whose check fails does not run.
          if (event.type === "tool_call") throw error;
          this.#onError({ extensionPath: path, event: event.type, error: error?.message ?? String(error) });
        }
      }
    }
  }
}

const TOLD = new Set(["agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update"]);
const isTold = (type) => TOLD.has(type) || type.startsWith("tool_execution_");

/** Connects the agent to the handlers of its extensions. */
export function connectHooks(agent, runner) {
  let turnIndex = 0;
  agent.subscribe(async (event) => {
    if (event.type === "agent_start") turnIndex = 0;
    if (event.type === "message_end") {
      const replace = ({ message }) => message?.role === event.message.role && void Object.assign(event.message, message);
      await runner.emit({ ...event }, replace);
    } else if (isTold(event.type)) {
      const isTurn = event.type === "turn_start" || event.type === "turn_end";
      await runner.emit(isTurn ? { ...event, turnIndex, timestamp: Date.now() } : { ...event });
    }
    if (event.type === "turn_end") turnIndex += 1;
  });
  agent.transformContext = async (messages, signal) => {
    if (!runner.hasHandlers("context")) return messages;
    const system = messages.filter(({ role }) => role === "system");
    const event = { type: "context", messages: structuredClone(messages.filter(({ role }) => role !== "system")) };
    await runner.emit(event, (result) => void (event.messages = result.messages ?? event.messages), signal);
    return [...system, ...event.messages];
  };
  agent.beforeToolCall = async ({ toolCall, args }, signal) => {
    let blocked;
    const event = { type: "tool_call", toolName: toolCall.name, toolCallId: toolCall.id, input: args };
    await runner.emit(event, (result) => (blocked = result.block ? result : undefined) !== undefined, signal);
    return blocked;
  };
  agent.afterToolCall = async ({ toolCall, args, result, isError }, signal) => {
    const changes = {};
    const { content, details, structuredContent, usage } = result;
    const about = { toolName: toolCall.name, toolCallId: toolCall.id, input: args };
    const event = { type: "tool_result", ...about, content, details, structuredContent, usage, isError };
    await runner.emit(event, (changed) => void Object.assign(changes, changed) || void Object.assign(event, changed), signal);
    return changes;
  };
}
