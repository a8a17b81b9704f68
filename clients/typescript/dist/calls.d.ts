/** The commands that were sent and have no response yet. */
import type { RawRecord } from "./connection.js";
/** How long to wait for a command. */
export interface CallOptions {
    /** Rejects after this many milliseconds; 0 waits as long as it takes. By default the time depends on the command. */
    timeoutMs?: number | undefined;
    /** Rejects with the signal's reason once it is aborted. Commands with work to stop are stopped, too. */
    signal?: AbortSignal | undefined;
}
/** What to send and how to wait. */
export interface Request {
    command: string;
    fields: object;
    timeoutMs: number;
    signal?: AbortSignal | undefined;
    /** Is called with the data of the response before anything that follows it is read. */
    accepted?: ((data: unknown) => void) | undefined;
    /** Is called when the signal is aborted while the command is under way. */
    cancelled?: (() => void) | undefined;
}
export declare class Calls {
    #private;
    /** `changed` is called whenever one more or one fewer response is awaited. */
    constructor(changed: (waiting: 1 | -1) => void, prefix?: string);
    /** Sends a command and waits for the data of its response. */
    send(request: Request, write: (record: object) => void): Promise<unknown>;
    /** Takes a response. Returns whether somebody waited for it. */
    settle(record: RawRecord): boolean;
    /** Whether a response is to one of these commands, perhaps one that nobody waits for any more. */
    isOurs(id: unknown): boolean;
    /** Rejects everything that is waited for. */
    fail(error: unknown): void;
}
