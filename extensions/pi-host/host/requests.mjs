// What extensions ask of the engine, and its answers.

/** How long a synchronous request may take, in milliseconds. */
const SYNCHRONOUS_LIMIT_MS = 30_000;

/** Requests that were not answered yet. */
export class Requests {
  #records;
  #next = 1;
  #pending = new Map();

  constructor(records) {
    this.#records = records;
  }

  /** Asks the engine in the name of an extension. A signal that fires withdraws the request and rejects with its reason. */
  request(ext, method, params = {}, { signal, onProgress, onSent } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(abortError(signal));
        return;
      }
      const id = this.#id();
      const onAbort = () => {
        this.#pending.delete(id);
        this.#records.send({ type: "cancel", ext, id });
        reject(abortError(signal));
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const finish = () => signal?.removeEventListener("abort", onAbort);
      this.#pending.set(id, { resolve, reject, onProgress, finish });
      if (!this.#records.send({ type: "request", ext, id, method, params })) {
        this.#pending.delete(id);
        finish();
        reject(new Error(`the parameters of ${method} are too large`));
      }
      onSent?.(id);
    });
  }

  /** Asks the engine and waits for the answer, while nothing else runs. */
  requestSync(ext, method, params = {}) {
    const id = this.#id();
    this.#records.send({ type: "request", ext, id, method, params });
    const isAnswer = (record) => record.type === "response" && record.id === id;
    const answer = this.#records.readUntil(isAnswer, SYNCHRONOUS_LIMIT_MS);
    if (!answer) throw new Error(`bowline did not answer ${method}`);
    if (answer.error) throw new Error(answer.error.message);
    return answer.result;
  }

  notify(ext, method, params = {}) {
    if (!this.#records.send({ type: "notify", ext, method, params })) {
      throw new Error(`the parameters of ${method} are too large`);
    }
  }

  /** Takes a `response`. */
  answer({ id, result, error }) {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    pending.finish();
    if (error) pending.reject(new Error(error.message));
    else pending.resolve(result ?? null);
  }

  /** Takes a part of an answer, or the newest state of what was asked for. */
  progress(id, part) {
    this.#pending.get(id)?.onProgress?.(part);
  }

  #id() {
    const id = `r${this.#next}`;
    this.#next += 1;
    return id;
  }
}

function abortError(signal) {
  if (signal.reason instanceof Error) return signal.reason;
  return Object.assign(new Error("aborted"), { name: "AbortError" });
}
