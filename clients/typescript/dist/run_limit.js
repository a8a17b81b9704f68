/** When a run ends although it is not over. */
import { messageOf } from "./errors.js";
/** Aborts a run when its time is over or its signal is aborted. */
export class RunLimit {
    #abort;
    #timer;
    #signal;
    #failed = () => { };
    #isTimeOver = false;
    constructor(timeoutMs, signal, abort) {
        this.#abort = abort;
        this.#signal = signal;
        signal?.addEventListener("abort", this.#stop, { once: true });
        if (timeoutMs !== undefined && timeoutMs > 0 && timeoutMs < 2 ** 31) {
            this.#timer = setTimeout(() => {
                this.#isTimeOver = true;
                this.#stop();
            }, timeoutMs);
        }
    }
    get isTimeOver() {
        return this.#isTimeOver;
    }
    /** Calls a function if the run cannot be aborted. */
    onFailure(failed) {
        this.#failed = failed;
    }
    /** The run is over. */
    release() {
        clearTimeout(this.#timer);
        this.#signal?.removeEventListener("abort", this.#stop);
    }
    #stop = () => {
        this.#abort().catch((error) => this.#failed(error instanceof Error ? error : new Error(messageOf(error))));
    };
}
