// An example that runs as a user runs it, with the package installed beside it.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { ROOT, until } from "./workshop.mjs";

export const EXAMPLES = path.join(ROOT, "examples/clients/typescript");

export class Example {
  output = "";

  constructor(test, workshop, name, ...args) {
    cpSync(EXAMPLES, path.join(workshop.home, "examples"), { recursive: true });
    mkdirSync(path.join(workshop.home, "examples/node_modules"), { recursive: true });
    symlinkSync(path.join(ROOT, "clients/typescript"), path.join(workshop.home, "examples/node_modules/bowline-agent"));
    const file = path.join(workshop.home, "examples", name);
    this.child = spawn(process.execPath, [file, ...args], { cwd: workshop.folder, env: workshop.env });
    this.child.stdout.setEncoding("utf8").on("data", (text) => (this.output += text));
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.output += text));
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    test.after(() => this.child.kill("SIGKILL"));
  }

  says(text) {
    return until(() => this.output.includes(text), `"${text}" in:\n${this.output}`);
  }
}
