import type { RestartOptions } from "./options.js";
export declare class Restarts {
    #private;
    constructor(options: RestartOptions);
    /** Waits for the time of the next attempt. Returns whether there is one. */
    next(): Promise<boolean>;
    /** There is no attempt any more. */
    stop(): void;
}
