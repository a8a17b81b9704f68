import { CommandFailed, CommandTimedOut } from "./errors.js";
export class Calls {
    #calls = new Map();
    #prefix;
    #changed;
    #count = 0;
    /** `changed` is called whenever one more or one fewer response is awaited. */
    constructor(changed, prefix = "c") {
        this.#changed = changed;
        this.#prefix = prefix;
    }
    /** Sends a command and waits for the data of its response. */
    send(request, write) {
        const { command, fields, signal } = request;
        return new Promise((resolve, reject) => {
            if (signal?.aborted === true) {
                reject(signal.reason);
                return;
            }
            this.#count += 1;
            const id = `${this.#prefix}${this.#count}`;
            // The fields come first, so that none of them can replace the id or the type.
            const record = { ...fields, id, type: command };
            const call = this.#call(id, request, resolve, reject);
            try {
                write(record);
            }
            catch (error) {
                this.#drop(id, call);
                reject(error);
            }
        });
    }
    /** Takes a response. Returns whether somebody waited for it. */
    settle(record) {
        const id = record["id"];
        const call = typeof id === "string" ? this.#calls.get(id) : undefined;
        if (call === undefined)
            return false;
        if (record["success"] === true) {
            const data = record["data"];
            call.accepted?.(data);
            this.#drop(id, call);
            call.resolve(data);
        }
        else {
            this.#drop(id, call);
            const text = typeof record["error"] === "string" ? record["error"] : "the command failed without a reason";
            call.reject(new CommandFailed(call.command, text, record["code"]));
        }
        return true;
    }
    /** Whether a response is to one of these commands, perhaps one that nobody waits for any more. */
    isOurs(id) {
        if (typeof id !== "string" || !id.startsWith(this.#prefix))
            return false;
        const number = Number(id.slice(this.#prefix.length));
        return number >= 1 && number <= this.#count;
    }
    /** Rejects everything that is waited for. */
    fail(error) {
        for (const [id, call] of [...this.#calls]) {
            this.#drop(id, call);
            call.reject(error);
        }
    }
    #call(id, request, resolve, reject) {
        const { command, timeoutMs, signal } = request;
        const abandon = (error) => {
            this.#drop(id, call);
            reject(error);
        };
        const timer = timeoutMs > 0 && timeoutMs < 2 ** 31
            ? setTimeout(() => abandon(new CommandTimedOut(command, timeoutMs)), timeoutMs)
            : undefined;
        const onAbort = () => {
            abandon(signal?.reason);
            request.cancelled?.();
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        const release = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", onAbort);
        };
        const call = { command, resolve, reject, accepted: request.accepted, release };
        this.#calls.set(id, call);
        this.#changed(1);
        return call;
    }
    #drop(id, call) {
        if (!this.#calls.delete(id))
            return;
        call.release();
        this.#changed(-1);
    }
}
