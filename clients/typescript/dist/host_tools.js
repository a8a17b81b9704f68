import { messageOf } from "./errors.js";
import { mismatch } from "./json_schema.js";
/** Describes a tool; `run` gets arguments of the type that `parameters` describes. */
export function tool(definition) {
    return definition;
}
/** Calls the functions and answers for them. */
export class HostTools {
    #send;
    #calls = new Map();
    #tools = new Map();
    constructor(send) {
        this.#send = send;
    }
    /** Replaces the tools. */
    set(tools) {
        this.#tools = new Map(tools.map((each) => [each.name, each]));
    }
    /** Runs a call, unless the tool is not one of these: then somebody else answers for it. */
    call(call) {
        const called = this.#tools.get(call.toolName);
        if (called === undefined)
            return;
        const controller = new AbortController();
        this.#calls.set(call.id, controller);
        void this.#run(called, call, controller.signal).finally(() => this.#calls.delete(call.id));
    }
    cancel(id) {
        this.#calls.get(id)?.abort(new Error("bowline cancelled the call"));
    }
    cancelAll() {
        for (const controller of this.#calls.values())
            controller.abort(new Error("bowline has ended"));
    }
    async #run(called, call, signal) {
        let answer;
        try {
            const problem = mismatch(called.parameters, call.arguments);
            if (problem !== undefined)
                throw new TypeError(`These arguments are not possible: ${problem}.`);
            const context = {
                signal,
                toolCallId: call.toolCallId,
                update: (output) => {
                    if (signal.aborted)
                        return;
                    this.#send({ type: "host_tool_update", id: call.id, partialResult: { content: contentOf(output) } });
                },
            };
            answer = outcomeOf(await called.run(call.arguments, context));
        }
        catch (error) {
            answer = { result: { content: contentOf(messageOf(error)) }, isError: true };
        }
        // A call that was cancelled is over.
        if (!signal.aborted)
            this.#end(call.id, answer);
    }
    #end(id, answer) {
        try {
            this.#send({ type: "host_tool_result", id, ...answer });
        }
        catch (error) {
            // The output is too large, or is no JSON.
            this.#send({ type: "host_tool_result", id, result: { content: contentOf(messageOf(error)) }, isError: true });
        }
    }
}
/** Returns the tools as the protocol has them. */
export function described(tools) {
    const names = new Set();
    return tools.map(({ name, description, parameters, hidden }) => {
        if (names.has(name))
            throw new TypeError(`two tools have the name "${name}"; give each its own`);
        names.add(name);
        return { name, description, parameters: parameters, ...(hidden === true ? { hidden } : {}) };
    });
}
function outcomeOf(value) {
    if (value === undefined || value === null)
        return { result: { content: [] } };
    if (typeof value === "string" || isContent(value))
        return { result: { content: contentOf(value) } };
    if (typeof value === "object" && "content" in value && (typeof value.content === "string" || isContent(value.content))) {
        const { content, details, isError } = value;
        const result = { content: contentOf(content) };
        if (details !== undefined)
            result.details = details;
        return isError === true ? { result, isError } : { result };
    }
    return { result: { content: contentOf(JSON.stringify(value, null, 2) ?? String(value)) } };
}
function isContent(value) {
    const isPiece = (one) => typeof one === "object" && one !== null && "type" in one && (one.type === "text" || one.type === "image");
    return Array.isArray(value) && value.length > 0 && value.every(isPiece);
}
function contentOf(output) {
    return typeof output === "string" ? [{ type: "text", text: output }] : [...output];
}
