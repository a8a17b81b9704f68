// The entries of the running session, as far as they are known here. The engine has them; they are asked for when they are used.

import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { CURRENT_SESSION_VERSION, parseSessionEntries } from "../session/file.mjs";

/** How long entries are trusted while nothing is heard from the engine, in milliseconds. */
const FRESH_MS = 50;
const LONGEST_HEADER = 64 * 1024;

/** The entries of the running session. */
export class Entries {
  #ask;
  #state;
  #list = [];
  #known = new Set();
  #sessionId;
  #header;
  #askedAt = 0;
  #isStale = true;

  /** `ask` is a synchronous request for the entries after one. */
  constructor(state, ask) {
    this.#state = state;
    this.#ask = ask;
  }

  /** Notes that there may be more of them. */
  markStale() {
    this.#isStale = true;
  }

  /** Returns all of them, in the order of the session's file. The list only grows while the session stays. */
  list() {
    if (this.#state.sessionId !== this.#sessionId) this.#forget();
    if (this.#isStale || Date.now() - this.#askedAt > FRESH_MS) this.#refresh();
    return this.#list;
  }

  /** Returns the first line of the session's file, or what it would be. */
  header() {
    if (this.#state.sessionId !== this.#sessionId) this.#forget();
    this.#header ??= readHeader(this.#state.sessionFile) ?? {
      type: "session",
      version: CURRENT_SESSION_VERSION,
      id: this.#state.sessionId ?? "",
      timestamp: new Date().toISOString(),
      cwd: this.#state.cwd ?? process.cwd(),
    };
    return this.#header;
  }

  #forget() {
    this.#sessionId = this.#state.sessionId;
    this.#list = [];
    this.#known = new Set();
    this.#header = undefined;
    this.#isStale = true;
  }

  #refresh() {
    const answer = this.#askForMore();
    for (const entry of answer?.entries ?? []) {
      if (entry.type === "session") this.#header = entry;
      else if (!this.#known.has(entry.id)) {
        this.#known.add(entry.id);
        this.#list.push(entry);
      }
    }
    if (answer?.leafId !== undefined) this.#state.leafId = answer.leafId;
    this.#askedAt = Date.now();
    this.#isStale = false;
  }

  /** Returns what the session's file has: more than fits into one answer, which failed with `error`. */
  #stored(error) {
    const entries = readEntries(this.#state.sessionFile);
    if (entries.length === 0) throw error;
    return { entries };
  }

  #askForMore() {
    const last = this.#list.at(-1)?.id;
    try {
      return this.#ask(last);
    } catch (error) {
      if (last === undefined) return this.#stored(error);
      // The last entry is not of this session any more.
      this.#forget();
      return this.#ask(undefined);
    }
  }
}

/** Returns the entries of a session's file; none if there is no file. */
function readEntries(file) {
  try {
    return file ? parseSessionEntries(readFileSync(file, "utf8")) : [];
  } catch {
    return [];
  }
}

function readHeader(file) {
  if (!file) return undefined;
  let descriptor;
  try {
    descriptor = openSync(file, "r");
    const buffer = Buffer.alloc(LONGEST_HEADER);
    const text = buffer.toString("utf8", 0, readSync(descriptor, buffer));
    const header = JSON.parse(text.split("\n", 1)[0]);
    return header.type === "session" ? header : undefined;
  } catch {
    // A file is only made once there is a conversation.
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
