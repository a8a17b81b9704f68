/**
 * The connection of an agent with bowline: sends commands, and starts the process again when it dies, if that is wanted.
 * What comes back is dispatched by the agent.
 */
import { type CallOptions } from "./calls.js";
import { type Garbage, type RawRecord } from "./connection.js";
import { type ProcessEnd } from "./errors.js";
import type { Flow } from "./flow.js";
import { type AgentOptions, type Restart } from "./options.js";
import type { CommandName, Event, ProtocolInfo } from "./protocol.js";
/** What a link tells the agent. */
export interface LinkOwner {
    event(event: Event, size: number): void;
    /** A command has succeeded. Is called before anything that follows the response is read. */
    accepted(name: CommandName, data: unknown): void;
    /** The process has ended. It is started again unless this is the end of everything. */
    lost(error: Error, isFinal: boolean): void;
    restarted(restart: Restart): void;
    garbage(garbage: Garbage): void;
    stderr(line: string): void;
}
/** Is called with the data of a response before anything that follows it is read. */
export type Accepted = (data: unknown) => void;
export declare class Link {
    #private;
    constructor(options: AgentOptions, flow: Flow, owner: LinkOwner);
    /** Starts the process. If that fails, nothing is left of it. */
    open(): Promise<void>;
    get info(): ProtocolInfo | undefined;
    get pid(): number | undefined;
    get stderr(): string;
    /** Why nothing can be sent any more; absent if something can. */
    get over(): Error | undefined;
    setReading(isReading: boolean): void;
    /** Sends a command, and returns the data of its response. While the process is started again, it waits. */
    command(name: CommandName, fields: object, options: CallOptions, accepted?: Accepted): Promise<unknown>;
    /** Sends a record that has no response. */
    answer(record: RawRecord): void;
    /** Ends the process, with signals if it has not ended after `graceMs`. */
    close(graceMs: number): Promise<ProcessEnd | undefined>;
    /** Ends the process at once. */
    kill(): void;
}
