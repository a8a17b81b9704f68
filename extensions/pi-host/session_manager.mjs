// Sessions as extensions see them: the running one, read only, and session files that they open themselves.

import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bridge } from "./bridge.mjs";
import { entryId, uuidv7 } from "./identifiers.mjs";
import { getCurrentSystemMessage } from "./model/transcript.mjs";
import { currentCwd, getAgentDir, normalizePath, resolvePath } from "./paths.mjs";
import { buildContextEntries, buildSessionContext, buildSessionProjection } from "./session/context.mjs";
import {
  CURRENT_SESSION_VERSION,
  assertValidSessionId,
  defaultSessionDirPath,
  findMostRecentSession,
  getDefaultSessionDir,
  loadEntriesFromFile,
  migrateSessionEntries,
  readHeader,
  startedIn,
} from "./session/file.mjs";
import { EntryIndex } from "./session/index.mjs";
import { byActivity, readSessions, sessionFiles } from "./session/listing.mjs";

export * from "./session/context.mjs";
export * from "./session/file.mjs";

const running = { index: new EntryIndex() };

/** Returns the index of the running session. The host's list only grows, unless another session took its place. */
function runningIndex() {
  const entries = bridge.entries();
  let { index } = running;
  const known = index.entries.length;
  const isContinued = known <= entries.length && (known === 0 || entries[known - 1] === index.entries[known - 1]);
  if (!isContinued || (known > 0 && entries[0] !== index.entries[0])) {
    index = new EntryIndex();
    running.index = index;
  }
  for (let next = index.entries.length; next < entries.length; next += 1) index.add(entries[next]);
  return index;
}

function runningLeaf(index) {
  const { leafId } = bridge.state;
  return leafId === undefined ? (index.entries.at(-1)?.id ?? null) : leafId;
}

/** Returns the running session, as `ctx.sessionManager` offers it. */
export function readOnlySessionManager() {
  return Object.freeze({
    getCwd: currentCwd,
    getSessionDir: () => (bridge.state.sessionFile ? dirname(bridge.state.sessionFile) : defaultSessionDirPath(currentCwd())),
    getSessionId: () => bridge.state.sessionId ?? bridge.header()?.id ?? "",
    getSessionFile: () => bridge.state.sessionFile ?? undefined,
    getSessionName: () => (bridge.state.sessionName === undefined ? runningIndex().name : (bridge.state.sessionName ?? undefined)),
    getHeader: () => bridge.header() ?? null,
    isPersisted: () => Boolean(bridge.state.sessionFile),
    usesDefaultSessionDir: () =>
      !bridge.state.sessionFile || dirname(bridge.state.sessionFile) === defaultSessionDirPath(currentCwd()),
    getLeafId: () => runningLeaf(runningIndex()),
    getLeafEntry: () => {
      const index = runningIndex();
      return index.byId.get(runningLeaf(index));
    },
    getEntry: (id) => runningIndex().byId.get(id),
    getEntryCount: () => bridge.entries().length,
    getEntries: () => [...bridge.entries()],
    getChildren: (parentId) => runningIndex().children(parentId),
    getLabel: (id) => runningIndex().label(id),
    getBranch: (fromId) => {
      const index = runningIndex();
      return index.branch(fromId ?? runningLeaf(index));
    },
    getTree: () => runningIndex().tree(),
    buildContextEntries: () => {
      const index = runningIndex();
      return buildContextEntries(index.entries, runningLeaf(index), index.byId);
    },
    buildSessionProjection: () => {
      const index = runningIndex();
      return buildSessionProjection(index.entries, runningLeaf(index), index.byId);
    },
    buildSessionContext: () => {
      const index = runningIndex();
      return buildSessionContext(index.entries, runningLeaf(index), index.byId);
    },
  });
}

const isConversation = (entry) => entry.type === "message" && ["user", "assistant"].includes(entry.message?.role);
const line = (entry) => `${JSON.stringify(entry)}\n`;

/** A session in a file, or in memory only. Entries are only ever added; a branch begins at an earlier entry. */
export class SessionManager {
  #cwd;
  #sessionDir;
  #isPersisted;
  #sessionId = "";
  #sessionFile;
  #header;
  #index = new EntryIndex();
  #leafId = null;
  /** Whether the file has all entries. A file is made only once there is a conversation. */
  #isWritten = false;

  constructor(cwd, sessionDir, sessionFile, isPersisted, options, entries) {
    this.#cwd = resolvePath(cwd);
    this.#sessionDir = normalizePath(sessionDir);
    this.#isPersisted = isPersisted;
    if (isPersisted && this.#sessionDir) mkdirSync(this.#sessionDir, { recursive: true });
    if (sessionFile) this.setSessionFile(sessionFile);
    else if (entries?.length) this.#load(entries, options);
    else this.newSession(options);
  }

  static create(cwd, sessionDir, options) {
    return new SessionManager(cwd, sessionDir ?? getDefaultSessionDir(cwd), undefined, true, options);
  }

  static open(path, sessionDir, cwdOverride) {
    const file = resolvePath(path);
    const cwd = cwdOverride ?? readHeader(file)?.cwd;
    return new SessionManager(typeof cwd === "string" ? cwd : currentCwd(), sessionDir ?? dirname(file), file, true);
  }

  static continueRecent(cwd, sessionDir) {
    const folder = sessionDir ? normalizePath(sessionDir) : getDefaultSessionDir(cwd);
    const recent = findMostRecentSession(folder, folder === defaultSessionDirPath(cwd) ? undefined : cwd);
    return new SessionManager(cwd, folder, recent ?? undefined, true);
  }

  static inMemory(cwd = currentCwd(), options, entries) {
    return new SessionManager(cwd, "", undefined, false, options, entries);
  }

  static forkFrom(sourcePath, targetCwd, sessionDir, options) {
    const source = resolvePath(sourcePath);
    const cwd = resolvePath(targetCwd);
    const entries = loadEntriesFromFile(source);
    if (entries.length === 0) throw new Error(`Cannot fork ${source}: it is empty or not a session`);
    migrateSessionEntries(entries);
    const folder = sessionDir ? normalizePath(sessionDir) : getDefaultSessionDir(cwd);
    mkdirSync(folder, { recursive: true });
    const header = newHeader(cwd, { ...options, parentSession: source });
    const file = join(folder, fileName(header));
    const copied = entries.filter((entry) => entry.type !== "session");
    writeFileSync(file, [header, ...copied].map(line).join(""), { flag: "wx" });
    return new SessionManager(cwd, folder, file, true);
  }

  static findById(cwd, id, sessionDir) {
    const folder = sessionDir ? normalizePath(sessionDir) : defaultSessionDirPath(cwd);
    const isShared = folder !== defaultSessionDirPath(cwd);
    try {
      for (const name of readdirSync(folder)) {
        if (!name.endsWith(".jsonl")) continue;
        const header = readHeader(join(folder, name));
        if (header?.id === id && (!isShared || startedIn(header.cwd, cwd))) return join(folder, name);
      }
    } catch {
      // A folder that cannot be read has no sessions.
    }
    return undefined;
  }

  static async list(cwd, sessionDir, onProgress, signal) {
    const folder = sessionDir ? normalizePath(sessionDir) : defaultSessionDirPath(cwd);
    const isShared = folder !== defaultSessionDirPath(cwd);
    const belongs = (session) => !isShared || startedIn(session.cwd, cwd);
    const report = onProgress && ((loaded, total, partial) => onProgress(loaded, total, partial?.filter(belongs)));
    return (await readSessions(await sessionFiles(folder), report, signal)).filter(belongs);
  }

  static async listAll(...parameters) {
    const folder = typeof parameters[0] === "string" ? normalizePath(parameters[0]) : undefined;
    const onProgress = parameters.find((parameter) => typeof parameter === "function");
    const signal = parameters.find((parameter) => parameter instanceof AbortSignal);
    if (folder) return readSessions(await sessionFiles(folder), onProgress, signal);
    const root = join(getAgentDir(), "sessions");
    const folders = await readdir(root).catch(() => []);
    const files = await Promise.all(folders.map((name) => sessionFiles(join(root, name))));
    return byActivity(await readSessions(files.flat(), onProgress, signal));
  }

  /** Continues with the session of another file. */
  setSessionFile(sessionFile) {
    const file = resolvePath(sessionFile);
    const entries = loadEntriesFromFile(file);
    if (entries.length > 0) {
      this.#sessionFile = file;
      this.#load(entries);
      this.#isWritten = true;
      return;
    }
    if (existsSync(file) && statSync(file).size > 0) throw new Error(`${file} is not a session file`);
    this.newSession();
    this.#sessionFile = file;
    if (existsSync(file)) this.#rewrite();
  }

  newSession(options) {
    this.#header = newHeader(this.#cwd, options);
    this.#sessionId = this.#header.id;
    this.#replaceEntries([]);
    this.#isWritten = false;
    this.#sessionFile = this.#isPersisted ? join(this.#sessionDir, fileName(this.#header)) : undefined;
    return this.#sessionFile;
  }

  #load(entries, options) {
    const header = entries.find((entry) => entry.type === "session");
    if (!header) this.newSession(options);
    else {
      this.#header = header;
      this.#sessionId = header.id;
    }
    const isMigrated = header !== undefined && migrateSessionEntries(entries);
    this.#replaceEntries(entries.filter((entry) => entry.type !== "session"));
    if (isMigrated) this.#rewrite();
  }

  #replaceEntries(entries) {
    this.#index = new EntryIndex();
    for (const entry of entries) this.#index.add(entry);
    this.#leafId = entries.at(-1)?.id ?? null;
  }

  #rewrite() {
    if (!this.#isPersisted || !this.#sessionFile) return;
    writeFileSync(this.#sessionFile, [this.#header, ...this.#index.entries].map(line).join(""));
    this.#isWritten = true;
  }

  #append(type, fields) {
    const place = { id: entryId(this.#index.byId), parentId: this.#leafId, timestamp: new Date().toISOString() };
    // The order of fields in the file is pi's.
    const entry = type.startsWith("custom") ? { type, ...fields, ...place } : { type, ...place, ...fields };
    this.#index.add(entry);
    this.#leafId = entry.id;
    if (this.#isPersisted && this.#sessionFile) {
      if (this.#isWritten) appendFileSync(this.#sessionFile, line(entry));
      else if (this.#index.entries.some(isConversation)) this.#rewrite();
    }
    return entry;
  }

  isPersisted() {
    return this.#isPersisted;
  }
  getCwd() {
    return this.#cwd;
  }
  getSessionDir() {
    return this.#sessionDir;
  }
  usesDefaultSessionDir() {
    return this.#sessionDir === defaultSessionDirPath(this.#cwd);
  }
  getSessionId() {
    return this.#sessionId;
  }
  getSessionFile() {
    return this.#sessionFile;
  }
  getSessionName() {
    return this.#index.name;
  }
  getHeader() {
    return this.#header ?? null;
  }
  getEntries() {
    return [...this.#index.entries];
  }
  getEntryCount() {
    return this.#index.entries.length;
  }
  getEntry(id) {
    return this.#index.byId.get(id);
  }
  getLeafId() {
    return this.#leafId;
  }
  getLeafEntry() {
    return this.#leafId ? this.#index.byId.get(this.#leafId) : undefined;
  }
  getChildren(parentId) {
    return this.#index.children(parentId);
  }
  getLabel(id) {
    return this.#index.label(id);
  }
  getBranch(fromId) {
    return this.#index.branch(fromId ?? this.#leafId);
  }
  getTree() {
    return this.#index.tree();
  }
  buildContextEntries() {
    return buildContextEntries(this.#index.entries, this.#leafId, this.#index.byId);
  }
  buildSessionProjection() {
    return buildSessionProjection(this.#index.entries, this.#leafId, this.#index.byId);
  }
  buildSessionContext() {
    return buildSessionContext(this.#index.entries, this.#leafId, this.#index.byId);
  }

  appendMessage(message) {
    return this.#append("message", { message }).id;
  }
  appendThinkingLevelChange(thinkingLevel) {
    return this.#append("thinking_level_change", { thinkingLevel }).id;
  }
  appendModelChange(provider, modelId) {
    return this.#append("model_change", { provider, modelId }).id;
  }
  appendUsage(kind, provider, model, usage, note) {
    return this.#append("usage", { kind, provider, model, usage, ...(note ? { note } : {}) });
  }
  appendCustomEntry(customType, data) {
    return this.#append("custom", { customType, data }).id;
  }
  appendCustomMessageEntry(customType, content, display, details) {
    return this.#append("custom_message", { customType, content, display, details }).id;
  }
  appendSessionInfo(name) {
    return this.#append("session_info", { name: String(name).replace(/[\r\n]+/g, " ").trim() }).id;
  }
  appendLabelChange(targetId, label) {
    this.#require(targetId);
    return this.#append("label", { targetId, label }).id;
  }

  appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage) {
    const system = getCurrentSystemMessage(this.buildSessionProjection().messages);
    const id = entryId(this.#index.byId);
    const systemMessage = system ? { systemMessage: { ...system, timestamp: Date.now() } } : {};
    // Without a first kept entry nothing of the past is kept: the compaction names itself.
    const kept = firstKeptEntryId ?? id;
    return this.#append("compaction", {
      id,
      summary,
      firstKeptEntryId: kept,
      tokensBefore,
      details,
      usage,
      fromHook,
      ...systemMessage,
    }).id;
  }

  appendContextEdit(targetId, replacement) {
    const isContent = (content) => typeof content === "string" || Array.isArray(content);
    if (replacement !== null && !isContent(replacement?.content)) {
      throw new Error("The replacement of a context edit is null or has a text or a list as content");
    }
    const target = this.#require(targetId);
    if (!this.getBranch().includes(target)) throw new Error(`Entry ${targetId} is not on the active branch`);
    const role = target.type === "custom_message" ? "custom" : target.type === "message" ? target.message.role : undefined;
    if (!["user", "assistant", "toolResult", "custom"].includes(role)) {
      throw new Error(`Entry ${targetId} has no content that can be edited`);
    }
    const needsBlocks = role === "assistant" || role === "toolResult";
    if (needsBlocks && typeof replacement?.content === "string") {
      return this.#append("context_edit", {
        targetId,
        replacement: { content: [{ type: "text", text: replacement.content }] },
      }).id;
    }
    return this.#append("context_edit", { targetId, replacement }).id;
  }

  #require(id) {
    const entry = this.#index.byId.get(id);
    if (!entry) throw new Error(`Entry ${id} not found`);
    return entry;
  }

  branch(branchFromId) {
    this.#require(branchFromId);
    this.#leafId = branchFromId;
  }
  resetLeaf() {
    this.#leafId = null;
  }
  branchWithSummary(branchFromId, summary, details, fromHook, usage) {
    if (branchFromId !== null) this.#require(branchFromId);
    const fromId = this.#leafId ?? "root";
    this.#leafId = branchFromId;
    return this.#append("branch_summary", { fromId, summary, details, usage, fromHook }).id;
  }

  /** Goes on in a new session that has only the branch that ends at an entry. Returns the new file, if there is one. */
  createBranchedSession(leafId) {
    const path = this.getBranch(leafId);
    if (path.length === 0) throw new Error(`Entry ${leafId} not found`);
    const labels = this.#index.labels;
    const entries = withoutLabels(path);
    const taken = new Set(entries.map((entry) => entry.id));
    for (const [targetId, { label, timestamp }] of labels.filter(([id]) => taken.has(id))) {
      const id = entryId(taken);
      taken.add(id);
      entries.push({ type: "label", id, parentId: entries.at(-1).id, timestamp, targetId, label });
    }
    this.newSession({ parentSession: this.#isPersisted ? this.#sessionFile : undefined });
    this.#replaceEntries(entries);
    if (entries.some(isConversation)) this.#rewrite();
    return this.#sessionFile;
  }
}

function newHeader(cwd, options) {
  if (options?.id !== undefined) assertValidSessionId(options.id);
  return {
    type: "session",
    version: CURRENT_SESSION_VERSION,
    id: options?.id ?? uuidv7(),
    timestamp: new Date().toISOString(),
    cwd,
    parentSession: options?.parentSession,
  };
}

function fileName(header) {
  return `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`;
}

/** Returns copies of the entries of a branch without its labels, each with the one before it as parent. */
function withoutLabels(path) {
  const kept = [];
  const movedTo = new Map();
  let skipped = [];
  for (const entry of path) {
    if (entry.type === "label") {
      skipped.push(entry.id);
      continue;
    }
    for (const id of skipped) movedTo.set(id, entry.id);
    skipped = [];
    const copy = { ...entry, parentId: kept.at(-1)?.id ?? null };
    // What a compaction keeps may begin at a label, which is gone: then it begins at what came after the label.
    if (copy.type === "compaction") copy.firstKeptEntryId = movedTo.get(copy.firstKeptEntryId) ?? copy.firstKeptEntryId;
    kept.push(copy);
  }
  return kept;
}
