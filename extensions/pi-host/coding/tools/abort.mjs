// Calls of tools that end early.

/** Throws if the call was cancelled. */
export function throwIfAborted(signal) {
  if (signal?.aborted) throw new Error("Operation aborted");
}

/** Returns what `work` resolves to, or throws as soon as the call is cancelled. */
export async function untilAborted(signal, work) {
  throwIfAborted(signal);
  if (!signal) return work();
  const { promise, reject } = Promise.withResolvers();
  const onAbort = () => reject(new Error("Operation aborted"));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, work()]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
