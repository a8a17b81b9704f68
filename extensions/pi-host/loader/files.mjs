// The files that modules mean by paths that lack an ending, name a folder, or name what a source is compiled to.

import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";

/** The names of files in TypeScript. */
export const TYPESCRIPT = /\.(?:[mc]?ts|tsx)$/;
const ENDINGS = [".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".tsx", ".json"];
const INDEXES = ["index.ts", "index.js", "index.mts", "index.mjs"];
/** TypeScript is imported by the name that it has once it is compiled. */
const COMPILED = new Map([
  [".js", [".ts", ".tsx"]],
  [".mjs", [".mts"]],
  [".cjs", [".cts"]],
  [".jsx", [".tsx"]],
]);

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** Returns the file that a path of an import means, if there is one. */
export function fileFor(path) {
  if (isFile(path)) return path;
  for (const ending of ENDINGS) if (isFile(path + ending)) return path + ending;
  for (const [compiled, sources] of COMPILED) {
    if (!path.endsWith(compiled)) continue;
    for (const source of sources) {
      const candidate = path.slice(0, -compiled.length) + source;
      if (isFile(candidate)) return candidate;
    }
  }
  if (!existsSync(path)) return undefined;
  return mainOf(path) ?? INDEXES.map((name) => `${path}/${name}`).find(isFile);
}

function mainOf(folder) {
  try {
    const { main } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return typeof main === "string" ? fileFor(resolve(folder, main)) : undefined;
  } catch {
    return undefined;
  }
}
