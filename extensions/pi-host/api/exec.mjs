// Programs that extensions run.

import { spawn } from "node:child_process";

/** How long a program may take to end after it was told to. */
const GRACE_MS = 5000;
/** How long output may still arrive after the program itself has ended. */
const OUTPUT_GRACE_MS = 250;

/** Runs a program without a shell. Returns its output and code; never fails. */
export function execute(command, parameters, cwd, { timeout, signal } = {}) {
  return new Promise((resolve) => {
    let killed = false;
    let timer;
    const output = { stdout: "", stderr: "" };
    const child = spawn(command, parameters ?? [], { cwd, shell: false, stdio: ["ignore", "pipe", "pipe"] });
    const kill = () => {
      if (killed) return;
      killed = true;
      child.kill("SIGTERM");
      setTimeout(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"), GRACE_MS).unref();
    };
    const finish = (code) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
      resolve({ ...output, code, killed });
    };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8");
      child[name].on("data", (text) => {
        output[name] += text;
      });
    }
    child.on("error", () => finish(1));
    child.on("close", (code) => finish(code ?? 0));
    // A program that it left behind can hold its output open for ever.
    child.on("exit", (code) => setTimeout(() => finish(code ?? 0), OUTPUT_GRACE_MS).unref());
    if (signal?.aborted) kill();
    else signal?.addEventListener("abort", kill, { once: true });
    if (timeout > 0) timer = setTimeout(kill, timeout);
  });
}
