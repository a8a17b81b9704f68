/** Whether a run of the dialect omp is in progress, and who waits for its end. */
import type { RawRecord } from "./connection.js";

/** Commands whose success means that a run is in progress or about to start. */
const STARTING = ["prompt", "abort_and_prompt", "steer", "follow_up"];

interface Waiter {
  resolve: () => void;
  reject: (error: Error) => void;
}

export class OmpActivity {
  #waiters: Waiter[] = [];
  #isRunning = false;
  /** How many prompts were acknowledged whose run has not begun. */
  #announced = 0;

  /** Resolves when no run is in progress. */
  idle(): Promise<void> {
    if (!this.#isRunning && this.#announced === 0) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** A command has succeeded. */
  accepted(command: string, data: unknown): void {
    if (!STARTING.includes(command)) return;
    const isHandled = (data as { agentInvoked?: unknown } | undefined)?.agentInvoked === false;
    if (!isHandled) this.#announced += 1;
  }

  /** An acknowledged prompt has failed. A run that was in progress before goes on. */
  failed(error: Error): void {
    this.#announced = Math.max(this.#announced - 1, 0);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  observe(record: RawRecord): void {
    if (record.type === "agent_start") {
      this.#isRunning = true;
      this.#announced = 0;
    } else if (record.type === "agent_end" && record["isTerminal"] !== false) {
      this.#over();
    } else if (record.type === "prompt_result" && record["agentInvoked"] === false) {
      this.#announced = Math.max(this.#announced - 1, 0);
      if (!this.#isRunning && this.#announced === 0) this.#over();
    }
  }

  /** The process has ended. */
  end(error: Error): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  #over(): void {
    this.#isRunning = false;
    this.#announced = 0;
    for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }
}
