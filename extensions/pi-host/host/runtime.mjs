// What one call of an extension's factory registered, and whether it may still be used.

const NOT_INITIALIZED = "Extension runtime not initialized. Action methods cannot be called during extension loading.";
const STALE =
  "This extension ctx is stale after session replacement or reload. What was captured before ctx.newSession(), ctx.fork(), " +
  "ctx.switchSession() or ctx.reload() cannot be used after it: use the ctx that withSession is given.";

/** The registrations of one instance of an extension. It ends when another session takes the place of its own. */
export class Runtime {
  handlers = new Map();
  tools = new Map();
  commands = new Map();
  flags = new Map();
  providers = new Map();
  mcpServers = new Map();
  /** The definitions of virtual models, by their names. */
  virtualModels = new Map();
  #state = "loading";
  #unsubscribers = new Set();

  constructor(extension) {
    this.extension = extension;
  }

  get isStale() {
    return this.#state === "stale";
  }

  get isLoading() {
    return this.#state === "loading";
  }

  /** Throws if the instance was replaced or failed to load. */
  assertUsable() {
    if (this.#state === "stale") throw new Error(STALE);
    if (this.#state === "failed") {
      throw new Error(`Extension "${this.extension.path}" failed to load, so its API cannot be used.`);
    }
  }

  /** Throws if nothing but registration works yet. */
  assertActive() {
    this.assertUsable();
    if (this.#state === "loading") throw new Error(NOT_INITIALIZED);
  }

  /** Allows actions. */
  activate() {
    if (this.#state === "loading") this.#state = "active";
  }

  fail() {
    this.#state = "failed";
    this.#unsubscribe();
  }

  /** Ends the instance: every use of it throws from now on. */
  retire() {
    this.#state = "stale";
    this.#unsubscribe();
  }

  /** Remembers what to take back when the instance ends. Returns a function that takes it back earlier. */
  track(unsubscribe) {
    const once = () => {
      if (this.#unsubscribers.delete(once)) unsubscribe();
    };
    this.#unsubscribers.add(once);
    return once;
  }

  /** Adds a handler. Returns a function that removes it. */
  on(event, handler) {
    const registered = { handler };
    const list = this.handlers.get(event) ?? [];
    list.push(registered);
    this.handlers.set(event, list);
    return () => {
      const place = list.indexOf(registered);
      if (place >= 0) list.splice(place, 1);
      if (list.length === 0 && this.handlers.get(event) === list) this.handlers.delete(event);
    };
  }

  /** Returns the handlers of an event as they are now, in the order in which they were registered. */
  handlersOf(event) {
    return (this.handlers.get(event) ?? []).map(({ handler }) => handler);
  }

  #unsubscribe() {
    for (const unsubscribe of [...this.#unsubscribers]) unsubscribe();
  }
}
