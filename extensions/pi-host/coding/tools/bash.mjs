// Runs a shell command over operations that an extension gives, or on this machine with what an extension changes.

import { bridge } from "../../bridge.mjs";
import { CommandOutput } from "../output.mjs";
import { createLocalBashOperations, createLocalPowerShellOperations } from "../shell.mjs";
import { DEFAULT_MAX_BYTES, formatSize } from "../truncate.mjs";

const UPDATE_EVERY_MS = 100;

/** Returns what a command learns of the session from its environment. */
function environment(isExposed, ctx) {
  const { PI_SESSION_ID, PI_SESSION_FILE, PI_PROVIDER, PI_MODEL, PI_REASONING_LEVEL, ...env } = process.env;
  if (!isExposed) return env;
  const model = ctx?.model ?? bridge.state?.model;
  const values = {
    PI_SESSION_ID: ctx?.sessionManager?.getSessionId() ?? bridge.state?.sessionId,
    PI_SESSION_FILE: ctx?.sessionManager?.getSessionFile() ?? bridge.state?.sessionFile,
    PI_PROVIDER: model?.provider,
    PI_MODEL: model?.id,
    PI_REASONING_LEVEL: ctx?.thinkingLevel ?? bridge.state?.thinkingLevel,
  };
  return { ...env, ...Object.fromEntries(Object.entries(values).filter(([, value]) => value)) };
}

function shown({ content, truncation, fullOutputPath }, lastLineBytes, emptyText) {
  const text = content || emptyText;
  if (!truncation.truncated) return { text };
  const last = truncation.totalLines;
  const first = last - truncation.outputLines + 1;
  let note = `These are lines ${first}-${last} of ${last}`;
  if (truncation.lastLinePartial) {
    note = `This is the last ${formatSize(truncation.outputBytes)} of line ${last}, which has ${formatSize(lastLineBytes)}`;
  } else if (truncation.truncatedBy === "bytes") {
    note += `, limited to ${formatSize(DEFAULT_MAX_BYTES)}`;
  }
  return { text: `${text}\n\n[${note}. The full output is in ${fullOutputPath}.]`, details: { truncation, fullOutputPath } };
}

/** Reports output while a command runs, not more often than clients can show it. */
class Progress {
  #timer;
  #last = 0;

  constructor(output, onUpdate) {
    this.output = output;
    this.onUpdate = onUpdate;
    onUpdate?.({ content: [], details: undefined });
  }

  /** Notes that there is more output. */
  advance() {
    if (!this.onUpdate || this.#timer) return;
    const wait = UPDATE_EVERY_MS - (Date.now() - this.#last);
    if (wait <= 0) this.#report();
    else this.#timer = setTimeout(() => this.#report(), wait);
  }

  /** Reports what was not reported yet. */
  end() {
    if (this.#timer) this.#report();
  }

  #report() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = Date.now();
    const { content, truncation, fullOutputPath } = this.output.snapshot();
    const details = { truncation: truncation.truncated ? truncation : undefined, fullOutputPath };
    this.onUpdate({ content: [{ type: "text", text: content }], details });
  }
}

function failure(text, status) {
  return new Error(text ? `${text}\n\n${status}` : status);
}

/** Returns what to throw instead of an error of the operations. */
function explained(error, text) {
  if (error?.message === "aborted") return failure(text, "Command aborted");
  const late = /^timeout:([^:]*)/.exec(error?.message ?? "");
  return late ? failure(text, `Command timed out after ${late[1]} seconds`) : error;
}

async function run(prefix, localOperations, { command, timeout }, { cwd, options, signal, onUpdate, ctx }) {
  const operations = options.operations ?? localOperations();
  const whole = options.commandPrefix ? `${options.commandPrefix}\n${command}` : command;
  const plain = { command: whole, cwd, env: environment(options.exposeSessionEnvironment !== false, ctx) };
  const spawned = options.spawnHook ? options.spawnHook(plain) : plain;
  const output = new CommandOutput(prefix);
  const progress = new Progress(output, onUpdate);
  let isOpen = true;
  const onData = (data) => {
    if (!isOpen) return;
    output.add(data);
    progress.advance();
  };
  const close = async (emptyText) => {
    isOpen = false;
    await output.end();
    progress.end();
    return shown(output.snapshot(), output.lastLineBytes, emptyText);
  };
  let exitCode;
  try {
    ({ exitCode } = await operations.exec(spawned.command, spawned.cwd, { onData, signal, timeout, env: spawned.env }));
  } catch (error) {
    throw explained(error, (await close("")).text);
  }
  const { text, details } = await close("(no output)");
  if (exitCode === null) throw failure(text, "Command terminated without an exit code");
  if (exitCode !== 0) throw failure(text, `Command exited with code ${exitCode}`);
  return { content: [{ type: "text", text }], details };
}

/** Runs a command in bash. */
export function bash(args, call) {
  return run("pi-bash", () => createLocalBashOperations({ shellPath: call.options.shellPath }), args, call);
}

/** Runs a command in PowerShell. */
export function powershell(args, call) {
  return run("pi-powershell", createLocalPowerShellOperations, args, call);
}
