export declare class Tail {
    #private;
    /** `listener` is called for each line, at most its first 2,000 characters. */
    constructor(listener: (line: string) => void);
    push(bytes: Uint8Array): void;
    /** Adds what was written after the last line end. */
    finish(): void;
    text(): string;
}
