// The pipe: records of any size, lines that are none, processes that die, and consumers that are slow.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  BinaryNotFound,
  BowlineError,
  Closed,
  CommandTimedOut,
  PLATFORM_PACKAGE,
  ProcessDied,
  locate,
} from "../../../clients/typescript/dist/index.js";
import { LineSplitter } from "../../../clients/typescript/dist/lines.js";
import { BINARY, ROOT, Workshop, collect, later, until } from "./workshop.mjs";

test("lines end at LF only, wherever the pieces of the stream end", () => {
  const lines = ["a", "", "zwölf \u2028 \u2029 \u0085 \u000b", "\r", "漢字 🙂".repeat(50)];
  const bytes = Buffer.from(lines.join("\n") + "\nrest");
  for (const size of [1, 2, 3, 7, 64, bytes.length]) {
    const splitter = new LineSplitter(1_000_000, assert.fail);
    const found = [];
    for (let start = 0; start < bytes.length; start += size) found.push(...splitter.push(bytes.subarray(start, start + size)));
    assert.deepEqual(found, lines, `pieces of ${size} bytes`);
    assert.equal(splitter.rest(), "rest");
  }
});

test("a line over the limit is dropped, and the next one is read", () => {
  let dropped = 0;
  const splitter = new LineSplitter(10, () => (dropped += 1));
  const found = ["short\n", "0123456", "789abc", "def\nnext", "\n"].flatMap((piece) => splitter.push(Buffer.from(piece)));
  assert.deepEqual([found, dropped], [["short", "next"], 1]);
});

test("the time for a long line grows with its length, not with its square", () => {
  const time = (megabytes) => {
    const splitter = new LineSplitter(2 ** 30, assert.fail);
    const piece = Buffer.alloc(64 * 1024, "x");
    const before = process.cpuUsage();
    for (let count = 0; count < megabytes * 16; count += 1) splitter.push(piece);
    assert.equal(splitter.push(Buffer.from("\n"))[0].length, megabytes * 2 ** 20);
    // Of this process alone, however busy the machine is.
    return process.cpuUsage(before).user / 1_000;
  };
  // The fastest of several, because other programs only make it slower.
  const fastest = (megabytes) => Math.min(...Array.from({ length: 4 }, () => time(megabytes)));
  const [small, large] = [fastest(5), fastest(40)];
  // Below some milliseconds the system's clock says 0.
  assert.ok(large < Math.max(small, 5) * 8 * 5, `5 MB took ${small} ms and 40 MB ${large} ms`);
});

test("a record of 20 MB arrives whole, with U+2028 in it", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start();
  const message = "\u2028 wörter ".repeat(2_000_000);
  const run = await agent.run(message);
  const ends = (await collect(run)).filter(({ type }) => type === "message_end");
  assert.equal(ends[0].message.content[0].text, message);
  assert.equal((await run.result()).text, "Hello.");
});

test("a raw U+2028, which other agents write, ends no record", async (test) => {
  const agent = await new Workshop(test).startFake(`
    commands.get_state = (command) => process.stdout.write(
      '{"id":"' + command.id + '","type":"response","command":"get_state","success":true,"data":"a\u2028b\u2029c"}\\n');`);
  assert.equal(await agent.getState(), "a\u2028b\u2029c");
});

test("what is no record is skipped and reported", async (test) => {
  const garbage = [];
  const agent = await new Workshop(test).startFake(
    `commands.get_state = (command) => {
       process.stdout.write("warning: no JSON\\n\\n42\\n[]\\nnull\\n{\\"no\\":\\"type\\"}\\n");
       write({ type: "response", id: "foreign", command: "bash", success: true });
       process.stdout.write(Buffer.from([0xff, 0xfe, 0x0a]));
       process.stdout.write("x".repeat(2_000_000) + "\\n");
       answer(command, { fine: true });
     };`,
    { onGarbage: (line) => garbage.push(line), maxRecordBytes: 1_000_000 },
  );
  assert.deepEqual(await agent.getState(), { fine: true });
  assert.deepEqual(garbage.map(({ line }) => line.slice(0, 16)), [
    "warning: no JSON", "42", "[]", "null", '{"no":"type"}', '{"type":"respons', "\ufffd\ufffd", "",
  ]);
  assert.match(garbage.at(-1).reason, /longer than 1000000 bytes/);
  assert.equal(agent.garbageCount, 8);
});

test("a process that is killed in a run rejects everybody who waits, with its last words", async (test) => {
  const agent = await new Workshop(test).startFake(`
    console.error("first words");
    commands.prompt = (command) => {
      answer(command, { disposition: "started" });
      write({ type: "agent_start" });
      console.error("last words");
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 50);
    };`);
  const run = await agent.run("Go");
  const waiters = [
    run.result(),
    agent.getState(),
    agent.waitForIdle(),
    collect(agent.events()),
  ];
  for (const { status, reason } of await Promise.allSettled(waiters)) {
    assert.equal(status, "rejected");
    assert.ok(reason instanceof ProcessDied, String(reason));
    assert.deepEqual([reason.signal, reason.exitCode], ["SIGKILL", undefined]);
    assert.match(reason.stderr, /first words\nlast words/);
  }
  await assert.rejects(agent.getState(), ProcessDied);
  await assert.rejects(agent.run("Go"), ProcessDied);
  await assert.rejects(collect(agent.events()), ProcessDied);
  assert.ok((await agent.ended) instanceof ProcessDied);
});

test("events that came before the death are taken before it is thrown", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script({ text: "ab", repeat: 20, delayMs: 1 }, { text: "x", hang: true }) });
  const run = await agent.run("Go");
  const seen = [];
  await assert.rejects(async () => {
    for await (const event of run) {
      seen.push(event.type);
      if (event.type === "message_update") process.kill(agent.pid, "SIGKILL");
    }
  }, ProcessDied);
  assert.deepEqual(seen.slice(0, 2), ["agent_start", "turn_start"]);
});

test("a process that cannot start says why", async (test) => {
  const workshop = new Workshop(test);
  await assert.rejects(workshop.start({ args: ["--sandbox", "nonsense"] }), (error) => {
    assert.ok(error instanceof ProcessDied);
    assert.match(error.reason, /nonsense/);
    assert.equal(error.exitCode, 1);
    return true;
  });
  await assert.rejects(workshop.start({ cwd: "/nowhere/at/all" }), /cannot be started in the folder \/nowhere/);
  await assert.rejects(workshop.start({ binary: "/bin/cat", startTimeoutMs: 300 }), /Is it bowline\?|ended with code/);
  await assert.rejects(
    workshop.startFake('info.dialect = "omp";'),
    /speaks the dialect "omp", and this client speaks "pi"/,
  );
});

test("stdout that somebody else keeps open does not hide the end of the process", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.startFake(`
    const { spawn } = await import("node:child_process");
    const { writeFileSync } = await import("node:fs");
    commands.get_state = () => {
      const { pid } = spawn("sleep", ["60"], { stdio: ["ignore", "inherit", "inherit"] });
      writeFileSync("kept", String(pid));
      process.exit(7);
    };`);
  const started = Date.now();
  await assert.rejects(agent.getState(), (error) => error.exitCode === 7);
  assert.ok(Date.now() - started < 50_000);
  process.kill(Number(readFileSync(path.join(workshop.folder, "kept"), "utf8")));
});

test("the program is found, or the error says what to do", async (test) => {
  const workshop = new Workshop(test);
  assert.equal(locate(BINARY), BINARY);
  assert.equal(locate(undefined, { BOWLINE: BINARY }), BINARY);
  assert.equal(locate(undefined, { PATH: `/nowhere:${path.dirname(BINARY)}` }), BINARY);
  assert.equal(locate("bowline", { PATH: path.dirname(BINARY) }), BINARY);
  assert.throws(() => locate("/nowhere/bowline"), /the option "binary" names, is not a program/);
  assert.throws(() => locate(undefined, { BOWLINE: workshop.home }), /the variable BOWLINE names/);
  assert.throws(() => locate(undefined, { PATH: "/nowhere" }), (error) =>
    error instanceof BinaryNotFound && error.message.includes(PLATFORM_PACKAGE) && error.message.includes("BOWLINE"));

  // As npm installs it, with the package for this system beside it.
  const modules = path.join(workshop.folder, "node_modules");
  cpSync(path.join(ROOT, "clients/typescript"), path.join(modules, "bowline-agent"), { recursive: true });
  mkdirSync(path.join(modules, PLATFORM_PACKAGE, "bin"), { recursive: true });
  workshop.file(`node_modules/${PLATFORM_PACKAGE}/package.json`, `{"name":"${PLATFORM_PACKAGE}","version":"0.1.0"}`);
  symlinkSync(BINARY, path.join(modules, PLATFORM_PACKAGE, "bin/bowline"));
  const main = workshop.file("main.mjs", 'export { locate } from "bowline-agent"; export { RpcClient } from "bowline-agent/omp";');
  chmodSync(main, 0o644);
  const installed = await import(pathToFileURL(main).href);
  assert.equal(installed.locate(undefined, { PATH: "/nowhere" }), BINARY);
});

test("a command that is not answered in time fails, and its late response hurts nobody", async (test) => {
  const garbage = [];
  const agent = await new Workshop(test).startFake(
    "commands.get_tree = (command) => setTimeout(() => answer(command, {}), 150);\ncommands.get_state = (c) => answer(c, 1);",
    { timeouts: { get_tree: 50 }, onGarbage: (line) => garbage.push(line) },
  );
  await assert.rejects(agent.getTree(), (error) => error instanceof CommandTimedOut && error.timeoutMs === 50);
  await later(200);
  assert.deepEqual(await agent.getTree({ timeoutMs: 0 }), {});
  assert.equal(await agent.getState(), 1);
  assert.deepEqual(garbage, []);
});

test("a signal ends the waiting, and the work of the command", async (test) => {
  const agent = await new Workshop(test).start();
  const controller = new AbortController();
  const output = [];
  agent.on("bash_execution_update", ({ delta }) => {
    output.push(delta);
    controller.abort(new Error("enough"));
  });
  const started = Date.now();
  await assert.rejects(agent.bash("echo begun; sleep 30", { signal: controller.signal }), /enough/);
  await until(async () => (await agent.getMessages()).messages.length === 1, "the command is over");
  assert.ok(Date.now() - started < 25_000);
  await assert.rejects(agent.getState({ signal: AbortSignal.abort(new Error("never sent")) }), /never sent/);
});

test("a command that bowline would not read is refused at once", async (test) => {
  const agent = await new Workshop(test).start({ args: ["--line-limit", "1000"] });
  await assert.rejects(agent.steer("x".repeat(1_000)), (error) => error instanceof BowlineError && /--line-limit/.test(error.message));
  assert.equal((await agent.getState()).pendingMessageCount, 0);
});

test("closing ends runs and waiting commands, and nothing can be sent any more", async (test) => {
  const workshop = new Workshop(test);
  const agent = await workshop.start({ model: workshop.script({ text: "x", hang: true }) });
  const run = await agent.run("Go");
  const running = agent.bash("sleep 60");
  const end = await agent.close();
  assert.equal(end.exitCode, 0);
  assert.equal((await run.result()).outcome, "aborted");
  assert.equal((await running).cancelled, true);
  await assert.rejects(agent.getState(), Closed);
  assert.deepEqual(await collect(agent.events()), []);
  assert.equal((await agent.close()).exitCode, 0);
  assert.ok((await agent.ended) instanceof Closed);
});

test("a process that does not end is killed", async (test) => {
  const agent = await new Workshop(test).startFake('process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000);');
  assert.equal((await agent.close({ graceMs: 50 })).signal, "SIGKILL");
});
