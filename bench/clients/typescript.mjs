// What the TypeScript client costs: compared with a loop that writes lines and reads them, and with a stream of deltas.
// Fails if a question takes more than twice as long, or if the client falls behind. Usage:
//   BOWLINE=PROGRAM node bench/clients/typescript.mjs
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { Agent, locate } from "../../clients/typescript/dist/index.js";

const QUESTIONS = 250;
const DELTAS = 8_000;
// Many short rounds, in turns: on a shared machine, waking a process up takes three times as long for seconds at a time.
const ROUNDS = 60;

const base = mkdtempSync(path.join(tmpdir(), "bowline-bench-"));
const cwd = path.join(base, "project");
mkdirSync(cwd);
const script = (name, step) => writeFileSync(path.join(cwd, name), JSON.stringify({ steps: [step], cycle: true }));
script("script.json", { text: "word ", repeat: DELTAS });
script("steady.json", { text: "word ", repeat: DELTAS, delayMs: 1 });
const env = { ...process.env, HOME: base, BOWLINE_HOME: path.join(base, "home") };
const model = "scripted/script.json";

// The least that a client can do: one process, lines in, lines out.
class Pipe {
  constructor() {
    const args = ["--mode", "rpc", "--no-session", "--model", model];
    this.child = spawn(locate(), args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    this.record = () => {};
    let rest = "";
    this.child.stdout.setEncoding("utf8");
    this.child.stdout.on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) this.record(JSON.parse(line));
    });
  }

  send(command) {
    this.child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  ask(command) {
    return new Promise((resolve) => {
      this.record = (record) => record.id === command.id && resolve(record);
      this.send(command);
    });
  }

  prompt() {
    return new Promise((resolve) => {
      this.record = (record) => record.type === "agent_settled" && resolve();
      this.send({ id: "p", type: "prompt", message: "Go" });
    });
  }

  close() {
    this.child.stdin.end();
    return new Promise((resolve) => this.child.once("exit", resolve));
  }
}

async function time(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

// Takes the events of a run, and returns how many of them were parts of the answer.
async function updatesOf(agent) {
  let count = 0;
  for await (const event of await agent.run("Go")) if (event.type === "message_update") count += 1;
  return count;
}

// Other programs on the machine only make a round slower.
const fastest = (values) => Math.min(...values);
const rounded = (value) => value.toFixed(value < 10 ? 2 : 0);

const pipe = new Pipe();
const agent = await Agent.start({ cwd, env, model, session: "memory" });
const times = { pipe: [], client: [], pipeRun: [], clientRun: [] };
for (let round = 0; round <= ROUNDS; round += 1) {
  // The first round warms up.
  const keep = (list, value) => round > 0 && list.push(value);
  const bare = await time(async () => {
    for (let index = 0; index < QUESTIONS; index += 1) await pipe.ask({ id: `b${index}`, type: "get_state" });
  });
  keep(times.pipe, bare);
  const asked = await time(async () => {
    for (let index = 0; index < QUESTIONS; index += 1) await agent.getState();
  });
  keep(times.client, asked);
  keep(times.pipeRun, await time(() => pipe.prompt()));
  keep(times.clientRun, await time(() => updatesOf(agent)));
  await agent.newSession();
  await pipe.ask({ id: "n", type: "new_session" });
}
await agent.setModel("scripted", "steady.json");
const steady = await updatesOf(agent);
await agent.close();
await pipe.close();
rmSync(base, { recursive: true, force: true });

const each = (milliseconds) => (milliseconds * 1_000) / QUESTIONS;
const [bare, asked] = [each(fastest(times.pipe)), each(fastest(times.client))];
const [bareRun, run] = [fastest(times.pipeRun), fastest(times.clientRun)];
console.log(`Node ${process.version}, fastest of ${ROUNDS} rounds`);
console.log(`get_state            bare pipe ${rounded(bare)} us   client ${rounded(asked)} us   ${rounded(asked / bare)} times`);
console.log(`${DELTAS} deltas at once  bare pipe ${rounded(bareRun)} ms   client ${rounded(run)} ms   ${rounded(run / bareRun)} times`);
// bowline joins deltas for a client that falls behind. The text has a start and an end besides.
console.log(`${DELTAS} deltas, one per millisecond: ${steady - 2} arrived one by one`);
process.exitCode = asked <= bare * 2 && steady === DELTAS + 2 ? 0 : 1;
