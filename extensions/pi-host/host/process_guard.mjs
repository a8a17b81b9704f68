// Keeps extensions from ending the process they share and from using its streams.

import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { Readable } from "node:stream";

const realExit = process.exit.bind(process);

/** Ends the process. */
export function endProcess(code) {
  realExit(code);
}

/** Makes calls that would end the process throw, hides stdin, and reports what nobody catches to `onUncaught`. */
export function guardProcess({ isOutputLogged, onUncaught }) {
  const refuse = (what) => {
    throw new Error(`${what} is not available to extensions: they share their process`);
  };
  process.exit = (code) => refuse(`process.exit(${code ?? ""})`);
  process.abort = () => refuse("process.abort()");
  const kill = process.kill.bind(process);
  process.kill = (pid, signal) => {
    if (pid === process.pid && signal !== 0) refuse(`process.kill(process.pid, ${signal ?? ""})`);
    return kill(pid, signal);
  };
  hideInput();
  if (!isOutputLogged) redirectOutput();
  process.on("uncaughtException", (error) => onUncaught(error));
  process.on("unhandledRejection", (error) => onUncaught(error));
}

function hideInput() {
  let empty;
  Object.defineProperty(process, "stdin", {
    configurable: true,
    enumerable: true,
    get() {
      empty ??= Object.assign(Readable.from([]), { fd: 0, isTTY: false });
      return empty;
    },
  });
}

/** If descriptor 1 is not the log, what writes to it is led to the log as well as it can be done by names. */
function redirectOutput() {
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
  for (const name of ["log", "info", "debug", "dir", "table", "group"]) {
    console[name] = (...values) => console.error(...values);
  }
  const replaced = (stdio) => {
    if (stdio === "inherit") return ["ignore", 2, 2];
    if (!Array.isArray(stdio)) return stdio;
    return stdio.map((target, place) => {
      const isInherited = target === "inherit" || target === process.stdin || target === process.stdout;
      if (place === 0 && (isInherited || target === 0)) return "ignore";
      return place > 0 && ((isInherited && place === 1) || target === 1) ? 2 : target;
    });
  };
  for (const name of ["spawn", "spawnSync", "execFileSync", "execSync", "fork"]) {
    const original = childProcess[name];
    childProcess[name] = (...parameters) => {
      const changed = parameters.map((parameter) =>
        typeof parameter === "object" && parameter !== null && !Array.isArray(parameter) && parameter.stdio !== undefined
          ? { ...parameter, stdio: replaced(parameter.stdio) }
          : parameter,
      );
      return original(...changed);
    };
  }
  for (const name of ["write", "writeSync"]) {
    const original = fs[name];
    fs[name] = (descriptor, ...parameters) => original(descriptor === 1 ? 2 : descriptor, ...parameters);
  }
  syncBuiltinESMExports();
}
