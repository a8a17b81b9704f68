/** Whether a run of the dialect omp is in progress, and who waits for its end. */
import type { RawRecord } from "./connection.js";
export declare class OmpActivity {
    #private;
    /** Resolves when no run is in progress. */
    idle(): Promise<void>;
    /** A command has succeeded. */
    accepted(command: string, data: unknown): void;
    /** An acknowledged prompt has failed. A run that was in progress before goes on. */
    failed(error: Error): void;
    observe(record: RawRecord): void;
    /** The process has ended. */
    end(error: Error): void;
}
