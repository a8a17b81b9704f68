import { messageOf } from "./errors.js";
/** Calls the functions and answers for them. */
export class HostUris {
    #send;
    #requests = new Map();
    #schemes = {};
    constructor(send) {
        this.#send = send;
    }
    set(schemes) {
        this.#schemes = Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name.toLowerCase(), scheme]));
    }
    /** Serves a request, unless its scheme is not one of these: then somebody else answers for it. */
    request(request) {
        const name = request.url.slice(0, Math.max(request.url.indexOf("://"), 0)).toLowerCase();
        const scheme = Object.hasOwn(this.#schemes, name) ? this.#schemes[name] : undefined;
        if (scheme === undefined)
            return;
        const controller = new AbortController();
        this.#requests.set(request.id, controller);
        void this.#serve(scheme, request, controller.signal).finally(() => this.#requests.delete(request.id));
    }
    cancel(id) {
        this.#requests.get(id)?.abort(new Error("bowline cancelled the request"));
    }
    cancelAll() {
        for (const controller of this.#requests.values())
            controller.abort(new Error("bowline has ended"));
    }
    async #serve(scheme, request, signal) {
        const send = (answer) => {
            if (!signal.aborted)
                this.#send({ type: "host_uri_result", id: request.id, ...answer });
        };
        try {
            send(request.operation === "write" ? await write(scheme, request, signal) : await read(scheme, request, signal));
        }
        catch (error) {
            send({ isError: true, error: messageOf(error) });
        }
    }
}
async function read(scheme, request, signal) {
    const output = await scheme.read(request.url, { signal });
    return typeof output === "string" ? { content: output } : { content: output.content, notes: output.notes };
}
async function write(scheme, request, signal) {
    if (scheme.write === undefined)
        throw new TypeError("This address cannot be written.");
    const said = await scheme.write(request.url, request.content ?? "", { signal });
    return typeof said === "string" ? { content: said } : {};
}
/** Returns the schemes as the protocol has them. */
export function describedSchemes(schemes) {
    return Object.entries(schemes).map(([scheme, { description, write: writer }]) => ({
        scheme,
        ...(description === undefined ? {} : { description }),
        ...(writer === undefined ? {} : { writable: true }),
    }));
}
