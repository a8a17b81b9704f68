// The files of a folder that are not ignored.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { IgnoreRules } from "../ignore.mjs";
import { throwIfAborted } from "./abort.mjs";

/** Yields the entries below a folder, sorted, as `{ path, isFolder }` with paths from the folder. Links are not followed. */
export async function* walk(root, signal) {
  const pending = [{ path: "", rules: new IgnoreRules() }];
  while (pending.length > 0) {
    throwIfAborted(signal);
    const { path: parent, rules } = pending.pop();
    const folder = join(root, parent);
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const own = rules.within(folder, parent);
    const folders = [];
    for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
      const path = parent ? `${parent}/${entry.name}` : entry.name;
      const isFolder = entry.isDirectory();
      if (entry.name === ".git" || own.ignores(path, isFolder)) continue;
      yield { path, isFolder };
      if (isFolder) folders.push({ path, rules: own });
    }
    pending.push(...folders.reverse());
  }
}
