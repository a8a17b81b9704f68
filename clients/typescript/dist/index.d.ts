/**
 * Drive the bowline coding agent.
 *
 * ```js
 * import { Agent } from "bowline-agent";
 *
 * await using agent = await Agent.start({ model: "anthropic/claude-sonnet-5" });
 * const { text } = await agent.promptAndWait("Why does the build fail?");
 * ```
 *
 * @module
 */
export { Agent, type RunOptions } from "./agent.js";
export type { ApprovalAnswer, ApprovalRequest, Approve } from "./approvals.js";
export type { CallOptions } from "./calls.js";
export type { Garbage } from "./connection.js";
export type { DialogContext, UiHandlers, UiRequestOf } from "./dialogs.js";
export { BinaryNotFound, BowlineError, Closed, CommandFailed, CommandTimedOut, ProcessDied, type ProcessEnd, } from "./errors.js";
export { type ClientTool, type ToolContext, type ToolOutput, tool } from "./host_tools.js";
export type { UriContent, UriScheme, UriSchemes as ClientUriSchemes } from "./host_uris.js";
export type { FromSchema, JsonSchema, ObjectSchema } from "./json_schema.js";
export { PLATFORM_PACKAGE, locate } from "./locate.js";
export type { AgentOptions, Restart, RestartOptions, SessionChoice } from "./options.js";
export * from "./protocol.js";
export { type Outcome, Run, RunFailed, type RunResult, textOf } from "./run.js";
