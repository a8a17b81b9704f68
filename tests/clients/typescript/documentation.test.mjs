// The programs in docs/typescript-client.md, as they stand there, and that the page leaves nothing out.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import * as client from "../../../clients/typescript/dist/index.js";
import { ROOT, Workshop } from "./workshop.mjs";

const page = readFileSync(path.join(ROOT, "docs/typescript-client.md"), "utf8");
const programs = new Map([...page.matchAll(/```js\n\/\/ (\S+)\n([^]*?)```/g)].map(([, name, text]) => [name, text]));
const CALL = (name, args) => ({ text: "I call it.", toolCalls: [{ name, arguments: args }] });

// What a bowline prints that has structured output, and one that has not.
const OUTPUT = /^a\.test\.js, b\.test\.js\n$|does not know outputSchema/;

// What the model answers to each program, and what the program prints.
const runs = {
  "ask.mjs": [[{ text: "A test fails.", usage: { input: 40, output: 2 } }], /^A test fails\.\n42 tokens\n$/],
  "output.mjs": [[{ text: "Here they are." }, { text: '{"files":["a.test.js","b.test.js"]}' }], OUTPUT],
  "follow.mjs": [
    [CALL("bash", { command: "echo passed" }), { text: "They pass." }],
    /^I call it\.\n\[bash \{"command":"echo passed"\}\]\nThey pass\.\ncompleted\n$/,
  ],
  "steer.mjs": [[CALL("bash", { command: "exit 1" }), { text: "Done." }], /^aborted\n$/],
  "commands.mjs": [[{ text: "x" }], /^not a repository\nmodel_not_found\n1 sessions\n$/],
  "tools.mjs": [[CALL("weather", { city: "Oslo" }), CALL("read", { path: "notes://x" }), { text: "It is warm." }], /^It is warm\.\n$/],
  "approve.mjs": [[CALL("bash", { command: "rm x" }), { text: "Then not." }], /^bash rm x\ncompleted\n$/],
  "failures.mjs": [[{ text: "x", error: { kind: "authentication", message: "bad key" } }], /^There is no usable key: bad key/],
  "restart.mjs": [[{ text: "abc", chunk: 1, delayMs: 200 }], /^SIGKILL - \d+ messages are there\ncompleted\n$/],
  "omp.mjs": [[{ text: "Hello." }], /^agent_start\n[^]*agent_end\n\d+ Hello\.\n$/],
};

test("every program of the page runs and does what it says", { concurrency: 3 }, async (suite) => {
  assert.deepEqual([...programs.keys()], Object.keys(runs));
  const each = Object.entries(runs).map(([name, [steps, output]]) =>
    suite.test(name, async (test) => {
      const workshop = new Workshop(test);
      workshop.script(...steps);
      workshop.settings({ defaultProvider: "scripted", defaultModel: "script.json" });
      mkdirSync(path.join(workshop.folder, "node_modules"));
      symlinkSync(path.join(ROOT, "clients/typescript"), path.join(workshop.folder, "node_modules/bowline-agent"));
      const program = spawn(process.execPath, [workshop.file(name, programs.get(name))], { cwd: workshop.folder, env: workshop.env });
      let printed = "";
      for (const stream of [program.stdout, program.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
      const code = await new Promise((resolve) => program.once("close", resolve));
      assert.match(printed, output);
      assert.equal(code, printed.includes("does not know outputSchema") ? 1 : 0);
    }),
  );
  await Promise.all(each);
});

test("the page names every option, every error and every function of a dialog", () => {
  const declarations = (file, name) => {
    const text = readFileSync(path.join(ROOT, "clients/typescript/src", file), "utf8");
    return [...text.split(new RegExp(`interface ${name}[^{]* {\n`))[1].split("\n}")[0].matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, field]) => field);
  };
  const names = [
    ...declarations("options.ts", "AgentOptions"),
    ...declarations("dialogs.ts", "UiHandlers"),
    ...declarations("run.ts", "RunResult"),
    ...Object.keys(client).filter((name) => client[name].prototype instanceof client.BowlineError),
  ];
  assert.ok(names.length > 30);
  for (const name of names) assert.ok(page.includes(`\`${name}\``) || page.includes(`\`${name},`), `the page says nothing of ${name}`);
  const lines = readFileSync(path.join(ROOT, "examples/clients/typescript/chat.mjs"), "utf8").trimEnd().split("\n").length;
  assert.ok(page.includes(`in ${lines} lines`));
});
