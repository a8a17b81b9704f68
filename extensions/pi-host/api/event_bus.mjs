// The bus between extensions: values are passed as they are, and nobody waits.

import { currentRuntime, runAs } from "../host/current.mjs";

/** Channels with those that listen to them. */
export class EventBus {
  #channels = new Map();

  /** Calls a handler with what is sent on a channel. Returns a function that ends that. */
  on(channel, handler) {
    const runtime = currentRuntime();
    const listener = async (data) => {
      try {
        await runAs(runtime, undefined, () => handler(data));
      } catch (error) {
        console.error(`A handler of the channel ${String(channel)} failed:`, error);
      }
    };
    const listeners = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  emit(channel, data) {
    for (const listener of [...(this.#channels.get(channel) ?? [])]) void listener(data);
  }
}
