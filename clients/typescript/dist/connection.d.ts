import { type ProcessEnd } from "./errors.js";
/** A record, before anything but its type is known. */
export interface RawRecord {
    readonly type: string;
    readonly [field: string]: unknown;
}
/** A line of stdout that is no record. */
export interface Garbage {
    /** The line, at most its first 500 characters. */
    readonly line: string;
    readonly reason: string;
}
/** What to start, and who is told what it does. */
export interface ConnectionOptions {
    readonly binary: string;
    readonly args: readonly string[];
    readonly cwd: string | undefined;
    readonly env: Record<string, string | undefined> | undefined;
    /** The most bytes of one record; longer ones are skipped and reported. */
    readonly maxRecordBytes: number;
    /** The most bytes that bowline reads as one line. */
    readonly maxLineBytes: number;
    /** Is called for each record, with the length of its line. */
    readonly record: (record: RawRecord, size: number) => void;
    readonly garbage: (garbage: Garbage) => void;
    readonly stderr: (line: string) => void;
    /** Is called once, after the last record. */
    readonly end: (end: ProcessEnd) => void;
}
export declare class Connection {
    #private;
    private constructor();
    /** Starts the process. Throws `BinaryNotFound` if that is not possible. */
    static start(options: ConnectionOptions): Promise<Connection>;
    get pid(): number | undefined;
    /** The last lines of stderr. */
    get stderr(): string;
    /** How the process ended, once its output was read to the end. */
    get end(): ProcessEnd | undefined;
    /** Resolves when the process has ended and its output was read to the end. */
    get ended(): Promise<ProcessEnd>;
    /** Writes a record. That the process has gone is reported by `end`. */
    send(record: object): void;
    /** Reads on, or leaves the output in the pipe, so that the process has to wait. */
    setReading(isReading: boolean): void;
    /** Closes stdin, which ends the process; ends it with signals if it has not ended after `graceMs`. */
    close(graceMs: number): Promise<ProcessEnd>;
    /** Ends the process at once. */
    kill(): void;
}
