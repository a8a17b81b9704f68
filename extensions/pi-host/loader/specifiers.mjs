// The modules that extensions may import of pi, and which of our modules each one is.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SHIMS = new URL("../shims/", import.meta.url);
const PI = /^@(?:earendil-works|mariozechner)\/(pi-ai|pi-tui|pi-coding-agent|pi-agent-core)(?:\/(.+))?$/;
const TYPEBOX = /^(?:@sinclair\/)?typebox(?:\/(.+))?$/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** The beginning of the addresses of modules that are composed. */
export const COMPOSED = "pi-module:";

let names;

/** Returns the names that the published packages export, by module. */
function publishedNames() {
  names ??= JSON.parse(readFileSync(new URL("names.json", SHIMS), "utf8"));
  return names;
}

/** Returns which module of pi an import means: a key of the published names; `undefined` if it is not pi's. */
export function moduleOf(specifier) {
  const pi = PI.exec(specifier);
  if (pi) return known(pi[1], pi[2]);
  const typebox = TYPEBOX.exec(specifier);
  return typebox ? known("typebox", typebox[1]) : undefined;
}

/** Tells whether an import is of TypeBox, which others than extensions have of their own. */
export function isTypebox(specifier) {
  return TYPEBOX.test(specifier);
}

/** A file deep in a package is the nearest module that is known. */
function known(name, path) {
  const parts = path?.replace(/\.(?:js|ts|mjs)$/, "").split("/") ?? [];
  for (let length = parts.length; length > 0; length -= 1) {
    const candidate = [name, ...parts.slice(0, length)].join("/");
    if (candidate in publishedNames()) return candidate;
  }
  return name;
}

/** Returns the specifiers of all modules. */
export function allSpecifiers() {
  return Object.keys(publishedNames()).flatMap((module) =>
    module.startsWith("typebox")
      ? [module, `@sinclair/${module}`]
      : [`@earendil-works/${module}`, `@mariozechner/${module}`],
  );
}

/** Returns the address of the file that serves a module, if there is one. Packages of pi have one file, TypeBox one for each module. */
export function shimOf(module) {
  const name = module.startsWith("typebox") ? module.replaceAll("/", "-") : module.split("/", 1)[0];
  const url = new URL(`${name}.mjs`, SHIMS);
  return existsSync(fileURLToPath(url)) ? url.href : undefined;
}

/** Returns the names of values and of types that a module exports. */
export function exportedNames(module) {
  const { values = [], types = [], old = [] } = publishedNames()[module] ?? {};
  return { values: [...values, ...old], types };
}

/**
 * Returns the source of a module of pi: what is served of it, functions that say so in place of what is not, and nothing in
 * place of types, which transformed sources may import.
 */
export function composedSource(module) {
  const { values, types } = exportedNames(module);
  const shim = shimOf(module);
  const lines = [
    `import { notServedFunction } from ${JSON.stringify(new URL("not_served.mjs", SHIMS).href)};`,
    shim ? `import * as shim from ${JSON.stringify(shim)};\nexport * from ${JSON.stringify(shim)};` : "const shim = {};",
    `const served = (name) => (name in shim ? shim[name] : notServedFunction(${JSON.stringify(module)}, name));`,
    "const type = (name) => shim[name];",
  ];
  const written = new Set(["default"]);
  const write = (name, maker) => {
    if (written.has(name) || !IDENTIFIER.test(name)) return;
    written.add(name);
    lines.push(`const $${name} = ${maker}(${JSON.stringify(name)}); export { $${name} as ${name} };`);
  };
  for (const name of values) write(name, "served");
  for (const name of types) write(name, "type");
  lines.push("export default shim.default ?? shim;");
  return lines.join("\n");
}
