// The process that extensions share: its streams, its end, and errors that nobody catches.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const command = (name, body) => `pi.registerCommand(${JSON.stringify(name)}, { handler: async (args, ctx) => { ${body} } });`;
const extension = (...commands) => `import fs from "node:fs"; import { spawnSync, execSync } from "node:child_process";
  export default (pi) => { ${commands.join("\n")} };`;

const isBun = process.env.PI_HOST_RUNTIME?.endsWith("bun");

for (const usesSockets of [false, true]) {
  // bowline gives the host pipes; sockets are what Node would give it.
  const skip = usesSockets && isBun ? "only a program of Node gives sockets" : false;
  const way = usesSockets ? "sockets" : "pipes";
  test(`output of extensions and of their programs goes to the log, ${way}`, { skip }, () => outputIsLogged(usesSockets));
}

async function outputIsLogged(usesSockets) {
  const source = extension(
    command(
      "write",
      `console.log("by log"); console.info("by info"); process.stdout.write("by stdout\\n"); fs.writeSync(1, "by descriptor\\n");
       spawnSync("sh", ["-c", "echo by child; cat; echo end of input"], { stdio: "inherit" }); ctx.ui.notify("done");`,
    ),
  );
  await withHost({ "a.ts": source }, async (engine) => {
    await engine.command("write");
    await engine.next(({ method }) => method === "ui.notify");
    // Each line on stdout was a record, else the helper had failed.
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (const text of ["by log", "by info", "by stdout", "by descriptor", "by child", "end of input"]) {
      assert.ok(engine.log.includes(text), text);
    }
  }, { usesSockets });
}

test("stdin is empty for extensions, and records still arrive", async () => {
  const source = extension(
    command("read", `const parts = []; for await (const part of process.stdin) parts.push(part); ctx.ui.notify(String(parts.length));`),
    command("sync", `ctx.ui.notify(JSON.stringify(fs.readFileSync(0, "utf8")));`),
  );
  await withHost({ "a.ts": source }, async (engine) => {
    await engine.command("read");
    await engine.command("sync");
    assert.deepEqual(engine.of("notify").map(({ params }) => params.message), ["0", '""']);
  });
});

test("an extension cannot end the process", async () => {
  const source = extension(
    command("exit", "process.exit(3)"),
    command("abort", "process.abort()"),
    command("kill", "process.kill(process.pid)"),
    command("later", `setTimeout(() => process.exit(4), 1); ctx.ui.notify("x")`),
  );
  await withHost({ "a.ts": source }, async (engine) => {
    for (const name of ["exit", "abort", "kill"]) assert.match((await engine.command(name)).error.message, /not available to extensions/);
    await engine.command("later");
    const { ext, message } = await engine.next(({ type }) => type === "error");
    assert.equal(ext, "a");
    assert.match(message, /^process\.exit\(4\) is not available/);
    assert.equal((await engine.hook({ type: "session_start", reason: "startup" })).result, null);
  });
});

test("errors that nobody catches are those of the extension that they come from", async () => {
  const failing = (name) =>
    extension(
      command("timer", `setTimeout(() => { throw new Error("${name} timer"); }, 1);`),
      command("promise", `void (async () => { await null; throw new Error("${name} promise"); })();`),
      command("event", `new EventTarget(); const emitter = new (await import("node:events")).EventEmitter(); setTimeout(() => emitter.emit("error", new Error("${name} emitter")), 1);`),
      command("text", `setTimeout(() => { throw "${name} text"; }, 1);`),
    );
  await withHost({ "a.ts": failing("a"), "b.ts": failing("b") }, async (engine) => {
    for (const ext of ["a", "b"]) {
      for (const name of ["timer", "promise", "event", "text"]) {
        assert.equal((await engine.command(name, "", ext)).error, undefined);
        const expected = name === "event" ? "emitter" : name;
        const record = await engine.next(({ type, message }) => type === "error" && message === `${ext} ${expected}`);
        assert.equal(record.ext, ext);
        assert.equal(record.where, undefined);
      }
    }
    assert.equal(engine.of("error").length, 8);
  });
});

test("what is thrown while a module is evaluated later is attributed too", async () => {
  const source = `setTimeout(() => { throw new Error("from the module"); }, 1); export default () => {};`;
  await withHost({ "a.ts": "export default () => {};", "b.ts": source }, async (engine) => {
    const { ext, message } = await engine.next(({ type }) => type === "error");
    assert.deepEqual([ext, message], ["b", "from the module"]);
  });
});

test("the process ends with its input, and when it is told to", async () => {
  const source = extension(`setInterval(() => {}, 1000);`);
  await withHost({ "a.ts": source }, async (engine) => {
    engine.child.stdin.end();
    assert.equal(await engine.exited, 0);
  });
  await withHost({ "a.ts": source }, async (engine) => {
    engine.send({ type: "shutdown", deadlineMs: 1000 });
    assert.equal(await engine.exited, 0);
  });
});

test("records that are unknown, broken or long do no harm", async () => {
  const source = extension(`pi.on("input", (event) => ({ action: "transform", text: String(event.text.length) }));`);
  await withHost({ "a.ts": source }, async (engine) => {
    engine.child.stdin.write('{"type":"later"}\nnonsense\n[1]\n"x"\n\n{"type":"hook"\n');
    engine.send({ type: "response", id: "unknown", result: 1 });
    engine.send({ type: "cancel", id: "unknown", reason: "abort" });
    assert.match((await engine.hook({ type: "input" }, "nobody")).error.message, /no extension nobody/);
    const text = "é".repeat(3 * 1024 * 1024);
    const { result } = await engine.hook({ type: "input", text, source: "rpc" });
    assert.equal(result.text, String(text.length));
    engine.child.stdin.write("x".repeat(65 * 1024 * 1024) + "\n");
    assert.equal((await engine.hook({ type: "input", text: "ab", source: "rpc" })).result.text, "2");
  });
});

test("values that have no JSON do not end the host", async () => {
  const source = extension(
    command("circle", `const a = { n: 1n, list: [1] }; a.self = a; pi.appendEntry("x", a); ctx.ui.notify("ok")`),
  );
  await withHost({ "a.ts": source }, async (engine) => {
    await engine.command("circle");
    assert.deepEqual(engine.of("notify")[0].params.data, { n: "1", list: [1] });
  });
});

test("an extension that starts the program it runs in gets pi", async () => {
  const source = extension(
    command(
      "again",
      `const { stdout, status } = spawnSync(process.execPath, [process.argv[1], "--mode", "json"], { encoding: "utf8" }); ctx.ui.notify(stdout.trim() + status);`,
    ),
  );
  const folder = mkdtempSync(join(tmpdir(), "pi-host-bin-"));
  writeFileSync(join(folder, "pi"), '#!/bin/sh\necho "pi $* $BOWLINE_EXTENSION"\nexit 7\n', { mode: 0o700 });
  const environment = { PATH: `${folder}:${process.env.PATH}`, BOWLINE_EXTENSION: "pi-extensions" };
  try {
    await withHost({ "a.ts": source }, async (engine) => {
      await engine.command("again");
      assert.equal(engine.of("notify")[0].params.message, "pi --mode json7");
    }, { environment });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
