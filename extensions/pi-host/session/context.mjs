// What of a session a model sees: the active branch after compactions and context edits.

import { createBranchSummaryMessage, createCompactionSummaryMessage, createCustomMessage } from "./messages.mjs";

const EDITABLE_ROLES = new Set(["user", "assistant", "toolResult", "custom"]);

function indexOf(entries) {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** Returns the entries from the root to `start`. A loop of parents, which only a damaged file has, ends the walk. */
export function pathTo(start, byId) {
  const path = [];
  const seen = new Set();
  for (let entry = start; entry && !seen.has(entry); ) {
    seen.add(entry);
    path.push(entry);
    entry = entry.parentId ? byId.get(entry.parentId) : undefined;
  }
  return path.reverse();
}

function activePath(entries, leafId, byId) {
  if (leafId === null) return [];
  const index = byId ?? indexOf(entries);
  const leaf = (leafId && index.get(leafId)) || entries.at(-1);
  return leaf ? pathTo(leaf, index) : [];
}

/** Returns the newest compaction among the entries, or null. */
export function getLatestCompactionEntry(entries) {
  return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

function messageOf(entry) {
  const { message } = entry;
  if (!message || typeof message !== "object") return [];
  // Files are not validated: old versions and other writers may have left the content out.
  if (message.content == null && ["system", "user", "assistant", "toolResult"].includes(message.role)) {
    return [{ ...message, content: message.role === "system" ? "" : [] }];
  }
  return [message];
}

/** Returns the messages that an entry contributes to the conversation. */
export function sessionEntryToContextMessages(entry) {
  switch (entry.type) {
    case "message":
      return messageOf(entry);
    case "custom_message":
      return [createCustomMessage(entry.customType, entry.content ?? [], entry.display, entry.details, entry.timestamp)];
    case "branch_summary":
      return entry.summary ? [createBranchSummaryMessage(entry.summary, entry.fromId, entry.timestamp)] : [];
    case "compaction": {
      const summary = createCompactionSummaryMessage(entry.summary, entry.tokensBefore, entry.timestamp);
      return entry.systemMessage ? [entry.systemMessage, summary] : [summary];
    }
    default:
      return [];
  }
}

const isSystem = (entry) => entry.type === "message" && entry.message?.role === "system";

function afterCompaction(path) {
  const at = path.findLastIndex((entry) => entry.type === "compaction");
  if (at < 0) return path;
  const compaction = path[at];
  const before = path.slice(0, at);
  const first = before.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  // The compaction carries the system prompt itself.
  const kept = first < 0 ? [] : before.slice(first).filter((entry) => !isSystem(entry));
  return [compaction, ...kept, ...path.slice(at + 1)];
}

/** Returns the entries of the active branch that count: the newest compaction, what it kept, and what came after it. */
export function buildContextEntries(entries, leafId, byId) {
  return afterCompaction(activePath(entries, leafId, byId));
}

/** Returns the messages of an entry with a context edit applied to them. */
export function projectContextEntry(entry, edit) {
  const messages = sessionEntryToContextMessages(entry);
  if (!edit) return messages;
  const { replacement } = edit;
  if (replacement === null) return [];
  return messages.map((message) => {
    if (!EDITABLE_ROLES.has(message.role)) return message;
    const needsBlocks = message.role === "assistant" || message.role === "toolResult";
    const { content } = replacement;
    return {
      ...message,
      content: needsBlocks && typeof content === "string" ? [{ type: "text", text: content }] : content,
    };
  });
}

function settingsOf(path) {
  let thinkingLevel = "off";
  let model = null;
  for (const entry of path) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message?.role === "assistant") {
      model = { provider: entry.message.provider, modelId: entry.message.model };
    }
  }
  return { thinkingLevel, model };
}

/** Returns what a model sees, with the entry that each message comes from. */
export function buildSessionProjection(entries, leafId, byId) {
  const path = activePath(entries, leafId, byId);
  const contextEntries = afterCompaction(path);
  const edits = new Map();
  for (const entry of contextEntries) {
    if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  }
  const projected = contextEntries.map((sourceEntry, index) => ({
    sourceEntry,
    // An older compaction can lie within what the newest one kept. Its summary is part of the newest one's.
    messages:
      sourceEntry.type === "compaction" && index > 0 ? [] : projectContextEntry(sourceEntry, edits.get(sourceEntry.id)),
  }));
  return { entries: projected, messages: projected.flatMap((entry) => entry.messages), ...settingsOf(path) };
}

/** Returns what a model sees of the session. */
export function buildSessionContext(entries, leafId, byId) {
  const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId, byId);
  return { messages, thinkingLevel, model };
}
