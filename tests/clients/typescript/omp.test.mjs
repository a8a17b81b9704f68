// The client with the methods of omp's RpcClient, with the real program in the dialect omp.
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { CommandFailed, ProcessDied } from "../../../clients/typescript/dist/index.js";
import { RpcClient } from "../../../clients/typescript/dist/omp.js";
import { BINARY, Workshop } from "./workshop.mjs";

async function start(test, steps = [{ text: "Hello." }], options = {}) {
  const workshop = new Workshop(test);
  const { cwd, env, model } = workshop.options({ model: workshop.script(...steps) });
  const client = new RpcClient({ cliPath: BINARY, cwd, env, model, args: ["--no-context-files"], ...options });
  test.after(() => client.stop());
  await client.start();
  return { client, workshop };
}

test("every method of omp's client does what it says", async (test) => {
  const { client, workshop } = await start(test);
  const events = await client.promptAndWait("Hi");
  assert.equal(events[0].type, "agent_start");
  assert.equal(events.at(-1).type, "agent_end");
  assert.equal(await client.getLastAssistantText(), "Hello.");
  assert.equal((await client.getMessages()).length, 2);

  const state = await client.getState();
  assert.deepEqual([state.messageCount, state.queuedMessageCount, state.interruptMode], [2, 0, "immediate"]);
  assert.equal((await client.setModel("scripted", "script.json")).provider, "scripted");
  assert.equal(await client.cycleModel(), null);
  assert.ok((await client.getAvailableModels()).some(({ provider }) => provider === "scripted"));
  await client.setThinkingLevel("low");
  assert.equal((await client.cycleThinkingLevel()).level, "medium");
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  await client.setInterruptMode("wait");
  await client.setAutoCompaction(false);
  await client.setAutoRetry(false);
  await client.abortRetry();
  await client.setSessionName("named");
  const changed = await client.getState();
  assert.deepEqual(
    [changed.steeringMode, changed.followUpMode, changed.interruptMode, changed.autoCompactionEnabled, changed.sessionName],
    ["all", "all", "wait", false, "named"],
  );

  assert.equal((await client.bash("echo out")).output, "out\n");
  const running = client.bash("sleep 60");
  await client.abortBash();
  assert.equal((await running).cancelled, true);
  assert.equal((await client.getSessionStats()).userMessages, 1);
  assert.match((await client.exportHtml(`${workshop.folder}/page.html`)).path, /page\.html$/);
  await assert.rejects(client.compact("names"), (error) => error instanceof CommandFailed);

  const [message] = await client.getBranchMessages();
  assert.deepEqual(await client.branch(message.entryId), { text: "Hi", cancelled: false });
  assert.deepEqual(await client.switchSession(state.sessionFile), { cancelled: false });
  assert.deepEqual(await client.newSession(), { cancelled: false });
  await client.abort();
  await client.waitForIdle();
});

test("steering, following up and aborting work in a run", async (test) => {
  const sleep = { text: "I wait.", toolCalls: [{ name: "bash", arguments: { command: "sleep 0.3" } }] };
  const { client } = await start(test, [sleep, { text: "One." }, { text: "Two." }, { text: "I hang", hang: true }]);
  const users = [];
  client.onEvent(({ type, message }) => type === "message_end" && message.role === "user" && users.push(message));
  await client.prompt("Go");
  const collected = client.collectEvents();
  await client.steer("this way");
  await client.followUp("and then");
  assert.equal((await collected).at(-1).type, "agent_end");
  assert.equal(users.length, 3);
  const hanging = client.promptAndWait("Hang");
  await new Promise((go) => client.onEvent(({ type }) => type === "message_update" && go()));
  await client.abortAndPrompt("Instead");
  await client.abort();
  assert.ok((await hanging).some(({ type }) => type === "agent_end"));
});

test("a prompt that fails after it was acknowledged rejects whoever waits", async (test) => {
  const { client } = await start(test, [{ text: "I hang", hang: true }]);
  await client.prompt("Go");
  const waiting = client.waitForIdle();
  await client.prompt("Again");
  await assert.rejects(waiting, (error) => error instanceof CommandFailed && error.code === "busy");
  // The first run goes on.
  await assert.rejects(client.waitForIdle(100), /has not ended after 100 ms/);
});

test("a slash command of the agent starts no run, and nobody waits for one", async (test) => {
  const { client } = await start(test);
  const output = [];
  client.onRecord((record) => record.type === "command_output" && output.push(record.text));
  assert.deepEqual(await client.promptAndWait("/rename Parser"), []);
  assert.equal(output.length, 1);
});

test("the end of the process rejects what is waited for", async (test) => {
  const { client } = await start(test, [{ text: "I hang", hang: true }]);
  await client.prompt("Go");
  const waiting = client.waitForIdle();
  const { pid } = await client.bash("echo $PPID").then(({ output }) => ({ pid: Number(output) }));
  process.kill(pid, "SIGKILL");
  await assert.rejects(waiting, ProcessDied);
  await assert.rejects(client.getState(), ProcessDied);
});

test("dialogs are answered with the functions that were given", async (test) => {
  const { client } = await start(
    test,
    [{ toolCalls: [{ name: "bash", arguments: { command: "echo ran" } }] }, { text: "Done." }],
    { args: ["--no-context-files", "--ask", "untrusted"], ui: { select: ({ options }) => options[0] } },
  );
  const events = await client.promptAndWait("Go");
  const end = events.find(({ type }) => type === "tool_execution_end");
  assert.equal(end.isError, false);
});
