// Shells, and commands that run in them.

import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";

/** How long the output of a command's descendants is waited for after the command itself has ended. */
const AFTER_EXIT_MS = 100;
/** The longest time that a timer can measure. */
const LONGEST_TIMEOUT_S = 2 ** 31 / 1000;
const POWERSHELL_ARGUMENTS = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command"];
/** Makes PowerShell write what can be read here. */
const UTF8_OUTPUT = "try { [Console]::OutputEncoding = [Text.Encoding]::UTF8 } catch {}\n";
const isWindows = process.platform === "win32";

function onPath(program) {
  const { status, stdout } = spawnSync(isWindows ? "where" : "which", [program], {
    encoding: "utf8",
    timeout: 5000,
    windowsHide: true,
  });
  const found = status === 0 ? stdout.split(/\r?\n/)[0].trim() : "";
  return found && (!isWindows || existsSync(found)) ? found : undefined;
}

/** Returns how a shell is called. The one that starts the Linux subsystem of Windows garbles its arguments. */
function bashConfig(shell) {
  const isSubsystem = /^[a-z]:[\\/]windows[\\/](?:system32|sysnative)[\\/]bash\.exe$/i.test(shell);
  return isSubsystem ? { shell, args: ["-s"], commandTransport: "stdin" } : { shell, args: ["-c"] };
}

/** Returns the program of the shell and the arguments before a command. */
export function getShellConfig(customShellPath) {
  if (customShellPath) {
    if (existsSync(customShellPath)) return bashConfig(customShellPath);
    throw new Error(`Custom shell path not found: ${customShellPath}`);
  }
  if (!isWindows) {
    if (existsSync("/bin/bash")) return bashConfig("/bin/bash");
    return bashConfig(onPath("bash") ?? "sh");
  }
  const folders = [process.env.ProgramFiles, process.env["ProgramFiles(x86)"]].filter(Boolean);
  const shells = folders.map((folder) => join(folder, "Git", "bin", "bash.exe"));
  const shell = shells.find((path) => existsSync(path)) ?? onPath("bash.exe");
  if (!shell) {
    throw new Error("No bash was found. Install Git for Windows, add bash.exe to PATH, or set shellPath in settings.json");
  }
  return bashConfig(shell);
}

/** Returns the program of PowerShell and the arguments before a command. */
export function getPowerShellConfig() {
  if (!isWindows) throw new Error("PowerShell is served on Windows only");
  const shell = onPath("pwsh.exe") ?? onPath("powershell.exe");
  if (!shell) throw new Error("No PowerShell was found. Add pwsh.exe or powershell.exe to PATH");
  return { shell, args: [...POWERSHELL_ARGUMENTS] };
}

/** Kills a process and what it has started. */
export function killProcessTree(pid) {
  if (isWindows) {
    const program = join(process.env.SystemRoot ?? "C:\\Windows", "System32", "taskkill.exe");
    spawn(program, ["/F", "/T", "/PID", String(pid)], { stdio: "ignore", windowsHide: true }).once("error", () => {});
    return;
  }
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
      return;
    } catch {
      // There is no such group, or the process has ended.
    }
  }
}

function timeoutMilliseconds(timeout) {
  if (timeout === undefined) return undefined;
  if (!Number.isFinite(timeout) || timeout <= 0) throw new Error("The timeout has to be a number of seconds above 0");
  if (timeout >= LONGEST_TIMEOUT_S) throw new Error(`The timeout cannot exceed ${(2 ** 31 - 1) / 1000} seconds`);
  return timeout * 1000;
}

/** Waits for a process and for its output. A descendant that keeps the output open and is silent is not waited for. */
function ended(child) {
  const { promise, resolve, reject } = Promise.withResolvers();
  let silence;
  const finish = () => {
    clearTimeout(silence);
    child.stdout.destroy();
    child.stderr.destroy();
    const { exitCode, signalCode } = child;
    resolve(exitCode ?? (signalCode ? 128 + (constants.signals[signalCode] ?? 0) : 1));
  };
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(finish, AFTER_EXIT_MS);
  };
  child.once("error", reject);
  child.once("close", finish);
  child.once("exit", () => {
    listen();
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
  });
  return promise;
}

/** Returns operations that run commands on this machine, in the shell that `config` returns. */
function localOperations(noun, config, prefix = "") {
  return {
    async exec(command, cwd, { onData, signal, timeout, env }) {
      const limit = timeoutMilliseconds(timeout);
      if (signal?.aborted) throw new Error("aborted");
      const { shell, args, commandTransport } = config();
      await access(cwd).catch(() => {
        throw new Error(`There is no directory ${cwd} to run ${noun} commands in`);
      });
      const byInput = commandTransport === "stdin";
      const child = spawn(shell, byInput ? args : [...args, prefix + command], {
        cwd,
        // A group of its own, so that it can be killed with all that it has started.
        detached: !isWindows,
        env: env ?? process.env,
        stdio: [byInput ? "pipe" : "ignore", "pipe", "pipe"],
        windowsHide: true,
      });
      child.stdin?.on("error", () => {});
      child.stdin?.end(prefix + command);
      child.stdout.on("data", onData);
      child.stderr.on("data", onData);
      let isLate = false;
      const kill = () => child.pid && killProcessTree(child.pid);
      const timer = limit === undefined ? undefined : setTimeout(() => {
        isLate = true;
        kill();
      }, limit);
      signal?.addEventListener("abort", kill, { once: true });
      try {
        const exitCode = await ended(child);
        if (signal?.aborted) throw new Error("aborted");
        if (isLate) throw new Error(`timeout:${timeout}`);
        return { exitCode };
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", kill);
      }
    },
  };
}

/** Returns operations that run commands in bash on this machine. */
export function createLocalBashOperations(options) {
  return localOperations("bash", () => getShellConfig(options?.shellPath));
}

/** Returns operations that run commands in PowerShell on this machine. */
export function createLocalPowerShellOperations() {
  return localOperations("PowerShell", getPowerShellConfig, UTF8_OUTPUT);
}
