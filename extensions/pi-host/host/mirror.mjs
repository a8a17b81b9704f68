// What is known of the session without asking. The engine tells what has changed; what extensions set is seen at once.

/** The state that extensions see. */
export class Mirror {
  /** One object for ever: shims hold on to it. */
  state = {};
  #flags = new Map();
  #run;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** Takes what the engine says has changed. Flags are those of one extension. */
  apply(ext, { flags, ...patch }) {
    if (flags && ext !== undefined) this.#flags.set(ext, { ...this.#flags.get(ext), ...flags });
    Object.assign(this.state, patch);
    if ("isIdle" in patch) this.#noteRun(patch.isIdle);
    this.#onChange(patch);
  }

  /** Sets what an extension has just changed, before the engine confirms it. */
  expect(patch) {
    Object.assign(this.state, patch);
    this.#onChange(patch);
  }

  /** Returns the value of a flag from the command line. */
  flag(ext, name) {
    return this.#flags.get(ext)?.[name];
  }

  /** Returns the signal of the run in progress, if there is one. */
  get signal() {
    return this.#run?.signal;
  }

  /** Tells everything that belongs to the run that it was aborted. */
  abortRun() {
    this.#run?.abort();
  }

  #noteRun(isIdle) {
    if (isIdle) this.#run = undefined;
    else this.#run ??= new AbortController();
  }
}
