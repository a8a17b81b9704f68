/** Functions that are called for each event of a kind. */
import type { Event, EventMap, EventName } from "./protocol.js";

type Listener = (event: never) => void;

export class Listeners {
  readonly #byName = new Map<string, Set<Listener>>();
  readonly #report: (error: unknown) => void;

  /** `report` gets the exceptions of listeners. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** Adds a listener; `*` is every event. Returns a function that removes it. */
  add<Name extends EventName>(name: Name | "*", listener: (event: EventMap[Name]) => void): () => void {
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  emit(event: Event): void {
    for (const name of [event.type, "*"]) {
      const listeners = this.#byName.get(name);
      if (listeners === undefined) continue;
      for (const listener of [...listeners]) this.#call(listener, event);
    }
  }

  #call(listener: Listener, event: Event): void {
    try {
      const returned: unknown = (listener as (event: Event) => unknown)(event);
      if (returned instanceof Promise) returned.catch(this.#report);
    } catch (error) {
      this.#report(error);
    }
  }
}
