// Loads the module of an extension and returns its factory.

import module from "node:module";
import { messageOf } from "../host/errors.mjs";
import { loadWithJiti } from "./jiti.mjs";
import { addMissingName, entryUrl, installHooks, resolvedFrom } from "./node_hooks.mjs";
import { useCache } from "./typescript.mjs";

const isBun = Boolean(process.versions.bun);

/** More names than this are not missing because they are types. */
const MOST_MISSING_NAMES = 200;

/** Prepares the process for extensions. `cache` is a folder for what is worth keeping. */
export async function prepareLoader(cache) {
  useCache(cache);
  if (isBun) {
    const { installPlugin } = await import("./bun.mjs");
    installPlugin();
  } else {
    if (typeof module.registerHooks !== "function" || typeof module.stripTypeScriptTypes !== "function") {
      throw new Error(`extensions of pi need Node 22.15 or later; this is ${process.version}. Name another one with: bowline config set nodePath /path/to/node`);
    }
    installHooks();
  }
}

/** Returns the factory of the extension with this entry. */
export async function loadFactory(path) {
  const loaded = await importWithRetries(path);
  const factory = factoryOf(loaded);
  if (!factory) throw new Error(`Extension does not export a valid factory function: ${path}`);
  return factory;
}

function factoryOf(loaded) {
  // A module of CommonJS has its exports as default.
  for (const candidate of [loaded?.default, loaded?.default?.default, loaded]) {
    if (typeof candidate === "function") return candidate;
  }
  return undefined;
}

async function importWithRetries(path) {
  for (let count = 0; ; count += 1) {
    try {
      return await import(isBun ? path : entryUrl(path));
    } catch (error) {
      if (!isBun && count < MOST_MISSING_NAMES && addExport(error)) continue;
      if (!isWorthJiti(error)) throw error;
      return loadWithJiti(path, error);
    }
  }
}

const NO_EXPORT = /^The requested module '([^']+)' does not provide an export named '([^']+)'/;
const PLACE = /^(\S.*?):\d+\n/;

/** Adds what could not be linked, which usually is a type that a module exports of another one. Returns false if it cannot help. */
function addExport(error) {
  const [, specifier, name] = NO_EXPORT.exec(error?.message ?? "") ?? [];
  const [, importer] = PLACE.exec(error?.stack ?? "") ?? [];
  if (!name || name === "default" || !importer?.startsWith("file:")) return false;
  try {
    const url = resolvedFrom(specifier, importer);
    return url.startsWith("file:") && addMissingName(url, name);
  } catch {
    return false;
  }
}

const CODES = new Set([
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_DIR_IMPORT",
  "ERR_IMPORT_ATTRIBUTE_MISSING",
  "ERR_IMPORT_ATTRIBUTE_TYPE_INCOMPATIBLE",
  "ERR_PACKAGE_PATH_NOT_EXPORTED",
  "ERR_REQUIRE_ASYNC_MODULE",
  "ERR_REQUIRE_CYCLE_MODULE",
  "ERR_REQUIRE_ESM",
]);
const COMMON_NAME = /^(?:require|module|exports|__dirname|__filename) is not defined/;

/** Tells whether an error is about how a module is written or linked, which another loader may be able to deal with. */
export function isWorthJiti(error) {
  if (error instanceof SyntaxError || CODES.has(error?.code)) return true;
  return error instanceof ReferenceError && COMMON_NAME.test(messageOf(error));
}
