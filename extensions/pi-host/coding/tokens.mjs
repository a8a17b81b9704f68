// How large conversations are.

export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

const CHARACTERS_PER_TOKEN = 4;
const CHARACTERS_PER_IMAGE = 4800;

/** Returns the tokens of a request and its answer. */
export function calculateContextTokens(usage) {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** Tells whether a conversation is so large that it has to be summarized. */
export function shouldCompact(contextTokens, contextWindow, { enabled, reserveTokens }) {
  return Boolean(enabled) && contextTokens > contextWindow - reserveTokens;
}

function contentLength(content) {
  if (typeof content === "string") return content.length;
  let length = 0;
  for (const block of content ?? []) {
    if (block.type === "text") length += block.text?.length ?? 0;
    else if (block.type === "image") length += CHARACTERS_PER_IMAGE;
    else if (block.type === "thinking") length += block.thinking.length;
    else if (block.type === "toolCall") length += block.name.length + JSON.stringify(block.arguments).length;
  }
  return length;
}

function lengthOf(message) {
  switch (message.role) {
    case "system": {
      const sections = Object.values(message.sections ?? {}).map((section) => section ?? "");
      const tools = message.toolsAdded ? JSON.stringify(message.toolsAdded) : "";
      return contentLength(message.content) + sections.join("").length + tools.length;
    }
    case "user":
    case "assistant":
    case "custom":
    case "toolResult":
      return contentLength(message.content);
    case "bashExecution":
      return message.command.length + message.output.length;
    case "branchSummary":
    case "compactionSummary":
      return message.summary.length;
    default:
      return 0;
  }
}

/** Returns about how many tokens a message has. */
export function estimateTokens(message) {
  return Math.ceil(lengthOf(message) / CHARACTERS_PER_TOKEN);
}

const total = (messages) => messages.reduce((sum, message) => sum + estimateTokens(message), 0);

/** Returns the usage that the provider reported for an answer, if it is one that counts. */
function reportedUsage(message) {
  const { role, stopReason, usage } = message ?? {};
  const counts = role === "assistant" && usage && stopReason !== "aborted" && stopReason !== "error";
  return counts && calculateContextTokens(usage) > 0 ? usage : undefined;
}

/** Returns the usage of the last answer among the entries. */
export function getLastAssistantUsage(entries) {
  const entry = entries.findLast(({ type, message }) => type === "message" && reportedUsage(message));
  return entry && reportedUsage(entry.message);
}

/** Returns the size of a conversation: what the provider reported last, and an estimate of what came after it. */
export function estimateContextTokens(messages) {
  const lastUsageIndex = messages.findLastIndex((message) => reportedUsage(message));
  if (lastUsageIndex < 0) {
    const tokens = total(messages);
    return { tokens, usageTokens: 0, trailingTokens: tokens, lastUsageIndex: null };
  }
  const usageTokens = calculateContextTokens(reportedUsage(messages[lastUsageIndex]));
  const trailingTokens = total(messages.slice(lastUsageIndex + 1));
  return { tokens: usageTokens + trailingTokens, usageTokens, trailingTokens, lastUsageIndex };
}
