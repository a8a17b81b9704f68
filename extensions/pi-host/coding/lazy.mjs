// Parts that are loaded when they are first used: nearly every extension imports the package, and few use all of it.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

function named(target, name) {
  return Object.defineProperty(target, "name", { value: name, configurable: true });
}

/** Returns a function that loads the module (a path relative to this folder) and calls what it exports by this name. */
export function lazily(path, name) {
  return named((...parameters) => require(path)[name](...parameters), name);
}

/** Returns a class that loads the module when it is constructed, extended or asked for anything static. */
export function lazyClass(path, name) {
  let loaded;
  const real = () => (loaded ??= require(path)[name]);
  // An arrow function or a class would not do as the target: the one has no `construct`, the other a fixed prototype.
  const placeholder = named(function () {}, name);
  const proxy = new Proxy(placeholder, {
    construct: (_target, parameters, newTarget) =>
      Reflect.construct(real(), parameters, newTarget === proxy ? real() : newTarget),
    get: (_target, key) => (key === "name" ? name : Reflect.get(real(), key)),
    set: (_target, key, value) => Reflect.set(real(), key, value),
    has: (_target, key) => key in real(),
    getPrototypeOf: () => Object.getPrototypeOf(real()),
  });
  return proxy;
}
