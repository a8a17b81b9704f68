// Searches files over operations that an extension gives.

import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { resolveToCwd } from "../../paths.mjs";
import { globExpression } from "../glob.mjs";
import { LONGEST_MATCH, truncateLine } from "../truncate.mjs";
import { throwIfAborted, untilAborted } from "./abort.mjs";
import { limited } from "./limited.mjs";
import { walk } from "./walk.mjs";

const DEFAULT_LIMIT = 100;
/** A file with such a byte near its beginning is no text. */
const SNIFFED = 8000;

const files = {
  isDirectory: async (path) => (await stat(path)).isDirectory(),
  readFile: (path) => readFile(path, "utf8"),
};

function expressionOf({ pattern, literal, ignoreCase }) {
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&") : pattern;
  try {
    return new RegExp(source, ignoreCase ? "i" : "");
  } catch (error) {
    throw new Error(`The pattern is not a regular expression: ${error.message}`);
  }
}

/** Yields the files to search, as `{ path, name }` with the name that is shown. */
async function* candidates(target, isFolder, glob, signal) {
  if (!isFolder) {
    yield { path: target, name: basename(target) };
    return;
  }
  const isPath = glob?.includes("/");
  const expression = glob ? globExpression(isPath ? glob.replace(/^\//, "") : glob) : undefined;
  for await (const { path, isFolder: isInner } of walk(target, signal)) {
    if (isInner || (expression && !expression.test(isPath ? path : basename(path)))) continue;
    yield { path: join(target, path), name: path };
  }
}

/** Collects lines of matches up to the limit. */
class Matches {
  lines = [];
  count = 0;
  hasCutLines = false;

  constructor(expression, context, limit) {
    this.expression = expression;
    this.context = context;
    this.limit = limit;
  }

  get isFull() {
    return this.count >= this.limit;
  }

  search(name, text) {
    if (text.slice(0, SNIFFED).includes("\0")) return;
    const rows = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
    for (let at = 0; at < rows.length && !this.isFull; at += 1) {
      if (!this.expression.test(rows[at])) continue;
      this.count += 1;
      for (let near = Math.max(0, at - this.context); near <= Math.min(rows.length - 1, at + this.context); near += 1) {
        const { text: shown, wasTruncated } = truncateLine(rows[near]);
        this.hasCutLines ||= wasTruncated;
        this.lines.push(near === at ? `${name}:${near + 1}: ${shown}` : `${name}-${near + 1}- ${shown}`);
      }
    }
  }
}

/** Searches the lines of files for a pattern. */
export function grep(args, { cwd, options, signal }) {
  const operations = options.operations ?? files;
  const limit = Math.max(1, args.limit ?? DEFAULT_LIMIT);
  return untilAborted(signal, async () => {
    const target = resolveToCwd(args.path || ".", cwd);
    const matches = new Matches(expressionOf(args), Math.max(0, args.context ?? 0), limit);
    let isFolder;
    try {
      isFolder = await operations.isDirectory(target);
    } catch {
      throw new Error(`Path not found: ${target}`);
    }
    for await (const { path, name } of candidates(target, isFolder, args.glob, signal)) {
      throwIfAborted(signal);
      try {
        matches.search(name, await operations.readFile(path));
      } catch {
        // It vanished, or may not be read.
      }
      if (matches.isFull) break;
    }
    const limitNotice = `Only the first ${limit} matches are shown; set limit for more, or refine the pattern`;
    const notices = matches.isFull ? [limitNotice] : [];
    const last = matches.hasCutLines ? [`Long lines show their first ${LONGEST_MATCH} characters; read shows all of them`] : [];
    const details = {
      ...(matches.isFull ? { matchLimitReached: limit } : {}),
      ...(matches.hasCutLines ? { linesTruncated: true } : {}),
    };
    return limited(matches.lines, "No matches found", notices, details, last);
  });
}
