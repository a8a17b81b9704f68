// How Node finds and reads the modules of extensions.

import { readFileSync } from "node:fs";
import module from "node:module";
import { dirname, resolve as resolvePath } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TYPESCRIPT, fileFor } from "./files.mjs";
import { COMPOSED, composedSource, isTypebox, moduleOf } from "./specifiers.mjs";
import { withoutTypes } from "./type_names.mjs";
import { isModule, transformed, withCommonNames } from "./typescript.mjs";

const OWN = new URL("../", import.meta.url).href;
const JAVASCRIPT = /\.m?js$/;

/** Names that a module is to have although it does not export them, by address: types that another module exports again. */
const missing = new Map();
/** Distinguishes attempts to load an extension: a module that could not be linked is never read again under its address. */
let attempt = 0;

/** Makes Node load the modules of extensions. */
export function installHooks() {
  module.registerHooks({ resolve, load });
}

/** Begins another attempt, in which a module has a name that it did not export. */
export function addMissingName(url, name) {
  const address = withoutAttempt(url);
  const names = missing.get(address) ?? new Set();
  missing.set(address, names);
  if (names.has(name)) return false;
  names.add(name);
  attempt += 1;
  return true;
}

/** Returns the address of the entry of an extension. */
export function entryUrl(path) {
  return withAttempt(pathToFileURL(path).href);
}

/** Returns the address of a module that another one imports, as it is in this attempt. */
export function resolvedFrom(specifier, parent) {
  return resolve(specifier, { parentURL: parent, conditions: ["node", "import"] }, (name, { parentURL }) => ({
    url: pathToFileURL(module.createRequire(parentURL).resolve(name)).href,
  })).url;
}

function withAttempt(url) {
  return attempt === 0 ? url : `${url}?attempt=${attempt}`;
}

function withoutAttempt(url) {
  return url.replace(/\?attempt=\d+$/, "");
}

function resolve(specifier, context, next) {
  const { parentURL } = context;
  if (specifier.startsWith(COMPOSED)) return { url: specifier, format: "module", shortCircuit: true };
  if (parentURL?.startsWith(OWN) || specifier.startsWith("node:")) return next(specifier, context);
  const composed = moduleOf(specifier);
  if (composed && !hasOwnTypebox(specifier, parentURL)) {
    return { url: COMPOSED + composed, format: "module", shortCircuit: true };
  }
  const isRelative = specifier.startsWith(".") || specifier.startsWith("/") || specifier.startsWith("file:");
  if (isRelative && parentURL?.startsWith("file:")) {
    const [plain, query] = specifier.split("?", 2);
    const base = fileURLToPath(withoutAttempt(parentURL));
    const path = plain.startsWith("file:") ? fileURLToPath(plain) : resolvePath(dirname(base), plain);
    const file = fileFor(path);
    if (file) {
      const url = pathToFileURL(file).href;
      return { url: query ? `${url}?${query}` : attemptOf(url, parentURL), shortCircuit: true };
    }
  }
  return parentURL?.startsWith("file:") ? completedByEnding(specifier, context, next) : next(specifier, context);
}

/** Names that a package maps to paths, and paths in packages, may lack their ending too. */
function completedByEnding(specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (error) {
    const isPath = ["ERR_MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT"].includes(error.code) && error.url?.startsWith("file:");
    const file = isPath ? fileFor(fileURLToPath(error.url)) : undefined;
    if (!file) throw error;
    return { url: attemptOf(pathToFileURL(file).href, context.parentURL), shortCircuit: true };
  }
}

/** Modules of an attempt belong together; those of dependencies are shared. */
function attemptOf(url, parentURL) {
  const isOfAttempt = parentURL.includes("?attempt=") && !parentURL.includes("/node_modules/.");
  return isOfAttempt && (TYPESCRIPT.test(url) || missing.has(url) || JAVASCRIPT.test(url)) ? withAttempt(url) : url;
}

/** A library that an extension depends on means the TypeBox that was installed for it, in whatever version that is. */
function hasOwnTypebox(specifier, parentURL) {
  if (!isTypebox(specifier) || !parentURL?.startsWith("file:")) return false;
  const path = fileURLToPath(withoutAttempt(parentURL));
  if (TYPESCRIPT.test(path) || !path.includes("node_modules")) return false;
  try {
    const manifest = module.findPackageJSON(pathToFileURL(path));
    const { pi } = JSON.parse(readFileSync(manifest, "utf8"));
    if (pi) return false;
    module.createRequire(path).resolve(specifier);
    return true;
  } catch {
    return false;
  }
}

function load(url, context, next) {
  if (url.startsWith(COMPOSED)) {
    return { format: "module", shortCircuit: true, source: composedSource(url.slice(COMPOSED.length)) };
  }
  if (!url.startsWith("file:") || url.startsWith(OWN)) return next(url, context);
  const address = withoutAttempt(url);
  const [path] = address.split("?", 1);
  if (TYPESCRIPT.test(path)) return loadTypescript(path, address);
  if (path.endsWith(".json") && context.importAttributes?.type === undefined && !isRequired(context)) {
    const text = readFileSync(fileURLToPath(path), "utf8");
    return { format: "module", shortCircuit: true, source: `export default ${JSON.stringify(JSON.parse(text))};` };
  }
  if (JAVASCRIPT.test(path) && (missing.has(address) || !path.includes("/node_modules/")) && !isRequired(context)) {
    const source = readFileSync(fileURLToPath(path), "utf8");
    const hasModuleSyntax = /^[ \t]*(?:import\b(?!\s*\()|export\b)/m.test(source);
    if (hasModuleSyntax) return { format: "module", shortCircuit: true, source: completed(source, address) };
  }
  return next(url, context);
}

function isRequired(context) {
  return context.conditions?.includes("require") ?? false;
}

function loadTypescript(path, address) {
  const file = fileURLToPath(path);
  let source;
  try {
    source = transformed(readFileSync(file, "utf8"));
  } catch (error) {
    // Errors of the transformation do not say where they are.
    if (!error.message.includes(file)) error.message = `${file}: ${error.message}`;
    throw error;
  }
  if (path.endsWith(".cts") || !isModule(source)) return { format: "commonjs", shortCircuit: true, source };
  return { format: "module", shortCircuit: true, source: completed(withoutTypes(source, file), address) };
}

function completed(source, address) {
  const names = [...(missing.get(address) ?? [])];
  const exports = names.map((name) => `export const ${name} = undefined;`).join(" ");
  return withCommonNames(source) + (exports ? `\n${exports}` : "");
}
