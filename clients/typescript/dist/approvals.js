/** Calls the function and sends what it decides. */
export class Approvals {
    #approve;
    #respond;
    #report;
    #open = new Map();
    constructor(approve, respond, report) {
        this.#approve = approve;
        this.#respond = respond;
        this.#report = report;
    }
    async request(request) {
        const controller = new AbortController();
        this.#open.set(request.id, controller);
        let answer = false;
        try {
            answer = await this.#approve(request, { signal: controller.signal });
        }
        catch (error) {
            if (!controller.signal.aborted)
                this.#report(error);
        }
        this.#open.delete(request.id);
        if (controller.signal.aborted)
            return;
        const { decision, message } = typeof answer === "object" ? answer : { decision: answer, message: undefined };
        this.#respond(request.id, typeof decision === "boolean" ? (decision ? "once" : "deny") : decision, message);
    }
    /** Somebody else has decided. */
    resolved(id) {
        this.#open.get(id)?.abort(new Error("the question was decided without an answer"));
    }
    closeAll() {
        for (const controller of this.#open.values())
            controller.abort(new Error("bowline has ended"));
        this.#open.clear();
    }
}
