// Estimates of tokens, at four characters each.

import { getSystemMessageText } from "./transcript.mjs";

const CHARACTERS_OF_IMAGE = 4800;
const RESERVED_TOKENS = 4096;

const tokens = (characters) => Math.ceil(characters / 4);

function json(value) {
  try {
    return JSON.stringify(value) ?? "undefined";
  } catch {
    return "[unserializable]";
  }
}

/** Returns the tokens of the conversation that an answer was counted with. */
export function calculateContextTokens(usage) {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** Returns the tokens of a text. */
export function estimateTextTokens(text) {
  return tokens(text.length);
}

/** Returns the tokens of the content of a message. */
export function estimateTextAndImageContentTokens(content) {
  if (typeof content === "string") return tokens(content.length);
  const sizes = content.map((block) => (block.type === "text" ? block.text.length : CHARACTERS_OF_IMAGE));
  return tokens(sizes.reduce((sum, size) => sum + size, 0));
}

function sizeOfBlock(block) {
  if (block.type === "text") return block.text.length;
  if (block.type === "thinking") return block.thinking.length;
  return block.name.length + json(block.arguments).length;
}

/** Returns the tokens of a message. */
export function estimateMessageTokens(message) {
  if (message.role === "system") {
    const tools = [message.toolsAdded, message.toolsRemoved].filter((list) => list?.length > 0);
    return [getSystemMessageText(message), ...tools.map(json)].reduce((sum, text) => sum + tokens(text.length), 0);
  }
  if (message.role !== "assistant") return estimateTextAndImageContentTokens(message.content);
  return tokens(message.content.reduce((sum, block) => sum + sizeOfBlock(block), 0));
}

/** Returns the index of the last answer whose usage still describes what came before it. */
function lastCounted(messages) {
  let newest = Number.NEGATIVE_INFINITY;
  let found = -1;
  for (const [index, message] of messages.entries()) {
    const isWhole = message.role === "assistant" && !["aborted", "error"].includes(message.stopReason);
    // What is newer than the answer before it was put there later, such as a summary.
    if (isWhole && message.timestamp >= newest && calculateContextTokens(message.usage) > 0) found = index;
    newest = Math.max(newest, message.timestamp);
  }
  return found;
}

/** Returns the tokens of a conversation: those that were counted, and an estimate of the rest. */
export function estimateContextTokens(context) {
  const messages = context.messages ?? context;
  const index = lastCounted(messages);
  const usageTokens = index < 0 ? 0 : calculateContextTokens(messages[index].usage);
  const trailingTokens = messages.slice(index + 1).reduce((sum, message) => sum + estimateMessageTokens(message), 0);
  return { tokens: usageTokens + trailingTokens, usageTokens, trailingTokens, lastUsageIndex: index < 0 ? null : index };
}

/** Returns how long an answer may be beside the conversation. */
export function clampMaxTokensToContext(model, context, maxTokens) {
  if (model.contextWindow <= 0) return Math.max(1, maxTokens);
  const free = model.contextWindow - estimateContextTokens(context).tokens - RESERVED_TOKENS;
  return Math.min(maxTokens, Math.max(1, free));
}
