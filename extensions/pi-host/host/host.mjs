// The host: its extensions, and what it does with each record of the engine.

import { createApi } from "../api/extension_api.mjs";
import { createCommandContext } from "../api/command_context.mjs";
import { createContext } from "../api/context.mjs";
import { EventBus } from "../api/event_bus.mjs";
import { runTool } from "../api/tools.mjs";
import { SERVERS_CHANGE } from "../api/mcp_servers.mjs";
import { createUi } from "../api/ui.mjs";
import { route } from "../api/virtual_models.mjs";
import { virtualEntry } from "../model/virtual_model.mjs";
import { currentRuntime, runAs } from "./current.mjs";
import { dispatch } from "./dispatch.mjs";
import { Entries } from "./entries.mjs";
import { messageOf, stackOf } from "./errors.mjs";
import { Extension } from "./extension.mjs";
import { loadAll, loadLimit } from "./loading.mjs";
import { Mirror } from "./mirror.mjs";
import { providerCallbacks } from "./provider_callbacks.mjs";
import { Requests } from "./requests.mjs";
import { Services } from "./services.mjs";
import { StreamedMessage } from "./streamed_message.mjs";

/** The version of the protocol. */
const PROTOCOL = 1;
const REPLACING = new Set(["new", "resume", "fork"]);
/** Records that tell of work in progress, not of what has come of it. */
const IN_PROGRESS = new Set(["chunk", "progress"]);
/** Hooks whose failure is more than that of a handler: it stops what they are asked about. */
const FAILING_CLOSED = new Set(["tool_call", "user_bash"]);

/** The host of all extensions of pi. */
export class Host {
  bus = new EventBus();
  /** What takes the keys for a component, by the id of its request. */
  customInputs = new Map();
  /** The file of a session that an extension has written and is starting. */
  preparedSession;
  mode = "rpc";
  hasUI = false;
  #records;
  #end;
  #extensions = new Map();
  #calls = new Map();
  #uis = new WeakMap();
  #resizes = new Set();
  #dialogs = 0;
  #startMs;
  #loading = Promise.resolve();
  #renewing = Promise.resolve();

  constructor({ records, loadFactory, end }) {
    this.#records = records;
    this.#end = end;
    this.loadFactory = loadFactory;
    this.requests = new Requests(records);
    this.mirror = new Mirror((patch) => this.#noteChange(patch));
    this.state = this.mirror.state;
    this.entries = new Entries(this.state, (since) =>
      this.requests.requestSync(this.attributed(), "session.entries", since === undefined ? {} : { since }),
    );
    this.services = new Services(this);
  }

  /** Takes a record of the engine. */
  take(record) {
    // Whatever happened, there may be more entries and other commands.
    if (!IN_PROGRESS.has(record.type)) {
      this.entries.markStale();
      this.services.invalidateCommands();
    }
    const handle = HANDLERS[record.type];
    // Records of later versions are ignored.
    if (handle) handle.call(this, record);
  }

  send(record) {
    if (this.#records.send(record) || record.type !== "result") return;
    const { ext, id } = record;
    this.#records.send({ type: "result", ext, id, error: { message: "the result is too large" } });
  }

  log(level, message) {
    this.send({ type: "log", ext: this.attributed(), level, message: String(message) });
  }

  /** Returns the extension in whose name a request is made. */
  attributed() {
    return (currentRuntime()?.extension ?? [...this.#extensions.values()][0])?.id;
  }

  extension(id) {
    return this.#extensions.get(id);
  }

  /** Returns all extensions, in the order in which they are loaded. */
  extensions() {
    return [...this.#extensions.values()];
  }

  /** Returns the entries of the virtual models of all extensions. */
  virtualModels() {
    return this.extensions().flatMap(({ runtime }) => [...runtime.virtualModels.values()].map(virtualEntry));
  }

  /** Tells the engine what each extension offers now. */
  announceAll() {
    for (const extension of this.#extensions.values()) extension.announce();
  }

  /** Tells whether an extension connects the MCP servers that extensions register. */
  hasServerConnector() {
    return this.extensions().some(({ runtime }) => runtime.handlersOf(SERVERS_CHANGE).length > 0);
  }

  /** Reports what nobody caught, in the name of the extension that it came from. */
  reportUncaught(error) {
    const stack = stackOf(error) ?? "";
    const named = [...this.#extensions.values()].find(({ path }) => stack.includes(path));
    const extension = currentRuntime()?.extension ?? named;
    if (extension) extension.report(undefined, error);
    else console.error("An error that belongs to no extension:", error);
  }

  createApi(runtime) {
    return (runtime.api ??= createApi(this, runtime));
  }

  createContext(runtime, call, overrides) {
    return createContext(this, runtime, call, overrides);
  }

  uiOf(runtime) {
    if (!this.#uis.has(runtime)) this.#uis.set(runtime, createUi(this, runtime));
    return this.#uis.get(runtime);
  }

  /** Runs a dialog. The clocks of hooks are the engine's; only how deep dialogs are nested is noted. */
  async dialog(run) {
    this.#dialogs += 1;
    try {
      return await run();
    } finally {
      this.#dialogs -= 1;
    }
  }

  /** Tells extensions of a prompt that the engine does not know of. Only the outermost one counts. */
  announcePrompt(type, kind) {
    if (this.#dialogs > 0) return;
    for (const extension of this.#extensions.values()) {
      void dispatch(this, extension, { type, reason: "ui_prompt", kind }, undefined);
    }
  }

  /** Calls back when the client's screen has another size. Returns a function that ends that. */
  onResize(callback) {
    this.#resizes.add(callback);
    return () => this.#resizes.delete(callback);
  }

  #noteChange(patch) {
    if (patch.render) for (const callback of this.#resizes) callback(patch.render);
    if ("sessionId" in patch) this.services?.invalidateModels();
  }

  /** Loads extensions, and tells what they offer. */
  load(described) {
    this.#loading = this.#loading.then(async () => {
      const extensions = described.map((description) => new Extension(this, description));
      for (const extension of extensions) this.#extensions.set(extension.id, extension);
      const { loaded, errors } = await loadAll(this, extensions, loadLimit(this.#startMs));
      this.send({ type: "registered", protocol: PROTOCOL, extensions: [], errors });
      for (const extension of loaded) extension.begin();
    });
  }

  /** Calls all factories whose session was replaced, before the first handler hears of the next one. */
  #renew() {
    this.#renewing = this.#renewing.then(async () => {
      for (const extension of this.#extensions.values()) await extension.renew(loadLimit(this.#startMs) / 2);
    });
    return this.#renewing;
  }

  /** Runs what the engine waits for, and sends the result. */
  async #answer({ id, ext }, run) {
    const extension = this.extension(ext);
    const controller = new AbortController();
    const call = { id, signal: controller.signal };
    this.#calls.set(id, controller);
    try {
      if (!extension) throw new Error(`there is no extension ${ext}`);
      extension.begin();
      const result = await run(extension, call);
      this.send({ type: "result", ext, id, result: result ?? null });
    } catch (error) {
      const { kind, retryAfterMs } = error ?? {};
      this.send({ type: "result", ext, id, error: { message: messageOf(error), kind: textOf(kind), retryAfterMs: countOf(retryAfterMs) } });
    } finally {
      this.#calls.delete(id);
    }
  }

  /** Gives an event to an extension. Returns the result of the hook. */
  async #occur(extension, event, call) {
    if (event.type === "session_start") {
      await this.#renew();
      if (event.reason !== "startup") this.services.invalidateModels();
    }
    if (event.outcome === "aborted" || event.aborted === true) this.mirror.abortRun();
    const result = await dispatch(this, extension, this.#whole(extension, this.#asNew(event)), call);
    if (event.type === "session_start") extension.noteSession(true);
    if (event.type === "session_shutdown" && REPLACING.has(event.reason)) {
      extension.noteSession(false);
      extension.runtime.retire();
    }
    return result;
  }

  /** Returns an event of opening the session that an extension has just made as that of starting it. */
  #asNew(event) {
    if (this.preparedSession === undefined || event.reason !== "resume") return event;
    return { ...event, reason: "new", targetSessionFile: undefined };
  }

  /** Returns an event with the whole message where the engine only sends what is new of it. */
  #whole(extension, event) {
    if (event.type === "message_start" && event.message?.role === "assistant") {
      extension.streamed = new StreamedMessage(event.message);
    }
    if (event.type !== "message_update") return event;
    extension.streamed ??= new StreamedMessage({ role: "assistant", content: [], timestamp: Date.now() });
    return extension.streamed.update(event);
  }

  begin({ mode, hasUI, session, trusted, state, flags, limits, extensions = [] }) {
    this.#startMs = limits?.startMs;
    this.mode = mode ?? this.mode;
    this.hasUI = hasUI ?? this.hasUI;
    this.mirror.apply(undefined, {
      sessionId: session?.id,
      sessionFile: session?.file ?? null,
      cwd: session?.cwd,
      trusted: trusted ?? false,
      isIdle: true,
      ...state,
    });
    for (const { id } of extensions) this.mirror.apply(id, { flags });
    this.load(extensions);
  }

  hook(record) {
    void this.#answer(record, async (extension, call) => {
      try {
        return await this.#occur(extension, record.event, call);
      } catch (error) {
        if (FAILING_CLOSED.has(record.event.type)) throw error;
        extension.report(record.event.type, error);
        return null;
      }
    });
  }

  event({ ext, event }) {
    const extension = this.extension(ext);
    extension?.begin();
    if (extension) this.#occur(extension, event).catch((error) => extension.report(event.type, error));
  }

  tool(record) {
    void this.#answer(record, (extension, call) => runTool(this, extension, record, call));
  }

  command(record) {
    void this.#answer(record, async (extension, call) => {
      const { runtime } = extension;
      const command = runtime.commands.get(record.name);
      if (!command) throw new Error(`The extension has no command ${record.name}`);
      const ctx = createCommandContext(this, runtime, call);
      await runAs(runtime, call, () => command.handler(record.args ?? "", ctx));
    });
  }

  complete(record) {
    void this.#answer(record, async ({ runtime }, call) => {
      const command = runtime.commands.get(record.command);
      const found = await runAs(runtime, call, () => command?.getArgumentCompletions?.(record.prefix ?? ""));
      return (Array.isArray(found) ? found : []).map(completion).filter(Boolean);
    });
  }

  provider(record) {
    const { ext, id, provider, op, request, credential } = record;
    void this.#answer(record, ({ runtime }, call) => {
      const emit = (event) => this.send({ type: "chunk", ext, id, event });
      const asked = { request, credential, callbacks: providerCallbacks(this, call) };
      return runAs(runtime, call, () => this.services.providers().runProvider(provider, op, asked, emit, call.signal));
    });
  }

  route(record) {
    void this.#answer(record, (extension, call) => runAs(extension.runtime, call, () => route(this, extension, record, call)));
  }

  cancel({ id, reason }) {
    const controller = this.#calls.get(id);
    if (!controller) return;
    if (reason === "abort") this.mirror.abortRun();
    controller.abort(Object.assign(new Error(reason === "timeout" ? "timed out" : "aborted"), { name: "AbortError" }));
  }

  end() {
    this.#end();
  }
}

const HANDLERS = {
  init(record) {
    this.begin(record);
  },
  load({ extensions }) {
    this.load(extensions ?? []);
  },
  hook(record) {
    this.hook(record);
  },
  event(record) {
    this.event(record);
  },
  tool(record) {
    this.tool(record);
  },
  command(record) {
    this.command(record);
  },
  complete(record) {
    this.complete(record);
  },
  provider(record) {
    this.provider(record);
  },
  route(record) {
    this.route(record);
  },
  state({ ext, patch }) {
    this.mirror.apply(ext, patch ?? {});
  },
  chunk({ id, event }) {
    this.requests.progress(id, event);
  },
  progress({ id, partial }) {
    this.requests.progress(id, partial);
  },
  response(record) {
    this.requests.answer(record);
  },
  input({ id, data }) {
    this.customInputs.get(id)?.(data);
  },
  cancel(record) {
    this.cancel(record);
  },
  shutdown() {
    this.end();
  },
};

function completion(item) {
  if (typeof item === "string") return item;
  if (typeof item?.value !== "string") return undefined;
  return { value: item.value, label: textOf(item.label), description: textOf(item.description) };
}

function textOf(value) {
  return typeof value === "string" ? value : undefined;
}

function countOf(value) {
  return Number.isInteger(value) && value >= 0 ? value : undefined;
}
