/** Commands whose success means that a run is in progress or about to start. */
const STARTING = ["prompt", "abort_and_prompt", "steer", "follow_up"];
export class OmpActivity {
    #waiters = [];
    #isRunning = false;
    /** How many prompts were acknowledged whose run has not begun. */
    #announced = 0;
    /** Resolves when no run is in progress. */
    idle() {
        if (!this.#isRunning && this.#announced === 0)
            return Promise.resolve();
        return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
    }
    /** A command has succeeded. */
    accepted(command, data) {
        if (!STARTING.includes(command))
            return;
        const isHandled = data?.agentInvoked === false;
        if (!isHandled)
            this.#announced += 1;
    }
    /** An acknowledged prompt has failed. A run that was in progress before goes on. */
    failed(error) {
        this.#announced = Math.max(this.#announced - 1, 0);
        for (const waiter of this.#waiters.splice(0))
            waiter.reject(error);
    }
    observe(record) {
        if (record.type === "agent_start") {
            this.#isRunning = true;
            this.#announced = 0;
        }
        else if (record.type === "agent_end" && record["isTerminal"] !== false) {
            this.#over();
        }
        else if (record.type === "prompt_result" && record["agentInvoked"] === false) {
            this.#announced = Math.max(this.#announced - 1, 0);
            if (!this.#isRunning && this.#announced === 0)
                this.#over();
        }
    }
    /** The process has ended. */
    end(error) {
        for (const waiter of this.#waiters.splice(0))
            waiter.reject(error);
    }
    #over() {
        this.#isRunning = false;
        this.#announced = 0;
        for (const waiter of this.#waiters.splice(0))
            waiter.resolve();
    }
}
