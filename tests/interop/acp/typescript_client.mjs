// Drives bowline with the client class of the official TypeScript library, which holds every message against its schemas.
// Usage: typescript_client.mjs LIBRARY FOLDER COMMAND ARGS...
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const [library, folder, ...command] = process.argv.slice(2);
const acp = await import(pathToFileURL(library));
const { agent: calls, client: serves } = acp.methods;
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const complaints = [];
for (const level of ["error", "warn"]) {
  const write = console[level].bind(console);
  console[level] = (...words) => {
    complaints.push(words.join(" "));
    write(...words);
  };
}

const plan = (...steps) => [{ type: "text", text: `PLAN ${JSON.stringify(steps)}` }];
const tool = (name, args) => ({ tools: [{ name, args }] });
const updates = [];
const seen = { permissions: 0, writes: 0 };
const app = acp.client({ name: "bowline-test" })
  .onNotification(serves.session.update, ({ params }) => { updates.push(params.update); })
  .onRequest(serves.session.requestPermission, ({ params }) => {
    seen.permissions += 1;
    const allowed = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: allowed.optionId } };
  })
  .onRequest(serves.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf8") }))
  .onRequest(serves.fs.writeTextFile, ({ params }) => {
    seen.writes += 1;
    writeFileSync(params.path, params.content);
    return {};
  });

await app.connectWith(stream, async (agent) => {
  const initialized = await agent.request(calls.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "bowline-test", version: "1" },
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
    },
  });
  assert.equal(initialized.protocolVersion, acp.PROTOCOL_VERSION);
  const opened = await agent.request(calls.session.new, { cwd: folder, mcpServers: [] });
  const { sessionId } = opened;
  writeFileSync(`${folder}/file.txt`, "one\ntwo\n");
  const turn = await agent.request(calls.session.prompt, {
    sessionId,
    prompt: plan(
      { think: "A thought.", text: "Some text.", ...tool("edit", { path: "file.txt", edits: [{ oldText: "two", newText: "TWO" }] }) },
      tool("bash", { command: "cat file.txt; exit 2" }),
      tool("write", { path: "new.txt", content: "new\n" }),
      tool("todo", { op: "init", list: [{ phase: "Work", items: ["Look"] }] }),
      { text: "Done." },
    ),
  });
  assert.equal(turn.stopReason, "end_turn");
  assert.equal(readFileSync(`${folder}/file.txt`, "utf8"), "one\nTWO\n");
  assert.ok(seen.permissions >= 3 && seen.writes === 2 && existsSync(`${folder}/new.txt`), JSON.stringify(seen));
  const model = await agent.request(calls.session.setConfigOption, { sessionId, configId: "model", value: "mock/m2" });
  assert.equal(model.configOptions.find((option) => option.id === "model").currentValue, "mock/m2");
  await agent.request(calls.session.setMode, { sessionId, modeId: "auto" });
  const running = agent.request(calls.session.prompt, { sessionId, prompt: plan(tool("bash", { command: "sleep 60" }), { text: "no" }) });
  while (!updates.some((update) => update.status === "in_progress" && updates.indexOf(update) > updates.length - 3)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await agent.notify(calls.session.cancel, { sessionId });
  assert.equal((await running).stopReason, "cancelled");
  await agent.request(calls.session.close, { sessionId });
  const before = updates.length;
  await agent.request(calls.session.load, { sessionId, cwd: folder, mcpServers: [] });
  const replayed = updates.slice(before);
  for (const kind of ["user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "plan"]) {
    assert.ok(replayed.some((update) => update.sessionUpdate === kind), `${kind} is not replayed`);
  }
  assert.ok(replayed.some((update) => update.content?.[0]?.type === "diff"), "no diff is replayed");
  const listed = await agent.request(calls.session.list, { cwd: folder });
  assert.equal(listed.sessions[0].sessionId, sessionId);
  await agent.request(calls.session.delete, { sessionId });
  await assert.rejects(agent.request(calls.session.load, { sessionId, cwd: folder, mcpServers: [] }), { code: -32002 });
});
child.stdin.end();
const code = await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve(child.exitCode)));
assert.equal(code, 0);
assert.deepEqual(complaints, []);
console.log(`typescript: ${updates.length} updates, no complaint`);
process.exit(0);
