/** How often a process is started again, and how long to wait before. */
import { setTimeout as sleep } from "node:timers/promises";
const ATTEMPTS = 5;
const DELAY_MS = 200;
const WINDOW_MS = 60_000;
export class Restarts {
    #attempts;
    #delay;
    #stop = new AbortController();
    #times = [];
    constructor(options) {
        this.#attempts = options.attempts ?? ATTEMPTS;
        this.#delay = options.delayMs ?? DELAY_MS;
    }
    /** Waits for the time of the next attempt. Returns whether there is one. */
    async next() {
        const now = Date.now();
        this.#times = this.#times.filter((time) => now - time < WINDOW_MS);
        if (this.#stop.signal.aborted || this.#times.length >= this.#attempts)
            return false;
        const delay = this.#delay * 2 ** this.#times.length;
        this.#times.push(now);
        await sleep(delay, undefined, { signal: this.#stop.signal }).catch(() => { });
        return !this.#stop.signal.aborted;
    }
    /** There is no attempt any more. */
    stop() {
        this.#stop.abort();
    }
}
