// Loads extensions in order. One that takes long does not keep those after it waiting: some of them may guard tools. The
// engine is told which one is being loaded, so that it can leave out one that blocks the process, and what each offers as
// soon as it is known, so that nobody waits for those that come later.

import { isInstalling } from "../loader/jiti.mjs";
import { messageOf, stackOf } from "./errors.mjs";

/** The shortest time that an extension has to load, in milliseconds. */
const SHORTEST_LIMIT_MS = 10_000;
/** How long an extension is waited for before the next one is loaded beside it. */
const PATIENCE_MS = 1000;
/** How often it is told that an extension is still being loaded. */
const ALIVE_MS = 2000;
const CHECK_MS = 500;

/** How long an extension may take to load if a start may take this long. */
export function loadLimit(startMs) {
  return Math.max(startMs ?? 0, SHORTEST_LIMIT_MS);
}

/** Loads extensions. Returns those that have loaded, and why the others have not. */
export async function loadAll(host, extensions, limit) {
  const loaded = new Set();
  const errors = [];
  const load = async (extension) => {
    const tell = () => host.send({ type: "loading", ext: extension.id });
    tell();
    const timer = setInterval(tell, ALIVE_MS);
    try {
      await extension.load(limit);
      extension.register();
      loaded.add(extension);
    } catch (error) {
      errors.push({ ext: extension.id, error: messageOf(error) });
      console.error(stackOf(error) ?? messageOf(error));
    } finally {
      clearInterval(timer);
    }
  };
  const loads = [];
  for (const extension of extensions) {
    const done = load(extension);
    loads.push(done);
    let timer;
    await Promise.race([done, new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)))]);
    clearTimeout(timer);
  }
  await Promise.all(loads);
  return { loaded: extensions.filter((extension) => loaded.has(extension)), errors };
}

/** Returns what a promise resolves to. Throws if that takes too long; the time in which a loader is installed does not count. */
export async function within(limit, purpose, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    let spent = 0;
    let last = performance.now();
    timer = setInterval(() => {
      const now = performance.now();
      if (!isInstalling()) spent += now - last;
      last = now;
      if (spent >= limit) reject(new Error(`did not ${purpose} within ${Math.round(limit / 1000)} s`));
    }, Math.min(CHECK_MS, limit));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearInterval(timer);
  }
}
