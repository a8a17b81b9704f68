// Which files of a folder are ignored, as the files .gitignore, .ignore and .fdignore say.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { globExpression } from "./glob.mjs";

const GIT_FILES = [".gitignore", ".ignore", ".fdignore"];

/** Returns the rule of a line, or undefined. A pattern with a slash inside is relative to the folder of the file. */
function ruleOf(line) {
  const text = line.replace(/(?<!\\)\s+$/, "");
  if (!text || text.startsWith("#")) return undefined;
  const isException = text.startsWith("!");
  const pattern = (isException ? text.slice(1) : text).replace(/^\\(?=[#!])/, "");
  const isFolderOnly = pattern.endsWith("/");
  const bare = pattern.replace(/\/$/, "");
  const anchored = bare.includes("/") ? bare.replace(/^\//, "") : `**/${bare}`;
  return { isException, isFolderOnly, expression: globExpression(anchored) };
}

/** The rules that apply in a folder: its own, and those of the folders above it. */
export class IgnoreRules {
  #levels;

  constructor(levels = []) {
    this.#levels = levels;
  }

  /** Returns the rules in a folder, given by its path from the root of the search (`""` for the root itself). */
  within(folder, relativePath) {
    const rules = [];
    for (const name of GIT_FILES) {
      try {
        const text = readFileSync(join(folder, name), "utf8");
        rules.push(...text.split(/\r?\n/).map(ruleOf).filter((rule) => rule !== undefined));
      } catch {
        // Most folders have no such file.
      }
    }
    return rules.length > 0 ? new IgnoreRules([...this.#levels, { base: relativePath, rules }]) : this;
  }

  /** Tells whether a file is ignored. The last rule that matches decides. */
  ignores(relativePath, isFolder) {
    for (const { base, rules } of this.#levels.toReversed()) {
      const path = base ? relativePath.slice(base.length + 1) : relativePath;
      const rule = rules.findLast(({ isFolderOnly, expression }) => (isFolder || !isFolderOnly) && expression.test(path));
      if (rule) return !rule.isException;
    }
    return false;
  }
}
