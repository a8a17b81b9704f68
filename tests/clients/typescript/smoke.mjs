// A short run of the TypeScript client without a test runner, for Bun and Deno.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { Agent, ProcessDied, tool } from "../../../clients/typescript/dist/index.js";
import { RpcClient } from "../../../clients/typescript/dist/omp.js";

const base = mkdtempSync(path.join(tmpdir(), "bowline-smoke-"));
const project = path.join(base, "project");
mkdirSync(project);
const script = {
  steps: [{ text: "I look.", toolCalls: [{ name: "clock", arguments: {} }] }, { text: "ab", repeat: 8_000 }, { text: "I hang", hang: true }],
};
writeFileSync(path.join(project, "script.json"), JSON.stringify(script));
const options = {
  cwd: project,
  env: { ...process.env, HOME: base, BOWLINE_HOME: path.join(base, "home") },
  model: "scripted/script.json",
};

try {
  const clock = tool({ name: "clock", description: "The time.", parameters: { type: "object", properties: {} }, run: () => "12:00" });
  const agent = await Agent.start({ ...options, tools: [clock], restart: { delayMs: 10 }, bufferBytes: 100_000 });
  let text = "";
  for await (const piece of (await agent.run("Go")).text()) {
    text += piece;
    if (text.length % 1_000 < 3) await new Promise((go) => setTimeout(go, 1));
  }
  assert.equal(text, `I look.\n\n${"ab".repeat(8_000)}`);

  const run = await agent.run("Hang");
  process.kill(agent.pid, "SIGKILL");
  await assert.rejects(run.result(), (error) => error instanceof ProcessDied && error.signal === "SIGKILL");
  assert.ok((await agent.getState()).messageCount >= 4);
  const long = "\u2028 wörter ".repeat(500_000);
  await agent.newSession();
  await agent.steer(long);
  assert.deepEqual((await agent.clearQueue()).steering, [long]);
  assert.equal((await agent.close()).exitCode, 0);
  await assert.rejects(agent.getState(), /closed/);

  const client = new RpcClient({ cwd: project, env: options.env, model: options.model });
  await client.start();
  assert.equal((await client.bash("echo out")).output, "out\n");
  await client.stop();
} finally {
  rmSync(base, { recursive: true, force: true });
}
const runtime = globalThis.Bun ? `Bun ${Bun.version}` : globalThis.Deno ? `Deno ${Deno.version.deno}` : `Node ${process.version}`;
console.log(`typescript: the client works in ${runtime}`);
process.exitCode = 0;
