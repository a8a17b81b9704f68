// A folder of its own for each test, with scripted models, and agents that end with the test.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Agent } from "../../../clients/typescript/dist/index.js";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
export const BINARY = process.env.BOWLINE ?? path.join(ROOT, "target/debug/bowline");

export class Workshop {
  #agents = [];

  constructor(test) {
    const base = mkdtempSync(path.join(tmpdir(), "bowline-typescript-"));
    this.home = path.join(base, "home");
    this.folder = path.join(base, "project");
    mkdirSync(this.home);
    mkdirSync(this.folder);
    this.settings({});
    test.after(async () => {
      await Promise.all(this.#agents.map((agent) => agent.close({ graceMs: 3_000 })));
      rmSync(base, { recursive: true, force: true });
    });
  }

  get env() {
    return { PATH: process.env.PATH, HOME: this.home, BOWLINE_HOME: this.home, BOWLINE: BINARY };
  }

  // Retries and silence are short, so that tests are.
  settings(settings) {
    const all = { retry: { baseDelayMs: 20, maxRetries: 2 }, ...settings };
    writeFileSync(path.join(this.home, "settings.json"), JSON.stringify(all));
  }

  file(name, content) {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  // A model that answers with these steps.
  script(...steps) {
    this.file("script.json", JSON.stringify({ steps, cycle: true }));
    return "scripted/script.json";
  }

  // A program that is no bowline: a script for Node, which has the lines of stdin as `lines` and `write`.
  fake(source) {
    const file = this.file("fake.mjs", `#!${process.execPath}
      import { createInterface } from "node:readline";
      const write = (record) => process.stdout.write(JSON.stringify(record) + "\\n");
      const lines = createInterface({ input: process.stdin });
      const answer = (command, data) =>
        write({ id: command.id, type: "response", command: command.type, success: true, ...(data && { data }) });
      const info = { name: "fake", version: "1", dialect: "pi", commands: [], unsupported: [], events: [], capabilities: [] };
      const commands = { get_protocol_info: (command) => answer(command, info) };
      lines.on("line", (line) => {
        const command = JSON.parse(line);
        commands[command.type]?.(command);
      });
      ${source}`);
    chmodSync(file, 0o755);
    return file;
  }

  options(options = {}) {
    const { args = [], model = this.script({ text: "Hello." }), ...rest } = options;
    return { cwd: this.folder, env: this.env, model, args: ["--no-context-files", ...args], ...rest };
  }

  async start(options = {}) {
    const agent = await Agent.start(this.options(options));
    this.#agents.push(agent);
    return agent;
  }

  async startFake(source, options = {}) {
    return this.start({ binary: this.fake(source), ...options });
  }
}

export const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Waits until something is so.
export async function until(isSo, what) {
  for (let tries = 0; tries < 6_000; tries += 1) {
    if (await isSo()) return;
    await later(10);
  }
  throw new Error(`it did not happen: ${what}`);
}

export async function collect(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}
