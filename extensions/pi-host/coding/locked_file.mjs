// Files of settings that several agents change: a folder beside the file says that one of them is at it.

import { mkdirSync, readFileSync, realpathSync, renameSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const ATTEMPTS = 50;
const WAIT_MS = 20;
/** A lock that is older than this was left by an agent that crashed. */
const STALE_MS = 10_000;

function wait() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
}

function isStale(lock) {
  try {
    return Date.now() - statSync(lock).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

function acquire(lock) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      mkdirSync(lock);
      return;
    } catch (error) {
      if (error.code !== "EEXIST" || attempt === ATTEMPTS) throw error;
      if (isStale(lock)) rmdirSync(lock);
      else wait();
    }
  }
}

/** Returns the text of a file, or undefined if there is none. */
export function readText(path) {
  try {
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  }
}

function target(path) {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Replaces the text of a file by what `change` returns for the present one; undefined leaves it. Nobody sees half of it. */
export function changeFile(path, change, mode) {
  mkdirSync(dirname(path), { recursive: true });
  const lock = `${path}.lock`;
  acquire(lock);
  try {
    const next = change(readText(path));
    if (next === undefined) return;
    const file = target(path);
    const temporary = `${file}.${process.pid}.tmp`;
    writeFileSync(temporary, next, mode === undefined ? undefined : { mode });
    renameSync(temporary, file);
  } finally {
    rmdirSync(lock);
  }
}
