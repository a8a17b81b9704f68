// Runs the program `pi` in place of this process: it has the same arguments and streams, and its exit code is ours.

import { spawn } from "node:child_process";
import { constants } from "node:os";

const child = spawn("pi", process.argv.slice(2), { stdio: "inherit" });

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`pi cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
