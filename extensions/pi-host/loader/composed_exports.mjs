// The exports of a module of pi as an object, for loaders that take objects.

import { notServedFunction } from "../shims/not_served.mjs";
import { exportedNames } from "./specifiers.mjs";

/** Returns what is served of a module, and functions that say so in place of what is not. */
export function composedExports(module, shim) {
  const { values, types } = exportedNames(module);
  const exports = {};
  for (const name of types) exports[name] = undefined;
  for (const name of values) exports[name] = notServedFunction(module, name);
  return { ...exports, ...shim, default: shim.default ?? shim };
}
