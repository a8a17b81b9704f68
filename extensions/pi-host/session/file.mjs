// Session files: one JSON object per line, a header first. Version 3 is the current one.

import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { entryId } from "../identifiers.mjs";
import { getAgentDir, normalizePath, resolvePath } from "../paths.mjs";

export const CURRENT_SESSION_VERSION = 3;

/** The most bytes that are read to find the header of a file. */
const HEADER_LIMIT = 1024 * 1024;
const VALID_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** Throws if a session cannot have this id. */
export function assertValidSessionId(id) {
  if (!VALID_ID.test(id)) {
    throw new Error("A session id has letters, digits, '-', '_' and '.', and begins and ends with a letter or digit");
  }
}

/** Returns the object of a line, or undefined if there is none: the last line of a file may be torn. */
export function parseLine(line) {
  const text = line.trim();
  if (!text) return undefined;
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the objects of a session's text, the header included. Broken lines are skipped. */
export function parseSessionEntries(content) {
  return content.split("\n").map(parseLine).filter((entry) => entry !== undefined);
}

function addTree(entries) {
  const taken = new Set();
  let previous = null;
  for (const entry of entries) {
    if (entry.type === "session") continue;
    entry.id = entryId(taken);
    taken.add(entry.id);
    entry.parentId = previous;
    previous = entry.id;
  }
  for (const entry of entries) {
    if (entry.type !== "compaction" || typeof entry.firstKeptEntryIndex !== "number") continue;
    const kept = entries[entry.firstKeptEntryIndex];
    if (kept && kept.type !== "session") entry.firstKeptEntryId = kept.id;
    delete entry.firstKeptEntryIndex;
  }
}

/** Brings entries of older versions to the current one, in place. Returns whether anything had to change. */
export function migrateSessionEntries(entries) {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  if (version >= CURRENT_SESSION_VERSION) return false;
  if (version < 2) addTree(entries);
  for (const entry of entries) {
    if (entry.type === "message" && entry.message?.role === "hookMessage") entry.message.role = "custom";
  }
  if (header) header.version = CURRENT_SESSION_VERSION;
  return true;
}

const isHeader = (entry) => entry?.type === "session" && typeof entry.id === "string";

/** Returns the objects of a file; none if it does not exist or is not a session. A torn last line is closed. */
export function loadEntriesFromFile(filePath) {
  const path = normalizePath(filePath);
  if (!existsSync(path)) return [];
  const content = readFileSync(path, "utf8");
  const entries = parseSessionEntries(content);
  if (!isHeader(entries[0])) return [];
  if (!content.endsWith("\n")) appendFileSync(path, "\n");
  return entries;
}

/** Returns the header of a file, or undefined if it has none near its beginning. */
export function readHeader(filePath) {
  let descriptor;
  try {
    descriptor = openSync(filePath, "r");
    let text = "";
    const buffer = Buffer.allocUnsafe(16 * 1024);
    for (let total = 0; total < HEADER_LIMIT; ) {
      const count = readSync(descriptor, buffer, 0, buffer.length, null);
      total += count;
      text += buffer.toString("latin1", 0, count);
      const lines = text.split("\n");
      const complete = count === 0 ? lines : lines.slice(0, -1);
      for (const line of complete) {
        const entry = parseLine(Buffer.from(line, "latin1").toString("utf8"));
        if (entry) return isHeader(entry) ? entry : undefined;
      }
      if (count === 0) return undefined;
      text = lines.at(-1);
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Returns the folder of the sessions of a working directory, whether it exists or not. */
export function defaultSessionDirPath(cwd, agentDir = getAgentDir()) {
  const name = resolvePath(cwd).replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
  return join(resolvePath(agentDir), "sessions", `--${name}--`);
}

/** Returns the folder of the sessions of a working directory and creates it if necessary. */
export function getDefaultSessionDir(cwd, agentDir = getAgentDir()) {
  const folder = defaultSessionDirPath(cwd, agentDir);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Tells whether a session was started in a working directory. */
export function startedIn(sessionCwd, cwd) {
  return typeof sessionCwd === "string" && sessionCwd !== "" && resolvePath(sessionCwd) === resolvePath(cwd);
}

/** Returns the session file that was changed last, or null. */
export function findMostRecentSession(sessionDir, cwd) {
  const folder = normalizePath(sessionDir);
  try {
    const files = readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => join(folder, name))
      .map((path) => ({ path, changed: statSync(path).mtimeMs }))
      .sort((left, right) => right.changed - left.changed);
    for (const { path } of files) {
      const header = readHeader(path);
      if (header && (!cwd || startedIn(header.cwd, cwd))) return path;
    }
  } catch {
    // The folder is missing or a file vanished: there is nothing to continue.
  }
  return null;
}
