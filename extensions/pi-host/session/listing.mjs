// Lists of session files, with what a chooser shows of each.

import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseLine } from "./file.mjs";

const AT_ONCE = 10;
const PARTIAL_EVERY = 10;

function textOf(message) {
  if (typeof message.content === "string") return message.content;
  if (!Array.isArray(message.content)) return "";
  return message.content.filter((block) => block?.type === "text").map((block) => block.text).join(" ");
}

/** Gathers what is shown of a session while its lines are read. */
class Summary {
  header;
  name;
  messageCount = 0;
  firstMessage = "";
  texts = [];
  active = 0;

  add(entry) {
    if (entry.type === "session_info") this.name = entry.name?.trim() || undefined;
    if (entry.type !== "message") return;
    this.messageCount += 1;
    const { message } = entry;
    if (message?.role !== "user" && message?.role !== "assistant") return;
    const time = typeof message.timestamp === "number" ? message.timestamp : Date.parse(entry.timestamp);
    if (time > this.active) this.active = time;
    const text = textOf(message);
    if (!text) return;
    this.texts.push(text);
    if (!this.firstMessage && message.role === "user") this.firstMessage = text;
  }

  info(path, changed) {
    const created = new Date(this.header.timestamp);
    const modified = this.active > 0 ? new Date(this.active) : Number.isNaN(created.getTime()) ? changed : created;
    return {
      path,
      id: this.header.id,
      cwd: typeof this.header.cwd === "string" ? this.header.cwd : "",
      name: this.name,
      parentSessionPath: this.header.parentSession,
      created,
      modified,
      messageCount: this.messageCount,
      firstMessage: this.firstMessage || "(no messages)",
      allMessagesText: this.texts.join(" "),
    };
  }
}

async function readInfo(path, signal) {
  try {
    const { mtime } = await stat(path);
    const summary = new Summary();
    const input = createReadStream(path, { encoding: "utf8", signal });
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const entry = parseLine(line);
      if (!entry) continue;
      if (summary.header) summary.add(entry);
      else if (entry.type === "session") summary.header = entry;
      else return undefined;
    }
    return summary.header ? summary.info(path, mtime) : undefined;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

/** Sorts sessions, the one that was active last first. */
export function byActivity(sessions) {
  return sessions.sort((left, right) => right.modified.getTime() - left.modified.getTime());
}

/** Returns the session files of a folder. */
export async function sessionFiles(folder) {
  try {
    const names = await readdir(folder);
    return names.filter((name) => name.endsWith(".jsonl")).sort().reverse().map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** Reads the given files, a few at once, and reports progress. */
export async function readSessions(files, onProgress, signal) {
  signal?.throwIfAborted();
  const found = [];
  let next = 0;
  let loaded = 0;
  const worker = async () => {
    while (next < files.length) {
      signal?.throwIfAborted();
      const path = files[next];
      next += 1;
      const info = await readInfo(path, signal);
      loaded += 1;
      if (info) found.push(info);
      const isPartial = loaded === 1 || loaded % PARTIAL_EVERY === 0 || loaded === files.length;
      onProgress?.(loaded, files.length, isPartial ? byActivity([...found]) : undefined);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, files.length) }, worker));
  return byActivity(found);
}
