// What extensions import from pi-agent-core: the agent loop over bowline's models, and what it is made of.

export { uuidv7 } from "../identifiers.mjs";
export { GREP_MAX_LINE_LENGTH, sanitizeBinaryOutput, utf8ByteLength } from "../model/shell_text.mjs";
export { Agent } from "../model/agent.mjs";
export {
  agentLoop,
  agentLoopContinue,
  runAgentLoop,
  runAgentLoopContinue,
  setDefaultStreamFn,
} from "../model/agent_loop.mjs";
export * from "../model/prompt_texts.mjs";
export * from "../model/results.mjs";
export * from "../model/tagged_errors.mjs";
export { buildContextEntries, buildSessionContext, sessionEntryToContextMessages } from "../session/context.mjs";
export * from "../session/messages.mjs";
export { findCutPoint, findTurnStartIndex } from "../coding/compaction.mjs";
export { serializeConversation } from "../coding/conversation.mjs";
export {
  calculateContextTokens,
  DEFAULT_COMPACTION_SETTINGS,
  estimateContextTokens,
  estimateTokens,
  getLastAssistantUsage,
  shouldCompact,
} from "../coding/tokens.mjs";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  formatSize,
  truncateHead,
  truncateLine,
  truncateTail,
} from "../coding/truncate.mjs";
