import { BowlineError } from "./errors.js";
/** A run failed. `kind` is stable, the message is for people. */
export class RunFailed extends BowlineError {
    name = "RunFailed";
    kind;
    /** What there is of the run. */
    result;
    constructor(result) {
        super(result.error ?? "the run failed");
        this.kind = result.errorKind;
        this.result = result;
    }
}
/**
 * The events of a run, from the first after the response to its prompt to `agent_settled`, for one consumer. Take them,
 * or call `result()`, or `discard()` them: what nobody takes holds up everything after a while.
 */
export class Run {
    /** What became of the prompt. */
    disposition;
    #queue;
    #flow;
    #result;
    #messages = [];
    #usage = noUsage();
    #resolve = () => { };
    #reject = () => { };
    #limit;
    #isTaken = false;
    /** @internal */
    constructor(disposition, flow, limit) {
        this.disposition = disposition;
        this.#flow = flow;
        this.#limit = limit;
        limit.onFailure((error) => this.fail(error));
        this.#queue = flow.subscribe();
        this.#result = new Promise((resolve, reject) => {
            // bowline has checked that the output satisfies its schema.
            this.#resolve = (result) => resolve(result);
            this.#reject = reject;
        });
        // Whoever wants to know of a failure calls result() or iterates.
        this.#result.catch(() => { });
        if (disposition !== "started")
            this.#end(disposition === "handled" ? "handled" : "queued", undefined);
    }
    /** The events. They can be taken once. */
    [Symbol.asyncIterator]() {
        if (this.#isTaken) {
            throw new BowlineError("the events of a run can be taken once, and not after result() or discard(); use agent.events() for more consumers");
        }
        this.#isTaken = true;
        return this.#queue;
    }
    /** The text of the answers, piece by piece as it comes, with an empty line between two answers. */
    async *text() {
        let isFirst = true;
        for await (const event of this) {
            if (event.type !== "message_update")
                continue;
            const step = event.assistantMessageEvent;
            if (step.type === "text_start" && !isFirst)
                yield "\n\n";
            if (step.type === "text_delta") {
                isFirst = false;
                yield step.delta;
            }
        }
    }
    /** Waits for the end of the run. Failed and aborted runs have a result, too; rejects only if the process ends first. */
    async result() {
        // Without a consumer, keeping events would only fill the memory.
        if (!this.#isTaken)
            this.discard();
        return this.#flow.during(this.#result);
    }
    /** Says that nobody is going to take the events. The run goes on. */
    discard() {
        this.#isTaken = true;
        void this.#queue.return();
    }
    /** @internal Takes note of an event, after the queue has got it. */
    observe(event) {
        if (event.type === "message_end") {
            this.#messages.push({ entryId: event.entryId, message: event.message });
            if (event.message.role === "assistant")
                addUsage(this.#usage, event.message.usage);
        }
        else if (event.type === "entry_appended") {
            this.#edit(event.entry);
        }
        else if (event.type === "agent_settled") {
            this.#end(event.aborted ? "aborted" : event.error === undefined ? "completed" : "failed", event);
        }
    }
    /** @internal There will be no end of the run. */
    fail(error) {
        this.#limit.release();
        this.#reject(error);
        this.#queue.finish(error);
    }
    /** An answer that is retried is removed from the conversation. */
    #edit(entry) {
        const { type, targetId, replacement } = entry;
        if (type !== "context_edit" || replacement !== null)
            return;
        const index = this.#messages.findIndex(({ entryId }) => entryId !== undefined && entryId === targetId);
        if (index !== -1)
            this.#messages.splice(index, 1);
    }
    #end(outcome, settled) {
        this.#limit.release();
        const messages = this.#messages.map(({ message }) => message);
        this.#resolve({
            outcome,
            text: lastText(messages),
            messages,
            usage: this.#usage,
            timedOut: outcome === "aborted" && this.#limit.isTimeOver,
            ...outputOf(settled),
            ...(settled?.error === undefined ? {} : { error: settled.error }),
            ...(settled?.errorKind === undefined ? {} : { errorKind: settled.errorKind }),
            ...(settled === undefined ? {} : { settled }),
        });
        this.#queue.finish();
    }
}
/** Returns the text of a message, without thinking, tool calls and images. */
export function textOf(message) {
    if (!("content" in message))
        return "";
    const { content } = message;
    if (typeof content === "string")
        return content;
    return content.map((block) => (block.type === "text" && "text" in block ? block.text : "")).join("");
}
function outputOf(settled) {
    return settled !== undefined && "output" in settled ? { output: settled.output } : {};
}
function lastText(messages) {
    for (const message of messages.toReversed()) {
        const text = message.role === "assistant" ? textOf(message) : "";
        if (text !== "")
            return text;
    }
    return "";
}
function noUsage() {
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
}
function addUsage(sum, usage) {
    for (const kind of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"])
        sum[kind] += usage[kind];
    for (const kind of ["input", "output", "cacheRead", "cacheWrite", "total"])
        sum.cost[kind] += usage.cost[kind];
    if (usage.reasoning !== undefined)
        sum.reasoning = (sum.reasoning ?? 0) + usage.reasoning;
}
