// One extension: its factory, the instance of it that is in use, and what the engine knows of it.

import { runAs } from "./current.mjs";
import { messageOf, stackOf } from "./errors.mjs";
import { within } from "./loading.mjs";
import { NOTHING, asFields, difference, offered } from "./registration.mjs";
import { Runtime } from "./runtime.mjs";

/** An extension of pi. */
export class Extension {
  #host;
  #factory;
  #announced = NOTHING;
  #isAnnounced = false;
  #onReplaced = new Set();

  constructor(host, { id, path, sourceInfo }) {
    this.#host = host;
    this.id = id;
    this.path = path;
    this.sourceInfo = sourceInfo ?? { path, source: "local", scope: "temporary", origin: "top-level" };
    /** The instance in use. */
    this.runtime = new Runtime(this);
    /** The answer of the model that is being streamed, as the events of this extension tell it. */
    this.streamed = undefined;
  }

  /** Evaluates the module and calls its factory. Throws if either fails, or takes longer than so many milliseconds. */
  async load(limit) {
    const { runtime } = this;
    await this.#attempt(runtime, limit, "load", async () => {
      this.#factory = await this.#host.loadFactory(this.path);
      // It may have come too late.
      runtime.assertUsable();
      await this.#factory(this.#host.createApi(runtime));
    });
  }

  async #attempt(runtime, limit, purpose, build) {
    try {
      await within(limit, purpose, runAs(runtime, undefined, build));
    } catch (error) {
      runtime.fail();
      this.#forgetProviders(runtime, new Map());
      throw error;
    }
  }

  /** Forgets the providers of an instance that another one does not have. */
  #forgetProviders(runtime, kept) {
    for (const name of runtime.providers.keys()) {
      if (!kept.has(name)) this.#host.services.providers().forgetProvider(name);
    }
  }

  /** Tells the engine all that is registered. */
  register() {
    this.#announced = this.#offers();
    this.#isAnnounced = true;
    this.#host.send({ type: "register", ext: this.id, ...asFields(this.#announced) });
  }

  #offers() {
    return offered(this.runtime, { connectsServers: !this.#host.hasServerConnector() });
  }

  /** Allows actions: all extensions have loaded, or the engine goes on without those that have not. */
  begin() {
    if (!this.#isAnnounced || !this.runtime.isLoading) return;
    this.runtime.activate();
    this.announce();
  }

  /** Tells the engine what has changed of the registrations. */
  announce() {
    if (!this.#isAnnounced || this.runtime.isLoading) return;
    const offers = this.#offers();
    const { register, unregister } = difference(this.#announced, offers);
    this.#announced = offers;
    if (unregister) this.#host.send({ type: "unregister", ext: this.id, ...unregister });
    if (register) this.#host.send({ type: "register", ext: this.id, ...register });
  }

  /** Calls the factory again, for so many milliseconds, if another session took the place of the one of the instance. */
  async renew(limit) {
    if (!this.runtime.isStale) return;
    const old = this.runtime;
    const runtime = new Runtime(this);
    this.runtime = runtime;
    this.streamed = undefined;
    try {
      await this.#attempt(runtime, limit, "start again", async () => this.#factory(this.#host.createApi(runtime)));
    } catch (error) {
      this.report("load", error);
      this.runtime = new Runtime(this);
    }
    this.#forgetProviders(old, this.runtime.providers);
    this.runtime.activate();
    this.announce();
  }

  /** Returns when the instance in use is not this one any more and its session has begun. */
  replaced(runtime, milliseconds) {
    return new Promise((resolve) => {
      const isReplaced = () => this.runtime !== runtime && this.isStarted;
      if (isReplaced()) return resolve();
      const timer = setTimeout(finish, milliseconds);
      const check = () => isReplaced() && finish();
      this.#onReplaced.add(check);
      const set = this.#onReplaced;
      function finish() {
        clearTimeout(timer);
        set.delete(check);
        resolve();
      }
      return undefined;
    });
  }

  /** Notes that the session of the instance has begun or ended. */
  noteSession(isStarted) {
    this.isStarted = isStarted;
    for (const check of [...this.#onReplaced]) check();
  }

  /** Reports an error that belongs to no call, or to one that goes on. */
  report(where, error) {
    this.#host.send({ type: "error", ext: this.id, where, message: messageOf(error), stack: stackOf(error) });
  }
}
