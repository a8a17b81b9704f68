// Runs: how they end, how they are ended, many of them, many processes, and processes that are started again.
import assert from "node:assert/strict";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { BowlineError, Closed, CommandFailed, CommandTimedOut, ProcessDied, RunFailed, textOf } from "../../../clients/typescript/dist/index.js";
import { Workshop, collect, until } from "./workshop.mjs";

const HANG = { text: "I hang", hang: true };
const BASH = (command) => ({ text: "I run it.", toolCalls: [{ name: "bash", arguments: { command } }] });

test("the result of a run has text, messages, usage and the record that ended it", async (test) => {
  const workshop = new Workshop(test);
  const usage = { input: 100, output: 10 };
  const agent = await workshop.start({ model: workshop.script({ ...BASH("echo out"), usage }, { text: "Done.", usage }) });
  const result = await agent.promptAndWait("Go");
  assert.deepEqual([result.outcome, result.text, result.timedOut, result.error], ["completed", "Done.", false, undefined]);
  assert.deepEqual(result.messages.map(({ role }) => role), ["user", "assistant", "toolResult", "assistant"]);
  assert.deepEqual([result.usage.input, result.usage.output], [200, 20]);
  assert.deepEqual(result.settled, { type: "agent_settled", aborted: false });
  assert.equal(textOf(result.messages[2]), "out\n");
});

test("an output has the form that its schema says, or the run fails", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script({ text: '{"files":["a"]}' }, { text: "No." }) });
  const outputSchema = { type: "object", properties: { files: { type: "array", items: { type: "string" } } }, required: ["files"] };
  if (!agent.info.events.includes("output_checked")) {
    await assert.rejects(agent.run("Go", { outputSchema }), /does not know outputSchema/);
    return;
  }
  const { output, outcome } = await agent.promptAndWait("Go", { outputSchema });
  assert.deepEqual([output, outcome], [{ files: ["a"] }, "completed"]);
  await assert.rejects(agent.promptAndWait("Go", { outputSchema, outputRetries: 0 }), (error) => {
    assert.deepEqual([error.kind, error.result.output], ["invalid_output", undefined]);
    return true;
  });
});

test("the text of a run comes piece by piece", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script(BASH("true"), { text: "All is well.", chunk: 4 }) });
  const pieces = await collect((await agent.run("Go")).text());
  assert.equal(pieces.join(""), "I run it.\n\nAll is well.");
  assert.ok(pieces.length > 4);
});

test("an answer that is retried is in the usage and not in the messages", async (test) => {
  const workshop = new Workshop(test);
  const error = { kind: "unavailable", message: "overloaded", times: 1, afterDeltas: 1 };
  const agent = await workshop.start({ model: workshop.script({ text: "Well done.", error, chunk: 5 }) });
  const result = await agent.promptAndWait("Go");
  assert.deepEqual(result.messages.map((message) => textOf(message)), ["Go", "Well done."]);
  assert.equal(result.outcome, "completed");
});

test("a failed run throws with its kind, or has a result, as one likes", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script({ text: "x", error: { kind: "authentication", message: "bad key" } }) });
  await assert.rejects(agent.promptAndWait("Go"), (error) => {
    assert.ok(error instanceof RunFailed);
    assert.deepEqual([error.kind, error.message.startsWith("bad key"), error.result.outcome], ["auth", true, "failed"]);
    return true;
  });
  const run = await agent.run("Go");
  assert.equal((await run.result()).errorKind, "auth");
});

test("a run ends early by a signal, by its time and by abort, and has a result", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script(HANG) });
  const controller = new AbortController();
  agent.on("message_update", () => controller.abort());
  const aborted = await agent.promptAndWait("Go", { signal: controller.signal });
  assert.deepEqual([aborted.outcome, aborted.text, aborted.timedOut, aborted.errorKind], ["aborted", "I hang", false, "aborted"]);

  const timedOut = await agent.promptAndWait("Go", { timeoutMs: 50 });
  assert.deepEqual([timedOut.outcome, timedOut.timedOut], ["aborted", true]);

  const early = new AbortController();
  const starting = agent.run("Go", { signal: early.signal });
  early.abort();
  assert.equal((await (await starting).result()).outcome, "aborted");
  await assert.rejects(agent.run("Go", { signal: AbortSignal.abort(new Error("not now")) }), /not now/);
  assert.equal(agent.isBusy, false);
});

test("a second run is refused, and one that is queued says so", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script(BASH("sleep 0.2"), { text: "One." }) });
  const run = await agent.run("Go");
  await assert.rejects(agent.run("Again"), (error) => error instanceof CommandFailed && error.code === "busy");
  assert.equal((await agent.prompt("Then", { streamingBehavior: "followUp" })).disposition, "queued");
  assert.equal((await run.result()).outcome, "completed");
});

test("an exception in a listener is reported and hurts nobody", async (test) => {
  const errors = [];
  const agent = await new Workshop(test).start({ onError: (error) => errors.push(error.message) });
  agent.on("agent_start", () => {
    throw new Error("at once");
  });
  const stop = agent.on("*", async ({ type }) => {
    if (type === "agent_settled") throw new Error("later");
  });
  await agent.promptAndWait("Go");
  await until(() => errors.length === 2, "both are reported");
  stop();
  await agent.promptAndWait("Go");
  assert.deepEqual(errors, ["at once", "later", "at once"]);
});

test("1,000 prompts in a row leave nothing behind", async (test) => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  const workshop = new Workshop(test);
  // One conversation would grow by itself.
  const agent = await workshop.start({ session: "memory" });
  const heap = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const turn = async (count) => {
    for (let index = 0; index < count; index += 1) {
      if (index % 20 === 0) await agent.newSession();
      const controller = new AbortController();
      const result = await agent.promptAndWait("Go", { signal: controller.signal, timeoutMs: 60_000 });
      assert.equal(result.text, "Hello.");
    }
  };
  await turn(100);
  const before = heap();
  await turn(900);
  const growth = heap() - before;
  assert.ok(growth < 1_000_000, `the heap has grown by ${growth} bytes`);
});

test("50 clients work at once", async (test) => {
  const workshop = new Workshop(test);
  const model = workshop.script({ text: "Hello." });
  const agents = await Promise.all(Array.from({ length: 50 }, () => workshop.start({ model, session: "memory" })));
  const results = await Promise.all(agents.map((agent, index) => agent.promptAndWait(`I am ${index}`)));
  results.forEach((result, index) => assert.deepEqual([result.text, textOf(result.messages[0])], ["Hello.", `I am ${index}`]));
});

test("a process that dies is started again with its session and its settings", async (test) => {
  const workshop = new Workshop(test);
  const restarts = [];
  const agent = await workshop.start({
    model: workshop.script({ text: "Hello." }, HANG),
    restart: { delayMs: 10 },
    onRestart: (restart) => restarts.push(restart),
    tools: [{ name: "clock", description: "The time.", parameters: { type: "object" }, run: () => "12:00" }],
  });
  await agent.setSteeringMode("all");
  workshop.file("other.json", JSON.stringify({ steps: [{ text: "Hello." }, HANG] }));
  await agent.setModel("scripted", "other.json");
  const { level } = await agent.cycleThinkingLevel();
  await agent.setLimits({ run: { turns: 7 } });
  await agent.setLimits({ run: { tokens: 100_000 } });
  await agent.promptAndWait("Hi");
  const { sessionId } = await agent.getState();

  const events = agent.events();
  const run = await agent.run("Hang");
  const { pid } = agent;
  process.kill(pid, "SIGKILL");
  await assert.rejects(run.result(), (error) => error instanceof ProcessDied && error.signal === "SIGKILL");
  // What is asked meanwhile waits for the next process.
  const state = await agent.getState();
  assert.notEqual(agent.pid, pid);
  assert.deepEqual([state.sessionId, state.steeringMode, state.isStreaming], [sessionId, "all", false]);
  assert.deepEqual([state.model.id, state.thinkingLevel], ["other.json", level]);
  assert.ok(state.tools.includes("clock"));
  const { limits } = (await agent.getLimits()).run;
  assert.deepEqual([limits.turns, limits.tokens], [7, 100_000]);
  assert.equal((await agent.getMessages()).messages[0].content[0].text, "Hi");
  assert.deepEqual(restarts.map(({ error, state: { sessionId: id } }) => [error.signal, id]), [["SIGKILL", sessionId]]);

  // Whoever takes all events goes on with those of the next process.
  await agent.followUp("later");
  for await (const event of events) if (event.type === "queue_update") break;
});

test("after a switch, the other session is opened again", async (test) => {
  const agent = await new Workshop(test).start({ restart: { delayMs: 10 } });
  await agent.promptAndWait("Hi");
  await agent.newSession();
  await agent.promptAndWait("Second");
  const { sessionFile } = await agent.getState();
  process.kill(agent.pid, "SIGKILL");
  await until(async () => (await agent.getState().catch(() => ({}))).sessionFile === sessionFile, "the session is open");
  assert.equal((await agent.getState()).messageCount, 2);
});

test("a process that dies again and again is given up", async (test) => {
  const agent = await new Workshop(test).startFake(
    `const { appendFileSync, readFileSync } = await import("node:fs");
     appendFileSync("starts", "x");
     if (readFileSync("starts", "utf8").length > 1) { console.error("broken"); process.exit(9); }
     commands.get_state = (command) => answer(command, { sessionId: "s" });
     commands.bash = () => process.exit(8);`,
    { restart: { attempts: 3, delayMs: 1 } },
  );
  await assert.rejects(agent.bash("x"), (error) => error.exitCode === 8);
  await assert.rejects(agent.getState(), (error) => error instanceof ProcessDied && error.stderr.includes("broken"));
  await assert.rejects(agent.waitForIdle(), ProcessDied);
});

test("a process that dies right after its start is given up as well", async (test) => {
  const agent = await new Workshop(test).startFake(
    `const { existsSync, writeFileSync } = await import("node:fs");
     commands.get_state = (command) => answer(command, { sessionId: "s" });
     commands.bash = () => process.exit(8);
     if (existsSync("started")) {
       commands.get_protocol_info = (command) => {
         answer(command, info);
         process.exit(9);
       };
     }
     writeFileSync("started", "");`,
    { restart: { attempts: 3, delayMs: 1 } },
  );
  await assert.rejects(agent.bash("x"), (error) => error.exitCode === 8);
  await assert.rejects(agent.getState(), (error) => error instanceof ProcessDied && error.exitCode === 9);
  assert.ok((await agent.ended) instanceof ProcessDied);
});

test("closing while a process is started again ends that", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ restart: { delayMs: 60_000 } });
  const running = agent.bash("sleep 60");
  process.kill(agent.pid, "SIGKILL");
  await assert.rejects(running, ProcessDied);
  // Nobody waits longer for the next process than for a response.
  await assert.rejects(agent.getState({ timeoutMs: 20 }), CommandTimedOut);
  await assert.rejects(agent.getState({ signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
  const waiting = agent.getState();
  await agent.close();
  await assert.rejects(waiting, Closed);
  await assert.rejects(agent.getState(), BowlineError);
});

test("flags that contradict options are refused", async (test) => {
  const workshop = new Workshop(test);
  const refused = (options, text) => assert.rejects(workshop.start(options), text);
  await refused({ args: ["--dialect=omp"] }, /remove --dialect/);
  await refused({ args: ["--session", "x"] }, /use the option "session" instead of --session/);
  await refused({ restart: true, session: "memory" }, /a session in memory is lost with its process/);
  const agent = await workshop.start({ session: { id: "ticket-4711" } });
  assert.equal((await agent.getState()).sessionId, "ticket-4711");
  await agent.promptAndWait("Hi");
  const { sessionFile } = await agent.getState();
  await agent.close();
  for (const session of ["continue", { path: sessionFile }, { id: "ticket-4711" }]) {
    const next = await workshop.start({ session });
    assert.equal((await next.getState()).messageCount, 2);
    await next.close();
  }
  const fork = await workshop.start({ session: { fork: sessionFile } });
  assert.notEqual((await fork.getState()).sessionId, "ticket-4711");
});
