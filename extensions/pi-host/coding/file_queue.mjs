// Changes of a file wait for each other; changes of different files do not.

import { realpath } from "node:fs/promises";
import { resolve } from "node:path";

/** The last change that was asked for of each file. */
const latest = new Map();
/** Names of files are looked up one after the other, so that changes keep the order in which they were asked for. */
let lookup = Promise.resolve();

/** Returns the file's name behind links, so that two names of one file share a queue. */
async function identityOf(path) {
  const absolute = resolve(path);
  try {
    return await realpath(absolute);
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return absolute;
    throw error;
  }
}

/** Runs `change` when the changes of the file that were asked for before are done. Returns what it returns. */
export async function withFileMutationQueue(filePath, change) {
  const turn = lookup.then(async () => {
    const file = await identityOf(filePath);
    const before = latest.get(file);
    const { promise: done, resolve: finish } = Promise.withResolvers();
    latest.set(file, done);
    return { file, before, done, finish };
  });
  lookup = turn.catch(() => undefined);
  const { file, before, done, finish } = await turn;
  await before;
  try {
    return await change();
  } finally {
    finish();
    if (latest.get(file) === done) latest.delete(file);
  }
}
