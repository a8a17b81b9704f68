export class Listeners {
    #byName = new Map();
    #report;
    /** `report` gets the exceptions of listeners. */
    constructor(report) {
        this.#report = report;
    }
    /** Adds a listener; `*` is every event. Returns a function that removes it. */
    add(name, listener) {
        const listeners = this.#byName.get(name) ?? new Set();
        this.#byName.set(name, listeners.add(listener));
        return () => void listeners.delete(listener);
    }
    emit(event) {
        for (const name of [event.type, "*"]) {
            const listeners = this.#byName.get(name);
            if (listeners === undefined)
                continue;
            for (const listener of [...listeners])
                this.#call(listener, event);
        }
    }
    #call(listener, event) {
        try {
            const returned = listener(event);
            if (returned instanceof Promise)
                returned.catch(this.#report);
        }
        catch (error) {
            this.#report(error);
        }
    }
}
