export declare class LineSplitter {
    #private;
    /** A line of more than `limit` bytes is dropped, and `tooLong` is called once for it. */
    constructor(limit: number, tooLong: () => void);
    /** Returns the lines that end in these bytes, without their LF. */
    push(bytes: Uint8Array): string[];
    /** Returns the last line if it has no LF, and forgets it. */
    rest(): string;
}
