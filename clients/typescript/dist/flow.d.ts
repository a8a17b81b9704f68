import { EventQueue } from "./event_queue.js";
import type { Event } from "./protocol.js";
export declare class Flow {
    #private;
    /** `limit` is the number of bytes that a consumer may lag behind. */
    constructor(limit: number, setReading: (isReading: boolean) => void);
    /** Whether the pipe is being read. */
    get isReading(): boolean;
    /** Returns a queue that gets every event from now on. */
    subscribe(): EventQueue;
    push(event: Event, size: number): void;
    /** Ends all iterations, with an error if there is one. */
    finish(error?: Error): void;
    /** Somebody has begun to wait for something other than an event of a queue. */
    beginWait(): void;
    endWait(): void;
    /** Waits for a promise, and reads meanwhile. */
    during<T>(promise: Promise<T>): Promise<T>;
    update(): void;
}
