// Signals of operations that may be given none, one or several.

/** Returns a signal, also if none is given. */
export function operationSignal(signal) {
  return signal ?? new AbortController().signal;
}

/** Returns what an operation resolves to, unless the signal aborts first. */
export function raceWithAbortSignal(operation, signal) {
  // The operation may still fail when nobody waits for it.
  operation.catch(() => {});
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    operation.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Returns a signal that aborts when one of several does, and what takes back the listeners. */
export function combineAbortSignals(signals) {
  const given = signals.filter((signal) => signal !== undefined);
  if (given.length < 2) return { ...(given[0] ? { signal: given[0] } : {}), cleanup() {} };
  const controller = new AbortController();
  const listeners = given.map((signal) => {
    const listener = () => controller.abort(signal.reason);
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
    return { signal, listener };
  });
  const cleanup = () => {
    for (const { signal, listener } of listeners) signal.removeEventListener("abort", listener);
  };
  return { signal: controller.signal, cleanup };
}

const cleanups = new Set();

/** Remembers what to do when a session ends. Returns a function that takes it back. */
export function registerSessionResourceCleanup(cleanup) {
  cleanups.add(cleanup);
  return () => {
    cleanups.delete(cleanup);
  };
}

/** Does what was to be done when a session ends. */
export function cleanupSessionResources(sessionId) {
  const errors = [];
  for (const cleanup of cleanups) {
    try {
      cleanup(sessionId);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "Failed to clean up session resources");
}
