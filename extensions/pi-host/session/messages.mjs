// The messages that only an agent knows (summaries, commands of the user, messages of extensions), and how a model sees them.

export const COMPACTION_SUMMARY_PREFIX =
  "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
export const COMPACTION_SUMMARY_SUFFIX = "\n</summary>";
export const BRANCH_SUMMARY_PREFIX =
  "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
export const BRANCH_SUMMARY_SUFFIX = "</summary>";

const milliseconds = (timestamp) => new Date(timestamp).getTime();

/** Returns a command of the user with its output, as a model reads it. */
export function bashExecutionToText(message) {
  const output = message.output ? `\`\`\`\n${message.output}\n\`\`\`` : "(no output)";
  let text = `Ran \`${message.command}\`\n${output}`;
  if (message.cancelled) text += "\n\n(command cancelled)";
  else if (message.exitCode) text += `\n\nCommand exited with code ${message.exitCode}`;
  if (message.truncated && message.fullOutputPath) {
    text += `\n\n[Output truncated. Full output: ${message.fullOutputPath}]`;
  }
  return text;
}

/** Returns the message of the summary of a branch that was left. */
export function createBranchSummaryMessage(summary, fromId, timestamp) {
  return { role: "branchSummary", summary, fromId, timestamp: milliseconds(timestamp) };
}

/** Returns the message of the summary that a compaction made. */
export function createCompactionSummaryMessage(summary, tokensBefore, timestamp) {
  return { role: "compactionSummary", summary, tokensBefore, timestamp: milliseconds(timestamp) };
}

/** Returns a message of an extension. */
export function createCustomMessage(customType, content, display, details, timestamp) {
  return { role: "custom", customType, content, display, details, timestamp: milliseconds(timestamp) };
}

function fromUser(content, message) {
  return { role: "user", content, timestamp: message.timestamp };
}

const text = (value) => [{ type: "text", text: value }];

function toLlm(message) {
  switch (message?.role) {
    case "system":
    case "user":
    case "assistant":
    case "toolResult":
      return message;
    case "bashExecution":
      return message.excludeFromContext ? undefined : fromUser(text(bashExecutionToText(message)), message);
    case "custom":
      return fromUser(typeof message.content === "string" ? text(message.content) : message.content, message);
    case "branchSummary":
      return fromUser(text(BRANCH_SUMMARY_PREFIX + message.summary + BRANCH_SUMMARY_SUFFIX), message);
    case "compactionSummary":
      return fromUser(text(COMPACTION_SUMMARY_PREFIX + message.summary + COMPACTION_SUMMARY_SUFFIX), message);
    default:
      return undefined;
  }
}

/** What bowline requires of a message and pi does without, by its role. */
const REQUIRED = {
  user: (message) => ({ ...message, content: blocks(message.content) }),
  assistant: (message) => ({ ...message, content: blocks(message.content) }),
  toolResult: (message) => ({
    ...message,
    content: blocks(message.content),
    toolName: message.toolName ?? "",
    isError: message.isError ?? false,
  }),
  bashExecution: (message) => ({ output: "", cancelled: false, truncated: false, ...message }),
  custom: (message) => ({ ...message, content: message.content ?? "" }),
  branchSummary: (message) => ({ fromId: "", ...message }),
  compactionSummary: (message) => ({ tokensBefore: 0, ...message }),
};

const blocks = (content) => (typeof content === "string" ? text(content) : (content ?? []));

/** Returns a message of an extension with what bowline requires; `undefined` if it is of a kind that is not part of a conversation. */
export function completeMessage(message) {
  if (!Object.hasOwn(REQUIRED, message?.role)) return undefined;
  const { timestamp } = message;
  return REQUIRED[message.role]({ ...message, timestamp: timestamp >= 0 ? Math.round(timestamp) : Date.now() });
}

/** Returns the messages as a model gets them; those of unknown kinds are left out. */
export function convertToLlm(messages) {
  return messages.map(toLlm).filter((message) => message !== undefined);
}
