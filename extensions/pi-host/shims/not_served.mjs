// Exports that must exist so that an import of them works, but that bowline does not serve.
// They throw when they are used, never when they are imported.

import { bridge } from "../bridge.mjs";

/** Returns a function that throws "not served" when it is called. */
export function notServedFunction(packageName, name) {
  const what = `${packageName}: ${name}()`;
  // A function expression, not an arrow, so that `new` reaches the throw too.
  const stub = function () {
    refuse(what);
  };
  return named(stub, name);
}

/** Returns a class that throws "not served" when it is constructed. A subclass of it can be declared. */
export function notServedClass(packageName, name) {
  const what = `${packageName}: new ${name}()`;
  const stub = class {
    constructor() {
      refuse(what);
    }
  };
  return named(stub, name);
}

function named(stub, name) {
  Object.defineProperty(stub, "name", { value: name, configurable: true });
  return stub;
}

function refuse(what) {
  if (typeof bridge.notServed === "function") bridge.notServed(what);
  // The host is not connected: only in tests that load a shim alone.
  throw new Error(`bowline does not serve ${what} to extensions.`);
}
