// Which extension the running code belongs to: known through all its timers and promises.

import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage();

/** Runs code as that of a runtime, and returns what it returns. `call` is what the engine waits for, if it does. */
export function runAs(runtime, call, run) {
  return storage.run({ runtime, call }, run);
}

/** Returns the runtime that the running code belongs to, if it is an extension's. */
export function currentRuntime() {
  return storage.getStore()?.runtime;
}

/** Returns what the engine waits for, if the running code is part of that. */
export function currentCall() {
  return storage.getStore()?.call;
}
