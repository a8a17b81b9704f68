/** An agent: a bowline process, and what a program does with it. */
import process from "node:process";
import { Commands } from "./commands.js";
import { BowlineError, Closed, messageOf } from "./errors.js";
import { Flow } from "./flow.js";
import { described } from "./host_tools.js";
import { describedSchemes } from "./host_uris.js";
import { Link } from "./link.js";
import { Listeners } from "./listeners.js";
import { changesSession } from "./resumption.js";
import { Run, RunFailed } from "./run.js";
import { RunLimit } from "./run_limit.js";
import { Services } from "./services.js";
const BUFFER_BYTES = 8 * 1024 * 1024;
const CLOSE_GRACE = 10_000;
export class Agent extends Commands {
    #options;
    #flow;
    #link;
    #listeners;
    #services;
    #resolveEnded = () => { };
    /** Resolves when nothing can be sent any more, with the reason: `Closed`, or how bowline died. Never rejects. */
    ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    #run;
    #isBusy = false;
    #idleWaiters = [];
    #garbageCount = 0;
    constructor(options) {
        super();
        this.#options = options;
        const report = (error) => this.#reportError(error);
        this.#listeners = new Listeners(report);
        this.#flow = new Flow(options.bufferBytes ?? BUFFER_BYTES, (isReading) => this.#link.setReading(isReading));
        this.#link = new Link(options, this.#flow, {
            event: (event, size) => this.#dispatch(event, size),
            accepted: (name, data) => this.#accepted(name, data),
            lost: (error, isFinal) => this.#lost(error, isFinal),
            restarted: (restart) => this.#guarded(() => options.onRestart?.(restart)),
            garbage: (garbage) => this.#reportGarbage(garbage),
            stderr: (line) => this.#guarded(() => options.onStderr?.(line)),
        });
        this.#services = new Services(options, (record) => this.#link.answer(record), (approvalId, decision, message) => {
            this.approvalResponse(approvalId, { decision, message }).catch((error) => {
                // Without bowline there is nobody to answer.
                if (this.#link.over === undefined)
                    report(error);
            });
        }, report);
    }
    /** Starts bowline, and returns once it answers. */
    static async start(options = {}) {
        const agent = new Agent(options);
        await agent.#link.open();
        try {
            if (options.tools !== undefined)
                await agent.setTools(options.tools);
            if (options.uris !== undefined)
                await agent.setUris(options.uris);
            if (options.approve !== undefined)
                await agent.setClientCapabilities({ approvals: "record" });
        }
        catch (error) {
            agent.#link.kill();
            throw error;
        }
        return agent;
    }
    /** The program and its version, its commands and its events. */
    get info() {
        const { info } = this.#link;
        if (info === undefined)
            throw new BowlineError("the agent is not started");
        return info;
    }
    get pid() {
        return this.#link.pid;
    }
    /** The last lines that bowline wrote to stderr. */
    get stderr() {
        return this.#link.stderr;
    }
    /** How many lines of stdout were no records. */
    get garbageCount() {
        return this.#garbageCount;
    }
    /** Whether a run is in progress. */
    get isBusy() {
        return this.#isBusy;
    }
    command(name, fields, options = {}) {
        return this.#link.command(name, fields, options);
    }
    /** Answers a request that was taken from the events, such as a dialog with the option `ui: "manual"`. */
    answer(answer) {
        this.#link.answer({ ...answer });
    }
    /** Starts a run. Fails with the code `busy` if one is in progress; use `steer` or `followUp` then. */
    async run(message, options = {}) {
        const { timeoutMs, signal, ...fields } = options;
        signal?.throwIfAborted();
        if (fields.outputSchema !== undefined)
            this.#checkOutput();
        const limit = new RunLimit(timeoutMs, signal, () => this.abort());
        let run;
        try {
            await this.#link.command("prompt", { message, ...fields }, {}, (data) => {
                const { disposition } = data;
                run = new Run(disposition, this.#flow, limit);
                if (disposition === "started")
                    this.#run = run;
            });
        }
        catch (error) {
            limit.release();
            throw error;
        }
        if (run === undefined)
            throw new BowlineError("bowline did not say what became of the prompt");
        return run;
    }
    /** Runs a prompt to its end. Throws `RunFailed` if the run fails; a run that is aborted has a result. */
    async promptAndWait(message, options = {}) {
        const run = await this.run(message, options);
        const result = await run.result();
        if (result.outcome === "failed")
            throw new RunFailed(result);
        return result;
    }
    /** All events from now on, also those of runs. Leave the loop to end it. */
    events() {
        const queue = this.#flow.subscribe();
        const { over } = this.#link;
        if (over !== undefined)
            queue.finish(over instanceof Closed ? undefined : over);
        return queue;
    }
    on(name, listener) {
        return this.#listeners.add(name, listener);
    }
    /** Waits until no run is in progress. */
    async waitForIdle() {
        if (this.#link.over !== undefined)
            throw this.#link.over;
        if (!this.#isBusy)
            return;
        const idle = new Promise((resolve, reject) => this.#idleWaiters.push({ resolve, reject }));
        await this.#flow.during(idle);
    }
    /** Replaces the tools of this program. */
    async setTools(tools) {
        const protocolTools = described(tools);
        // Before the response, because a run may call them at once.
        this.#services.tools.set(tools);
        await this.setHostTools(protocolTools);
    }
    /** Replaces the addresses that this program serves. */
    async setUris(schemes) {
        this.#services.uris.set(schemes);
        await this.setHostUriSchemes(describedSchemes(schemes));
    }
    /**
     * Ends bowline: it aborts a run, writes its last events and exits. If it has not after `graceMs` (10 seconds), it is
     * killed. Events that were not taken can still be taken.
     */
    close(options = {}) {
        return this.#link.close(options.graceMs ?? CLOSE_GRACE);
    }
    async [Symbol.asyncDispose]() {
        await this.close();
    }
    #checkOutput() {
        if (this.info.events.includes("output_checked"))
            return;
        throw new BowlineError(`bowline ${this.info.version} does not know outputSchema; install a later version`);
    }
    #accepted(name, data) {
        if (name === "prompt" && data.disposition === "started")
            this.#isBusy = true;
        if (changesSession(name))
            this.#services.closeDialogs();
    }
    #dispatch(event, size) {
        if (event.type === "agent_start")
            this.#isBusy = true;
        // Consumers come first: a handler may start the next run.
        this.#flow.push(event, size);
        const run = this.#run;
        if (event.type === "agent_settled") {
            this.#run = undefined;
            this.#isBusy = false;
            for (const waiter of this.#idleWaiters.splice(0))
                waiter.resolve();
        }
        run?.observe(event);
        this.#services.handle(event);
        this.#listeners.emit(event);
    }
    #lost(error, isFinal) {
        this.#run?.fail(error);
        this.#run = undefined;
        this.#isBusy = false;
        this.#services.cancelAll();
        for (const waiter of this.#idleWaiters.splice(0))
            waiter.reject(error);
        if (!isFinal)
            return;
        this.#flow.finish(error instanceof Closed ? undefined : error);
        this.#resolveEnded(error);
    }
    #guarded(work) {
        try {
            work();
        }
        catch (error) {
            this.#reportError(error);
        }
    }
    #reportError(error) {
        if (this.#options.onError !== undefined)
            this.#options.onError(error);
        else
            process.emitWarning(error instanceof Error ? error : messageOf(error), { code: "BOWLINE_HANDLER" });
    }
    #reportGarbage(garbage) {
        this.#garbageCount += 1;
        const { onGarbage } = this.#options;
        if (onGarbage !== undefined)
            this.#guarded(() => onGarbage(garbage));
        else if (this.#garbageCount === 1) {
            process.emitWarning(`bowline wrote something that is no record: ${garbage.reason}: ${garbage.line}`, {
                code: "BOWLINE_GARBAGE",
                detail: 'Further lines are counted in garbageCount; the option "onGarbage" gets all of them.',
            });
        }
    }
}
