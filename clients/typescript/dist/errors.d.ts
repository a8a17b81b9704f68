/** The errors of this client. Each is a `BowlineError`, and its message says what to do. */
import type { ErrorCode } from "./protocol.js";
export declare class BowlineError extends Error {
    name: string;
}
/** There is no program to start, or it cannot be started. */
export declare class BinaryNotFound extends BowlineError {
    name: string;
}
/** bowline refused a command. `code` is stable, the message is for people. */
export declare class CommandFailed extends BowlineError {
    name: string;
    readonly command: string;
    /** Absent only if the program is not bowline. */
    readonly code: ErrorCode | undefined;
    constructor(command: string, message: string, code: ErrorCode | undefined);
}
/** No response came in time. The command may still be carried out; its response will be ignored. */
export declare class CommandTimedOut extends BowlineError {
    name: string;
    readonly command: string;
    readonly timeoutMs: number;
    constructor(command: string, timeoutMs: number);
}
/** How a process ended. */
export interface ProcessEnd {
    /** Absent if a signal ended it. */
    readonly exitCode: number | undefined;
    /** Such as `SIGKILL`; absent if it exited by itself. */
    readonly signal: string | undefined;
    /** The last lines that it wrote to stderr. */
    readonly stderr: string;
}
/** The process ended while something was waited for. Everybody who waited gets this error. */
export declare class ProcessDied extends BowlineError {
    name: string;
    readonly exitCode: number | undefined;
    readonly signal: string | undefined;
    /** The last lines that it wrote to stderr. */
    readonly stderr: string;
    /** Why it could not start, in its own words; absent if it said nothing on stdout. */
    readonly reason: string | undefined;
    constructor(end: ProcessEnd, reason?: string);
}
/** The client was closed: by `close()`, or at the end of an `await using`. */
export declare class Closed extends BowlineError {
    name: string;
    constructor();
}
/** Returns what an exception says. */
export declare function messageOf(error: unknown): string;
