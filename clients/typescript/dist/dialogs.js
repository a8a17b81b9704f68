/** Calls the functions and answers for them. */
export class Dialogs {
    #handlers;
    #send;
    #report;
    #open = new Map();
    constructor(handlers, send, report) {
        this.#handlers = handlers;
        this.#send = send;
        this.#report = report;
    }
    request(request) {
        switch (request.method) {
            case "select":
            case "confirm":
            case "input":
            case "editor":
                this.#ask(request).catch(this.#report);
                break;
            default:
                this.#show(request);
        }
    }
    /** Closes all dialogs: bowline has gone on without their answers. */
    closeAll() {
        for (const controller of this.#open.values())
            controller.abort(new Error("the dialog was closed"));
        this.#open.clear();
    }
    #show(request) {
        const handlers = this.#handlers;
        try {
            if (request.method === "notify")
                handlers.notify?.(request);
            else if (request.method === "setStatus")
                handlers.setStatus?.(request);
            else if (request.method === "setWidget")
                handlers.setWidget?.(request);
            else if (request.method === "setTitle")
                handlers.setTitle?.(request);
            else if (request.method === "set_editor_text")
                handlers.setEditorText?.(request);
        }
        catch (error) {
            this.#report(error);
        }
    }
    async #ask(request) {
        const controller = new AbortController();
        this.#open.set(request.id, controller);
        const timeout = "timeout" in request ? request.timeout : undefined;
        // bowline does not say that the time is up.
        const close = () => controller.abort(new Error("the time of the dialog is up"));
        const timer = timeout === undefined || timeout >= 2 ** 31 ? undefined : setTimeout(close, timeout);
        let answer = { cancelled: true };
        try {
            answer = await this.#answer(request, { signal: controller.signal });
        }
        catch (error) {
            if (!controller.signal.aborted)
                this.#report(error);
        }
        clearTimeout(timer);
        if (this.#open.get(request.id) === controller)
            this.#open.delete(request.id);
        if (!controller.signal.aborted)
            this.#send({ type: "extension_ui_response", id: request.id, ...answer });
    }
    async #answer(request, context) {
        if (request.method === "confirm") {
            const confirmed = await this.#handlers.confirm?.(request, context);
            return typeof confirmed === "boolean" ? { confirmed } : { cancelled: true };
        }
        let value;
        if (request.method === "select")
            value = await this.#handlers.select?.(request, context);
        else if (request.method === "input")
            value = await this.#handlers.input?.(request, context);
        else if (request.method === "editor")
            value = await this.#handlers.editor?.(request, context);
        return typeof value === "string" ? { value } : { cancelled: true };
    }
}
