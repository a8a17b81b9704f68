// Conversations as text, and the files that they are about.

import { contentText } from "../model/transcript.mjs";

const LONGEST_RESULT = 2000;

function shortened(text) {
  const rest = text.length - LONGEST_RESULT;
  return rest > 0 ? `${text.slice(0, LONGEST_RESULT)}\n\n[... ${rest} more characters truncated]` : text;
}

function callText({ name, arguments: given }) {
  const parts = Object.entries(given ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${name}(${parts.join(", ")})`;
}

function assistantParts({ content }) {
  const of = (type) => content.filter((block) => block.type === type);
  const thinking = of("thinking").map((block) => block.thinking);
  const calls = of("toolCall").map(callText);
  return [
    ...(thinking.length > 0 ? [`[Assistant thinking]: ${thinking.join("\n")}`] : []),
    ...(of("text").length > 0 ? [`[Assistant]: ${contentText(content)}`] : []),
    ...(calls.length > 0 ? [`[Assistant tool calls]: ${calls.join("; ")}`] : []),
  ];
}

function partsOf(message) {
  if (message.role === "assistant") return assistantParts(message);
  const text = message.role === "user" || message.role === "toolResult" ? contentText(message.content, "") : "";
  if (!text) return [];
  return [message.role === "user" ? `[User]: ${text}` : `[Tool result]: ${shortened(text)}`];
}

/** Returns a conversation as one text, so that a model reads it and does not go on with it. */
export function serializeConversation(messages) {
  return messages.flatMap(partsOf).join("\n\n");
}

const KINDS = { read: "read", write: "written", edit: "edited" };

/** The files that a conversation has read, written and edited. */
export function fileOperations() {
  return { read: new Set(), written: new Set(), edited: new Set() };
}

/** Adds the files that the calls of a message name. */
export function addFileOperations(operations, message) {
  if (message.role !== "assistant" || !Array.isArray(message.content)) return;
  for (const block of message.content) {
    const path = block?.type === "toolCall" ? block.arguments?.path : undefined;
    const kind = typeof path === "string" && path && Object.hasOwn(KINDS, block.name) ? KINDS[block.name] : undefined;
    if (kind) operations[kind].add(path);
  }
}

/** Adds the files that an earlier summary names. */
export function addKnownFiles(operations, details) {
  for (const path of Array.isArray(details?.readFiles) ? details.readFiles : []) operations.read.add(path);
  for (const path of Array.isArray(details?.modifiedFiles) ? details.modifiedFiles : []) operations.edited.add(path);
}

/** Returns the files that were only read, and those that were changed. */
export function fileLists({ read, written, edited }) {
  const modified = new Set([...edited, ...written]);
  return { readFiles: [...read].filter((path) => !modified.has(path)).sort(), modifiedFiles: [...modified].sort() };
}

/** Returns the lists of files as the end of a summary. */
export function fileListText({ readFiles, modifiedFiles }) {
  const block = (tag, paths) => (paths.length > 0 ? `\n\n<${tag}>\n${paths.join("\n")}\n</${tag}>` : "");
  return block("read-files", readFiles) + block("modified-files", modifiedFiles);
}
