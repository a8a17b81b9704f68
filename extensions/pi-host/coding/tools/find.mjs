// Finds files over operations that an extension gives.

import { access } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";
import { resolveToCwd } from "../../paths.mjs";
import { globExpression } from "../glob.mjs";
import { throwIfAborted, untilAborted } from "./abort.mjs";
import { limited } from "./limited.mjs";
import { walk } from "./walk.mjs";

const DEFAULT_LIMIT = 1000;
const IGNORED = ["**/node_modules/**", "**/.git/**"];

/** Returns a path from the folder of the search, with forward slashes; that of a folder keeps its slash at the end. */
function shown(path, folder) {
  const short = (isAbsolute(path) ? relative(folder, path) : path).split(sep).join("/");
  return /[/\\]$/.test(path) && !short.endsWith("/") ? `${short}/` : short;
}

/** Returns the paths that match. A pattern without a slash is about names, one with slashes about the end of a path. */
async function matching(pattern, folder, limit, signal) {
  const isPath = pattern.includes("/");
  const anchored = pattern.startsWith("/") || pattern.startsWith("**/") ? pattern.replace(/^\//, "") : `**/${pattern}`;
  const expression = globExpression(isPath ? anchored : pattern);
  const found = [];
  for await (const { path, isFolder } of walk(folder, signal)) {
    if (expression.test(isPath ? path : path.split("/").at(-1))) found.push(isFolder ? `${path}/` : path);
    if (found.length >= limit) break;
  }
  return found;
}

/** Finds files and folders by a glob. */
export function find({ pattern, path, limit = DEFAULT_LIMIT }, { cwd, options, signal }) {
  const { operations } = options;
  return untilAborted(signal, async () => {
    const folder = resolveToCwd(path || ".", cwd);
    const exists = operations ? await operations.exists(folder) : await access(folder).then(() => true, () => false);
    if (!exists) throw new Error(`Path not found: ${folder}`);
    throwIfAborted(signal);
    const found = operations?.glob
      ? await operations.glob(pattern, folder, { ignore: [...IGNORED], limit })
      : await matching(pattern, folder, limit, signal);
    const isLimited = found.length >= limit;
    const notices = isLimited ? [`Only the first ${limit} results are shown`] : [];
    const lines = found.map((name) => shown(name, folder));
    return limited(lines, "No files found matching pattern", notices, isLimited ? { resultLimitReached: limit } : {});
  });
}
