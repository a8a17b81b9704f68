// Lists a directory over operations that an extension gives.

import { access, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { resolveToCwd } from "../../paths.mjs";
import { untilAborted } from "./abort.mjs";
import { limited } from "./limited.mjs";

const DEFAULT_LIMIT = 500;

const files = {
  exists: (path) => access(path).then(() => true, () => false),
  stat,
  readdir,
};

const byName = (left, right) => left.toLowerCase().localeCompare(right.toLowerCase());

async function listed(operations, folder, limit) {
  const lines = [];
  for (const name of [...(await operations.readdir(folder))].sort(byName)) {
    if (lines.length >= limit) return { lines, isLimited: true };
    try {
      lines.push((await operations.stat(join(folder, name))).isDirectory() ? `${name}/` : name);
    } catch {
      // It vanished, or is a link to nothing.
    }
  }
  return { lines, isLimited: false };
}

/** Lists a directory. */
export function ls(args, { cwd, options, signal }) {
  const operations = options.operations ?? files;
  const limit = args.limit ?? DEFAULT_LIMIT;
  return untilAborted(signal, async () => {
    const folder = resolveToCwd(args.path || ".", cwd);
    if (!(await operations.exists(folder))) throw new Error(`Path not found: ${folder}`);
    if (!(await operations.stat(folder)).isDirectory()) throw new Error(`Not a directory: ${folder}`);
    const { lines, isLimited } = await listed(operations, folder, limit).catch((error) => {
      throw new Error(`Cannot read directory: ${error.message}`);
    });
    const notices = isLimited ? [`Only the first ${limit} entries are shown; set limit for more`] : [];
    return limited(lines, "(empty directory)", notices, isLimited ? { entryLimitReached: limit } : {});
  });
}
