/** Aborts a run when its time is over or its signal is aborted. */
export declare class RunLimit {
    #private;
    constructor(timeoutMs: number | undefined, signal: AbortSignal | undefined, abort: () => Promise<void>);
    get isTimeOver(): boolean;
    /** Calls a function if the run cannot be aborted. */
    onFailure(failed: (error: Error) => void): void;
    /** The run is over. */
    release(): void;
}
