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
export { Agent } from "./agent.js";
export { BinaryNotFound, BowlineError, Closed, CommandFailed, CommandTimedOut, ProcessDied, } from "./errors.js";
export { tool } from "./host_tools.js";
export { PLATFORM_PACKAGE, locate } from "./locate.js";
export * from "./protocol.js";
export { Run, RunFailed, textOf } from "./run.js";
