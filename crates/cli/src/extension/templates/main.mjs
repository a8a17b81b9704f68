// @ts-check
// my-extension: asks before dangerous commands, counts words, and greets.
//
// Try it out:  bowline extension check .
//
// This is JavaScript that TypeScript checks, so that Node 20 runs it without a build. With Node 22.18, Bun or Deno it can
// be a .ts file: rename it, and change "command" in extension.json.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Extension } from "./bowline_extension.mjs";

const ext = new Extension("my-extension", { version: "0.1.0" });

// Runs before each call of the tool bash. What it returns decides what happens to the call.
ext.on(
  "tool_call",
  async (event, ctx) => {
    const { command = "" } = event.input;
    if (command.includes("rm -rf") && !(await ctx.ui.confirm("Run this command?", command))) {
      return { block: true, reason: "The user refused this command." };
    }
    return undefined;
  },
  { tool: "bash" },
);

ext.tool({
  name: "count_words",
  description: "Counts the words of a text file.",
  parameters: {
    type: "object",
    properties: { path: { type: "string", description: "A text file, relative to the working directory" } },
    required: ["path"],
  },
  async execute({ path }, ctx) {
    const words = (await readFile(resolve(ctx.cwd, path), "utf8")).split(/\s+/).filter(Boolean);
    return `${words.length} words`;
  },
});

ext.command("hello", {
  description: "Greets: /hello NAME",
  handler: (args, ctx) => ctx.ui.notify(`Hello, ${args || "you"}!`),
});

ext.run();
