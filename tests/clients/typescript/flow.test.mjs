// Consumers that are slower than bowline: nothing is lost, memory is bounded, and nobody waits for ever.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Workshop, collect, later, until } from "./workshop.mjs";

// An agent whose run has many large events; `sent` is how many of them it could write so far.
const FLOOD = (count, size) => `
  commands.prompt = async (command) => {
    answer(command, { disposition: "started" });
    for (let index = 0; index < ${count}; index += 1) {
      const event = { type: "tool_execution_start", toolCallId: String(index), toolName: "t", args: { text: "x".repeat(${size}) } };
      if (!process.stdout.write(JSON.stringify(event) + "\\n")) await new Promise((go) => process.stdout.once("drain", go));
      console.error("sent " + (index + 1));
    }
    write({ type: "agent_settled", aborted: false });
  };
  commands.get_state = (command) => answer(command, { messageCount: 1 });`;

async function flood(test, count, size, options = {}) {
  let sent = 0;
  const onStderr = (line) => (sent = Number(line.slice(5)));
  const agent = await new Workshop(test).startFake(FLOOD(count, size), { onStderr, bufferBytes: 200_000, ...options });
  return { agent, sent: () => sent };
}

const isComplete = (events, count) =>
  assert.deepEqual(
    events.map((event) => event.toolCallId ?? event.type),
    [...Array.from({ length: count }, (_, index) => String(index)), "agent_settled"],
  );

test("a consumer that takes nothing stops the process, and then gets everything", async (test) => {
  const { agent, sent } = await flood(test, 2_000, 10_000);
  const run = await agent.run("Go");
  await until(() => sent() > 10, "the flood has begun");
  let stoppedAt;
  do {
    stoppedAt = sent();
    await later(300);
  } while (sent() !== stoppedAt);
  // Without a pause, all 2,000 would have been sent.
  assert.ok(stoppedAt < 200, `${stoppedAt} events of 10 KB were read`);
  isComplete(await collect(run), 2_000);
});

test("a slow consumer gets every event in order", async (test) => {
  const { agent } = await flood(test, 300, 10_000);
  const events = [];
  for await (const event of await agent.run("Go")) {
    events.push(event);
    if (events.length % 10 === 0) await later(2);
  }
  isComplete(events, 300);
});

test("a consumer that waits for a response in its loop gets it", async (test) => {
  const { agent } = await flood(test, 1_000, 10_000);
  const events = [];
  for await (const event of await agent.run("Go")) {
    events.push(event);
    if (events.length % 100 === 1) {
      await later(50);
      assert.equal((await agent.getState()).messageCount, 1);
    }
  }
  isComplete(events, 1_000);
});

test("a consumer that waits for another one, or for the end of the run, gets there", async (test) => {
  const { agent } = await flood(test, 500, 10_000);
  const outer = agent.events();
  const run = await agent.run("Go");
  await outer.next();
  // The outer consumer takes nothing while the inner one takes all.
  isComplete(await collect(run), 500);
  assert.equal((await run.result()).outcome, "completed");
  let count = 1;
  for await (const event of outer) {
    count += 1;
    if (event.type === "agent_settled") break;
  }
  assert.equal(count, 501);

  const another = await agent.run("Go");
  for await (const event of another) {
    assert.equal(event.toolCallId, "0");
    assert.equal((await another.result()).outcome, "completed");
    break;
  }
});

test("a consumer that left its loop, and a run whose result alone is wanted, hold up nothing", async (test) => {
  const { agent } = await flood(test, 500, 10_000);
  const events = agent.events();
  const run = await agent.run("Go");
  for await (const _ of events) break;
  for await (const _ of run) break;
  await agent.waitForIdle();
  assert.equal((await agent.promptAndWait("Go")).outcome, "completed");
  const discarded = await agent.run("Go");
  discarded.discard();
  await until(() => !agent.isBusy, "the run is over");
  assert.throws(() => discarded[Symbol.asyncIterator](), /can be taken once/);
});

test("deltas are joined while a consumer lags and another one waits, and no text is lost", async (test) => {
  const workshop = new Workshop(test);
  const model = workshop.script({ text: "0123456789", repeat: 20_000 });
  const agent = await workshop.start({ model, bufferBytes: 100_000 });
  const slow = agent.events();
  const run = await agent.run("Go");
  const { text } = await run.result();
  let length = 0;
  let deltas = 0;
  for await (const event of slow) {
    if (event.type === "agent_settled") break;
    if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") continue;
    deltas += 1;
    length += event.assistantMessageEvent.delta.length;
  }
  assert.equal(length, 200_000);
  assert.equal(text.length, 200_000);
  assert.ok(deltas < 5_000, `${deltas} events are kept`);
});

test("closing reads what is left, for a consumer that takes it later", async (test) => {
  const { agent } = await flood(test, 400, 10_000);
  const run = await agent.run("Go");
  const closed = agent.close({ graceMs: 5_000 });
  await closed;
  isComplete(await collect(run), 400);
});
