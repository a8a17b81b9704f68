// Parts that are loaded when they are first used: nearly every extension imports the package, and few use all of it.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Returns a function that loads the module (a path relative to this folder) and calls what it exports by this name. */
export function lazily(path, name) {
  const call = (...parameters) => require(path)[name](...parameters);
  Object.defineProperty(call, "name", { value: name, configurable: true });
  return call;
}
