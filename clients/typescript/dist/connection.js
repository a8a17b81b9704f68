/** A child process that speaks JSON lines: starts it, reads and writes records, and knows how it ended. */
import { spawn } from "node:child_process";
import { Buffer } from "node:buffer";
import { BinaryNotFound, BowlineError, messageOf } from "./errors.js";
import { LineSplitter } from "./lines.js";
import { Tail } from "./tail.js";
/** How long stdout may stay open without a record after the process has ended: someone else may hold it. */
const ORPHAN_MS = 1_000;
/** How long to wait for the end of stderr after everything else is over. */
const STDERR_MS = 200;
/** How long a process may take to obey SIGTERM, or to end after it has closed its stdout. */
const TERMINATION_MS = 2_000;
export class Connection {
    #options;
    #child;
    #lines;
    #stderr;
    #ended;
    #finish = () => { };
    #orphaned;
    #exit;
    #isReading = true;
    #isStdoutOver = false;
    #isOver = false;
    #end;
    constructor(options, child) {
        this.#options = options;
        this.#child = child;
        this.#lines = new LineSplitter(options.maxRecordBytes, () => {
            options.garbage({ line: "", reason: `a record is longer than ${options.maxRecordBytes} bytes (maxRecordBytes)` });
        });
        this.#stderr = new Tail(options.stderr);
        this.#ended = new Promise((resolve) => (this.#finish = resolve));
        this.#listen();
    }
    /** Starts the process. Throws `BinaryNotFound` if that is not possible. */
    static async start(options) {
        let child;
        try {
            child = spawn(options.binary, options.args, {
                cwd: options.cwd,
                env: options.env,
                stdio: ["pipe", "pipe", "pipe"],
                windowsHide: true,
            });
        }
        catch (error) {
            throw cannotStart(options, error);
        }
        const connection = new Connection(options, child);
        await new Promise((resolve, reject) => {
            child.once("spawn", resolve);
            child.once("error", (error) => reject(cannotStart(options, error)));
        });
        return connection;
    }
    get pid() {
        return this.#child.pid;
    }
    /** The last lines of stderr. */
    get stderr() {
        return this.#stderr.text();
    }
    /** How the process ended, once its output was read to the end. */
    get end() {
        return this.#end;
    }
    /** Resolves when the process has ended and its output was read to the end. */
    get ended() {
        return this.#ended;
    }
    /** Writes a record. That the process has gone is reported by `end`. */
    send(record) {
        const line = `${JSON.stringify(record)}\n`;
        const { maxLineBytes } = this.#options;
        // bowline cannot say which command a line that is too long was.
        if (line.length * 3 > maxLineBytes && Buffer.byteLength(line) > maxLineBytes) {
            throw new BowlineError(`the command is longer than ${maxLineBytes} bytes, which bowline does not read; start it with --line-limit to ` +
                `raise the limit`);
        }
        this.#child.stdin.write(line);
    }
    /** Reads on, or leaves the output in the pipe, so that the process has to wait. */
    setReading(isReading) {
        if (isReading === this.#isReading)
            return;
        this.#isReading = isReading;
        if (isReading) {
            this.#child.stdout.resume();
            this.#watchForOrphan();
        }
        else {
            this.#child.stdout.pause();
        }
    }
    /** Closes stdin, which ends the process; ends it with signals if it has not ended after `graceMs`. */
    async close(graceMs) {
        this.#child.stdin.end();
        this.setReading(true);
        const signals = ["SIGTERM", "SIGKILL"];
        for (const [index, signal] of signals.entries()) {
            if (await this.#endsWithin(index === 0 ? graceMs : TERMINATION_MS))
                break;
            this.#child.kill(signal);
        }
        return this.#ended;
    }
    /** Ends the process at once. */
    kill() {
        this.#child.kill("SIGKILL");
    }
    async #endsWithin(milliseconds) {
        let timer;
        const late = new Promise((resolve) => {
            timer = setTimeout(() => resolve(false), milliseconds);
        });
        const isOver = await Promise.race([this.#ended.then(() => true), late]);
        clearTimeout(timer);
        return isOver;
    }
    #listen() {
        const { stdin, stdout, stderr } = this.#child;
        // Writing to a process that has ended fails; why it ended is known when stdout is over.
        stdin.on("error", () => { });
        stdout.on("data", (bytes) => this.#read(bytes));
        stdout.on("error", () => this.#stdoutOver());
        stdout.on("end", () => this.#stdoutOver());
        stdout.on("close", () => this.#stdoutOver());
        stderr.on("data", (bytes) => this.#stderr.push(bytes));
        stderr.on("error", () => { });
        this.#child.on("error", () => { });
        this.#child.on("exit", (code, signal) => {
            this.#exit = { exitCode: code ?? undefined, signal: signal ?? undefined };
            this.#watchForOrphan();
            this.#endIfOver();
        });
    }
    #read(bytes) {
        for (const line of this.#lines.push(bytes))
            this.#accept(line);
        this.#watchForOrphan();
    }
    #accept(line) {
        if (line === "" || line === "\r")
            return;
        let record;
        try {
            record = JSON.parse(line);
        }
        catch (error) {
            this.#options.garbage({ line: line.slice(0, 500), reason: `a line is not JSON: ${messageOf(error)}` });
            return;
        }
        if (typeof record !== "object" || record === null || typeof record.type !== "string") {
            this.#options.garbage({ line: line.slice(0, 500), reason: "a line is not an object with a type" });
            return;
        }
        this.#options.record(record, line.length);
    }
    /** A process that inherited stdout may keep it open long after the end of this one. */
    #watchForOrphan() {
        clearTimeout(this.#orphaned);
        if (this.#exit === undefined || this.#isStdoutOver || !this.#isReading)
            return;
        this.#orphaned = setTimeout(() => this.#child.stdout.destroy(), ORPHAN_MS);
    }
    #stdoutOver() {
        if (this.#isStdoutOver)
            return;
        this.#isStdoutOver = true;
        clearTimeout(this.#orphaned);
        const rest = this.#lines.rest();
        if (rest !== "") {
            this.#options.garbage({ line: rest.slice(0, 500), reason: "the output ends in the middle of a line" });
        }
        if (this.#exit === undefined)
            this.#leave();
        this.#endIfOver();
    }
    /** Ends a process that has closed its stdout, because nothing can come from it any more. */
    #leave() {
        this.#child.stdin.end();
        const timer = setTimeout(() => this.kill(), TERMINATION_MS);
        this.#child.once("exit", () => clearTimeout(timer));
    }
    #endIfOver() {
        if (this.#isOver || !this.#isStdoutOver || this.#exit === undefined)
            return;
        this.#isOver = true;
        const { exitCode, signal } = this.#exit;
        const { stderr } = this.#child;
        const end = () => {
            clearTimeout(timer);
            stderr.off("close", end);
            stderr.destroy();
            this.#stderr.finish();
            const how = { exitCode, signal, stderr: this.#stderr.text() };
            this.#end = how;
            this.#options.end(how);
            this.#finish(how);
        };
        // Someone else may hold stderr, too.
        const timer = setTimeout(end, STDERR_MS);
        if (stderr.closed || stderr.destroyed)
            setImmediate(end);
        else
            stderr.once("close", end);
    }
}
function cannotStart(options, error) {
    const where = options.cwd === undefined ? "" : ` in the folder ${options.cwd}`;
    return new BinaryNotFound(`${options.binary} cannot be started${where}: ${messageOf(error)}. Check that the folder exists and that the ` +
        `program can be run.`);
}
