// `ctx`: what handlers, tools and commands get. Everything is looked up when it is used, and throws once the session was replaced.

import { messageOf } from "../host/errors.mjs";

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
    executeTool: (name, args, options) => executeTool(host, ext, name, args, options, call),
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

async function executeTool(host, ext, name, args, { signal } = {}, call) {
  const withdrawn = signal ?? call?.signal;
  return host.requests.request(ext, "tool.execute", { name, args: args ?? {} }, { signal: withdrawn });
}
