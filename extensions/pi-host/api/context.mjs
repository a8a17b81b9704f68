// `ctx`: what handlers, tools and commands get. Everything is looked up when it is used, and throws once the session was replaced.

import { messageOf } from "../host/errors.mjs";

/** How many tools were run by others, so that each call has an id of its own. */
let calls = 0;

/** Returns the context of a handler or a tool. `overrides` replaces members. */
export function createContext(host, runtime, call, overrides = {}) {
  const ext = runtime.extension.id;
  const { state, requests } = host;
  const usable = () => runtime.assertUsable();
  const getters = {
    ui: () => host.uiOf(runtime),
    mode: () => host.mode,
    hasUI: () => host.hasUI,
    cwd: () => state.cwd ?? process.cwd(),
    sessionManager: () => host.services.sessionManager(),
    modelRegistry: () => host.services.modelRegistry(),
    model: () => state.model ?? undefined,
    scopedModels: () => structuredClone(state.scopedModels ?? []),
    thinkingLevel: () => state.thinkingLevel ?? "off",
    signal: () => host.mirror.signal,
    tools: () => callableTools(host),
  };
  const methods = {
    isIdle: () => state.isIdle ?? true,
    isProjectTrusted: () => state.trusted ?? false,
    abort: () => {
      host.mirror.abortRun();
      requests.notify(ext, "agent.abort");
    },
    hasPendingMessages: () => state.hasPendingMessages ?? false,
    shutdown: () => requests.notify(ext, "agent.shutdown"),
    getContextUsage: () => state.contextUsage ?? undefined,
    compact: (options) => void compact(host, runtime, options),
    getSystemPrompt: () => host.services.systemPrompt(ext),
    executeTool: (name, args, options) => executeTool(host, ext, String(name), args, options, call),
    ...overrides,
  };
  const ctx = {};
  for (const [name, get] of Object.entries(getters)) {
    Object.defineProperty(ctx, name, {
      configurable: true,
      enumerable: true,
      get() {
        usable();
        return get();
      },
    });
  }
  for (const [name, method] of Object.entries(methods)) {
    ctx[name] = (...parameters) => {
      usable();
      return method(...parameters);
    };
  }
  return ctx;
}

/** Returns the context of `project_trust`, which is asked before there is anybody to ask or to show anything to. */
export function projectTrustContext(host, cwd) {
  const ui = { select: async () => undefined, confirm: async () => false, input: async () => undefined, notify() {} };
  return { cwd, mode: host.mode, hasUI: false, ui };
}

async function compact(host, runtime, { customInstructions, onComplete, onError } = {}) {
  const { extension } = runtime;
  // What is being answered comes first.
  await new Promise((resolve) => setImmediate(resolve));
  try {
    const result = await host.requests.request(extension.id, "agent.compact", { customInstructions });
    await onComplete?.(result);
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(messageOf(error));
    if (typeof onError === "function") await Promise.resolve(onError(failure)).catch((thrown) => extension.report("compact", thrown));
  }
}

/** How a tool can be reached that other tools may call. */
const CALLABLE = new Set(["direct", "codemode", "deferred"]);

/** Returns the tools that `executeTool` can call: those that are active, and those that are called by tools only. */
function callableTools(host) {
  const active = new Set(host.state.activeTools ?? []);
  const isCallable = ({ name, exposure }) => CALLABLE.has(exposure) && (exposure !== "direct" || active.has(name));
  return host.services.tools({ withSchemas: true }).filter(isCallable);
}

/** Runs another tool. Whatever goes wrong with it is its result. */
async function executeTool(host, ext, name, args, { signal, onUpdate } = {}, call) {
  calls += 1;
  const toolCall = { type: "toolCall", id: `${call?.toolCallId ?? "call"}/${calls}`, name, arguments: args ?? {} };
  const options = { signal: signal ?? call?.signal, onProgress: onUpdate };
  try {
    if (!callableTools(host).some((tool) => tool.name === name)) throw new Error(`Tool ${name} not found`);
    const { isError, ...result } = await host.requests.request(ext, "tool.execute", { name, args: args ?? {} }, options);
    // Old callers look for the result itself.
    return { ...result, toolCall, result, isError: isError === true };
  } catch (error) {
    const result = { content: [{ type: "text", text: messageOf(error) }], details: {} };
    return { ...result, toolCall, result, isError: true };
  }
}
