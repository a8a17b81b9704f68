/** When a run ends although it is not over. */
import { messageOf } from "./errors.js";

/** Aborts a run when its time is over or its signal is aborted. */
export class RunLimit {
  readonly #abort: () => Promise<void>;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal | undefined;
  #failed: (error: Error) => void = () => {};
  #isTimeOver = false;

  constructor(timeoutMs: number | undefined, signal: AbortSignal | undefined, abort: () => Promise<void>) {
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

  get isTimeOver(): boolean {
    return this.#isTimeOver;
  }

  /** Calls a function if the run cannot be aborted. */
  onFailure(failed: (error: Error) => void): void {
    this.#failed = failed;
  }

  /** The run is over. */
  release(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#stop);
  }

  readonly #stop = (): void => {
    this.#abort().catch((error: unknown) => this.#failed(error instanceof Error ? error : new Error(messageOf(error))));
  };
}
