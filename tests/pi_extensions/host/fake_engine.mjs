// A small engine for tests: starts the host, sends it records, and keeps what the host sends.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../../extensions/pi-host/main.mjs", import.meta.url));
const LIMIT_MS = 10_000;
/** Gives the host pipes, as bowline does; Node itself would give it sockets. */
const WITH_PIPES = '{ { cat | { "$@" 2>&3 3>&- 4>&-; echo "exit code $?" >&3; } | cat >&4; } 3>&1 | cat >&2; } 4>&1';

/** A host with extensions in a folder of its own. */
export class FakeEngine {
  records = [];
  log = "";
  /** What requests are answered with, by method: a value, or a function of the parameters. */
  answers = { "session.commands": [] };
  #waiting = new Set();
  #rest = "";
  #next = 1;

  /**
   * Starts a host and loads extensions. `files` are their sources by path; each of `entries` is an extension. Returns after
   * a record of the type `until`.
   */
  static async start(
    files,
    { entries = Object.keys(files), init = {}, environment = {}, runtime, answers = {}, usesSockets, until = "registered" } = {},
  ) {
    const engine = new FakeEngine();
    Object.assign(engine.answers, answers);
    engine.folder = mkdtempSync(join(tmpdir(), "pi-host-test-"));
    for (const [path, source] of Object.entries(files)) engine.write(path, source);
    engine.#spawn(runtime ?? process.env.PI_HOST_RUNTIME ?? process.execPath, environment, usesSockets);
    engine.send({
      type: "init",
      protocol: 1,
      engine: { name: "bowline", version: "0" },
      mode: "rpc",
      hasUI: true,
      dialect: "pi",
      session: { id: "session-1", cwd: engine.folder, reason: "startup" },
      trusted: true,
      flags: {},
      extensions: entries.map((path) => engine.described(path)),
      limits: { hookMs: 30_000, startMs: 5000 },
      state: {},
      ...init,
    });
    const { errors } = await engine.next((record) => record.type === until);
    engine.registered = { extensions: engine.of("register"), errors };
    engine.atStart = engine.records.splice(0);
    return engine;
  }

  write(path, source) {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, source);
  }

  /** Returns how an extension is described: its id is its path without the ending. */
  described(path) {
    return { id: idOf(path), path: join(this.folder, path) };
  }

  #spawn(runtime, environment, usesSockets) {
    const cache = environment.BOWLINE_PI_CACHE ?? join(this.folder, ".cache");
    const parameters = runtime.endsWith("bun") ? [MAIN] : ["--no-warnings", MAIN];
    const command = usesSockets ? [runtime, ...parameters] : ["sh", "-c", WITH_PIPES, "sh", runtime, ...parameters];
    this.child = spawn(command[0], command.slice(1), {
      cwd: this.folder,
      env: { ...process.env, BOWLINE_PI_CACHE: cache, ...environment },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.exited = new Promise((resolve) => {
      if (usesSockets) this.child.on("exit", (code, signal) => resolve(code ?? signal));
      this.child.stderr.setEncoding("utf8").on("data", (text) => {
        this.log += text;
        const [, code] = /^exit code (\d+)$/m.exec(this.log) ?? [];
        if (code) resolve(Number(code));
      });
    });
    this.child.stdout.setEncoding("utf8").on("data", (text) => this.#take(text));
  }

  #take(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const record = JSON.parse(line);
      this.records.push(record);
      if (record.type === "request" && record.method in this.answers) this.answer(record, this.answers[record.method]);
      for (const check of [...this.#waiting]) check();
    }
  }

  answer({ ext, id, params }, answer) {
    try {
      const result = typeof answer === "function" ? answer(params) : answer;
      this.send({ type: "response", ext, id, result });
    } catch (error) {
      this.send({ type: "response", ext, id, error: { message: error.message } });
    }
  }

  send(record) {
    this.child.stdin.write(`${JSON.stringify(record)}\n`);
  }

  /** Returns the first record that is accepted, now or later. */
  next(accept) {
    return new Promise((resolve, reject) => {
      const find = () => this.records.find(accept);
      const found = find();
      if (found) return resolve(found);
      const timer = setTimeout(() => {
        this.#waiting.delete(check);
        reject(new Error(`no such record; there are ${JSON.stringify(this.records)}\n${this.log}`));
      }, LIMIT_MS);
      const check = () => {
        const record = find();
        if (!record) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(record);
      };
      this.#waiting.add(check);
      return undefined;
    });
  }

  /** Returns when the log has something, which takes another way than the records. */
  async logged(pattern) {
    for (let left = LIMIT_MS; !pattern.test(this.log); left -= 10) {
      if (left <= 0) throw new Error(`${pattern} is not in the log: ${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Returns the records of a type. */
  of(type) {
    return this.records.filter((record) => record.type === type);
  }

  /** Calls an extension and returns the `result` record. */
  call(record) {
    const id = record.id ?? this.id();
    this.send({ ...record, id });
    return this.next((answer) => answer.type === "result" && answer.id === id);
  }

  id() {
    this.#next += 1;
    return `c${this.#next}`;
  }

  hook(event, ext = "a") {
    return this.call({ type: "hook", ext, event, deadlineMs: 30_000 });
  }

  tool(name, args = {}, ext = "a") {
    return this.call({ type: "tool", ext, name, toolCallId: "t1", args });
  }

  command(name, args = "", ext = "a") {
    return this.call({ type: "command", ext, name, args });
  }

  state(patch, ext = "a") {
    this.send({ type: "state", ext, patch });
  }

  async stop() {
    this.child.stdin.end();
    const code = await this.exited;
    rmSync(this.folder, { recursive: true, force: true });
    return code;
  }
}

export function idOf(path) {
  return path.replace(/\.[^.]+$/, "");
}

/** Runs `test` with a host that has these extensions. */
export async function withHost(files, test, options) {
  const engine = await FakeEngine.start(files, options);
  try {
    await test(engine);
  } finally {
    await engine.stop();
  }
}
