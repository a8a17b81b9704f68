#!/usr/bin/env node
// Runs the program `bowline` of the package for this system. Nothing runs when the package is installed.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { isatty } from "node:tty";
import { PLATFORM_PACKAGE, bundled } from "../dist/locate.js";

const program = bundled();
if (program === undefined) {
  console.error(
    `bowline: the package ${PLATFORM_PACKAGE} is not installed. There is one for Linux, macOS and Windows on x64 and arm64; ` +
      `npm leaves it out with --omit=optional. Without it, build bowline from its repository.`,
  );
  process.exit(127);
}

const words = process.argv.slice(2);
// Node 22.15 and later become the program, so that nothing stands between it and whoever started it.
if (typeof process.execve === "function" && process.platform !== "win32") {
  process.execve(program, [program, ...words], process.env);
}

// It has the same stdin, stdout and stderr, so data does not pass through this process, and the end of stdin ends it.
const child = spawn(program, words, { stdio: "inherit" });

// A terminal sends these to both processes. Passed on, they would arrive twice.
const ofTerminal = [0, 1, 2].some(isatty) ? ["SIGINT", "SIGQUIT"] : [];
const passedOn = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"];
for (const signal of process.platform === "win32" ? ["SIGINT", "SIGBREAK"] : passedOn) {
  process.on(signal, () => {
    if (process.platform !== "win32" && !ofTerminal.includes(signal)) child.kill(signal);
  });
}

child.on("error", (error) => {
  console.error(`bowline: ${program} cannot be run: ${error.message}`);
  process.exitCode = 126;
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // This process ends as the program did, so that whoever waits for it sees the same.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Unless the signal is one that cannot end it.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
});
