/** How long the client waits for the response to each command. */
import type { CommandName } from "./protocol.js";
/** Waits as long as it takes. */
export declare const FOREVER = 0;
/** For commands that bowline answers at once. */
export declare const DEFAULT_TIMEOUT: number;
/** For commands that wait: for a model, a shell command, the end of a run, or files. */
export declare const TIMEOUTS: Readonly<Partial<Record<CommandName, number>>>;
/** The commands that end the work of another one early. Closing a signal sends them. */
export declare const CANCELLED_BY: Readonly<Partial<Record<CommandName, CommandName>>>;
