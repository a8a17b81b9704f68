/**
 * The events that one consumer has not taken yet.
 *
 * A queue over its limit is "full": the flow stops reading the pipe. If it has to read on all the same, because somebody
 * waits for a response, parts of the same block are joined, as bowline joins them for a client that lags. No text is lost.
 */
import type { Event } from "./protocol.js";
/** What a queue tells the flow. */
export interface QueueOwner {
    /** The queue has become full, or has room again, or its consumer has begun or ceased to wait. */
    changed(): void;
    /** The consumer has gone. */
    closed(queue: EventQueue): void;
}
export declare class EventQueue implements AsyncIterableIterator<Event, undefined> {
    #private;
    constructor(limit: number, owner: QueueOwner);
    /** Whether reading should pause until the consumer has caught up. */
    get isFull(): boolean;
    /** Whether the consumer waits for an event. */
    get isAwaited(): boolean;
    /** How many events the consumer has taken. */
    get taken(): number;
    push(event: Event, size: number): void;
    /** Ends the iteration once the events are taken; with an error, if there is one. */
    finish(error?: Error): void;
    next(): Promise<IteratorResult<Event, undefined>>;
    /** Ends the consumption: nothing is kept for this consumer any more. */
    return(): Promise<IteratorResult<Event, undefined>>;
    [Symbol.asyncIterator](): this;
}
