/** Functions that are called for each event of a kind. */
import type { Event, EventMap, EventName } from "./protocol.js";
export declare class Listeners {
    #private;
    /** `report` gets the exceptions of listeners. */
    constructor(report: (error: unknown) => void);
    /** Adds a listener; `*` is every event. Returns a function that removes it. */
    add<Name extends EventName>(name: Name | "*", listener: (event: EventMap[Name]) => void): () => void;
    emit(event: Event): void;
}
