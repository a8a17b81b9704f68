/** How an agent is started. */
import type { Approve } from "./approvals.js";
import type { Garbage } from "./connection.js";
import type { UiHandlers } from "./dialogs.js";
import { type ProcessDied } from "./errors.js";
import type { ClientTool } from "./host_tools.js";
import type { UriSchemes } from "./host_uris.js";
import type { CommandName, State } from "./protocol.js";
/** Which session to work in. */
export type SessionChoice = 
/** A new one (the default). */
"new"
/** The newest of this folder. */
 | "continue"
/** A new one that is not written to a file. */
 | "memory"
/** The one with exactly this id, which is created if there is none. */
 | {
    readonly id: string;
}
/** The one in this file. */
 | {
    readonly path: string;
}
/** A copy of this one, named by its file or its id. */
 | {
    readonly fork: string;
};
/** How often a process that has died is started again. */
export interface RestartOptions {
    /** How often within a minute; 5 if absent. */
    readonly attempts?: number;
    /** The wait before the first attempt in milliseconds, which doubles with each; 200 if absent. */
    readonly delayMs?: number;
}
/** A process that has died was started again with the same session. */
export interface Restart {
    /** How the one before it ended. What was waited for was rejected with the same error. */
    readonly error: ProcessDied;
    /** The state of the session now. */
    readonly state: State;
}
export interface AgentOptions {
    /** The program; by default the one of `BOWLINE`, of the package for this system, or of the `PATH`. */
    readonly binary?: string;
    /** The model, such as `anthropic/claude-sonnet-5`; by default that of the settings. */
    readonly model?: string;
    readonly session?: SessionChoice;
    /** The folder that the agent works in; by default that of this process. */
    readonly cwd?: string;
    /** The environment; by default that of this process. */
    readonly env?: Record<string, string | undefined>;
    /** Further flags of `bowline`, such as `["--sandbox", "workspace-write"]`. */
    readonly args?: readonly string[];
    /** Tools that run in this program. */
    readonly tools?: readonly ClientTool[];
    /** Addresses that this program serves. */
    readonly uris?: UriSchemes;
    /** What to do with what extensions ask and show. `"manual"` leaves it to the events and to `agent.answer()`. */
    readonly ui?: UiHandlers | "manual";
    /** Decides about tool calls that need consent. Use it with `args: ["--ask", "on-request"]` or the settings. */
    readonly approve?: Approve;
    /** Starts the process again when it dies, with the same session. Prompts are never sent again. */
    readonly restart?: boolean | RestartOptions;
    /** Is called after each restart. */
    readonly onRestart?: (restart: Restart) => void;
    /** Is called for each line of stdout that is no record. Without it, the first is a warning of the process. */
    readonly onGarbage?: (garbage: Garbage) => void;
    /** Is called for each line of stderr. Without it, the lines are kept for errors only. */
    readonly onStderr?: (line: string) => void;
    /** Is called for exceptions in listeners and handlers. Without it, they are warnings of the process. */
    readonly onError?: (error: unknown) => void;
    /** How long to wait for the responses to commands in milliseconds, instead of the built-in times; 0 is forever. */
    readonly timeouts?: Readonly<Partial<Record<CommandName, number>>>;
    /** How long the start may take; 30,000 milliseconds if absent. */
    readonly startTimeoutMs?: number;
    /** How many bytes of events a consumer may leave behind before reading pauses; 8 MiB if absent. */
    readonly bufferBytes?: number;
    /** The most bytes of one record; longer ones are skipped and reported. 256 MiB if absent. */
    readonly maxRecordBytes?: number;
}
/** Returns the arguments of bowline for a session. Throws if flags contradict options. */
export declare function argumentsFor(options: AgentOptions, session: SessionChoice): string[];
/** Returns the most bytes that bowline reads as one line. */
export declare function lineLimit(args?: readonly string[]): number;
