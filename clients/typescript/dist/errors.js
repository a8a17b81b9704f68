export class BowlineError extends Error {
    name = "BowlineError";
}
/** There is no program to start, or it cannot be started. */
export class BinaryNotFound extends BowlineError {
    name = "BinaryNotFound";
}
/** bowline refused a command. `code` is stable, the message is for people. */
export class CommandFailed extends BowlineError {
    name = "CommandFailed";
    command;
    /** Absent only if the program is not bowline. */
    code;
    constructor(command, message, code) {
        super(message);
        this.command = command;
        this.code = code;
    }
}
/** No response came in time. The command may still be carried out; its response will be ignored. */
export class CommandTimedOut extends BowlineError {
    name = "CommandTimedOut";
    command;
    timeoutMs;
    constructor(command, timeoutMs) {
        super(`bowline did not answer "${command}" within ${timeoutMs} ms. It may still do so, but nobody waits any more; ` +
            `pass a larger timeoutMs, or 0 to wait as long as it takes`);
        this.command = command;
        this.timeoutMs = timeoutMs;
    }
}
/** The process ended while something was waited for. Everybody who waited gets this error. */
export class ProcessDied extends BowlineError {
    name = "ProcessDied";
    exitCode;
    signal;
    /** The last lines that it wrote to stderr. */
    stderr;
    /** Why it could not start, in its own words; absent if it said nothing on stdout. */
    reason;
    constructor(end, reason) {
        const how = end.signal === undefined ? `ended with code ${end.exitCode ?? "unknown"}` : `was ended by ${end.signal}`;
        const why = reason ?? end.stderr.trimEnd();
        super(`bowline ${how}${why === "" ? " and wrote nothing to stderr" : `: ${why}`}`);
        this.exitCode = end.exitCode;
        this.signal = end.signal;
        this.stderr = end.stderr;
        this.reason = reason;
    }
}
/** The client was closed: by `close()`, or at the end of an `await using`. */
export class Closed extends BowlineError {
    name = "Closed";
    constructor() {
        super("the client is closed; start another one");
    }
}
/** Returns what an exception says. */
export function messageOf(error) {
    if (error instanceof Error)
        return error.message === "" ? error.name : error.message;
    return String(error);
}
