// Instances of extensions: what works when, and what happens when another session takes the place of theirs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const STALE = /^This extension ctx is stale after session replacement or reload\./;

test("only registration works while the factory runs", async () => {
  const source = `
    export default async function (pi) {
      const tried = {};
      for (const [name, ...parameters] of [
        ["sendMessage", {}], ["sendUserMessage", "x"], ["appendEntry", "x"], ["setSessionName", "x"], ["getSessionName"],
        ["setLabel", "x"], ["getActiveTools"], ["setActiveTools", []], ["getAllTools"], ["getCommands"], ["setModel", {}],
        ["getThinkingLevel"], ["setThinkingLevel", "low"],
      ]) {
        try { await pi[name](...parameters); } catch (error) { tried[name] = error.message; }
      }
      pi.registerFlag("f", { type: "string", default: "d" });
      const flag = pi.getFlag("f");
      pi.registerCommand("report", { handler: async (args, ctx) => ctx.ui.notify(JSON.stringify({ tried, flag, now: pi.getFlag("f"), other: pi.getFlag("g") })) });
    }`;
  await withHost({ "a.ts": source }, async (engine) => {
    engine.state({ flags: { f: "set" } });
    await engine.command("report");
    const { tried, flag, now, other } = JSON.parse(engine.of("notify")[0].params.message);
    assert.equal(Object.keys(tried).length, 13);
    for (const message of Object.values(tried)) {
      assert.equal(message, "Extension runtime not initialized. Action methods cannot be called during extension loading.");
    }
    assert.deepEqual([flag, now, other], ["d", "set", undefined]);
  });
});

test("a factory that fails registers nothing, and the others go on", async () => {
  const files = {
    "a.ts": `export default (pi) => { pi.registerCommand("x", { handler() {} }); pi.events.on("c", () => pi.x()); throw new Error("no"); };`,
    "b.ts": `export default (pi) => { pi.registerCommand("b", { handler: async () => pi.events.emit("c", 1) }); };`,
    "c.ts": `export const x = 1;`,
    "d.ts": `export default (pi) => { pi.registerTool({ name: "t", parameters: [] }); };`,
  };
  await withHost(files, async (engine) => {
    const { extensions, errors } = engine.registered;
    assert.deepEqual(extensions.map(({ ext }) => ext), ["b"]);
    assert.deepEqual(errors.map(({ ext }) => ext), ["a", "c", "d"]);
    assert.equal(errors[0].error, "no");
    assert.match(errors[1].error, /does not export a valid factory function/);
    assert.match(errors[2].error, /^Tool "t" registered by extension ".*d\.ts" must define an object parameter schema\.$/);
    assert.equal((await engine.command("b", "", "b")).error, undefined);
    assert.doesNotMatch(engine.log, /A handler of the channel/);
  });
});

test("extensions that are loaded later are registered by themselves", async () => {
  const source = `export default (pi) => { pi.registerCommand("x", { handler() {} }); };`;
  await withHost(
    { "a.ts": source, "b.ts": source },
    async (engine) => {
      engine.send({ type: "load", extensions: [engine.described("b.ts")] });
      await engine.next(({ type }) => type === "registered");
      assert.deepEqual(engine.of("register").map(({ ext }) => ext), ["b"]);
    },
    { entries: ["a.ts"] },
  );
});

const COUNTING = `
  let evaluated = (globalThis.evaluated = (globalThis.evaluated ?? 0) + 1);
  let built = 0;
  let oldPi, oldCtx;
  export default (pi) => {
    built += 1;
    const name = built === 1 ? "first" : "second";
    pi.registerCommand(name, { handler: async (args, ctx) => ctx.ui.notify(JSON.stringify({ evaluated, built, stale: tryOld() })) });
    pi.registerCommand("always", { handler() {} });
    if (built === 1) pi.on("input", () => {});
    pi.events.on("channel", () => globalThis.heard = (globalThis.heard ?? 0) + 1);
    pi.on("session_start", (event, ctx) => {
      if (built === 1) { oldPi = pi; oldCtx = ctx; }
      pi.events.emit("channel", 1);
      pi.appendEntry("started", { reason: event.reason, built, heard: globalThis.heard });
    });
    pi.on("session_shutdown", (event, ctx) => { ctx.ui.notify("down " + event.reason); });
  };
  function tryOld() {
    const messages = [];
    for (const use of [() => oldPi.getActiveTools(), () => oldPi.on("input", () => {}), () => oldCtx.cwd, () => oldCtx.isIdle(), () => oldPi.events.emit("x")]) {
      try { use(); messages.push("worked"); } catch (error) { messages.push(error.message); }
    }
    return messages;
  }`;

test("another session gets another instance of the same module", async () => {
  await withHost({ "a.ts": COUNTING, "b.ts": COUNTING.replaceAll('"first"', '"b1"') }, async (engine) => {
    for (const ext of ["a", "b"]) await engine.hook({ type: "session_start", reason: "startup" }, ext);
    for (const ext of ["a", "b"]) await engine.hook({ type: "session_shutdown", reason: "new" }, ext);
    engine.state({ sessionId: "session-2" });
    for (const ext of ["a", "b"]) await engine.hook({ type: "session_start", reason: "new" }, ext);

    // All factories have run before the first handler hears of the session.
    const order = engine.records.filter(({ type, method }) => type === "register" || method === "session.appendEntry");
    assert.deepEqual(
      order.map(({ type, ext, params }) => [type, ext, params?.data.heard].filter((part) => part !== undefined).join(" ")),
      ["notify a 2", "notify b 4", "register a", "register b", "notify a 6", "notify b 8"],
    );
    const [unregister] = engine.of("unregister");
    const [register] = engine.of("register");
    assert.deepEqual([unregister.commands, unregister.hooks], [["first"], ["input"]]);
    assert.deepEqual([register.commands, register.hooks], [[{ name: "second" }], undefined]);

    await engine.command("second");
    const { evaluated, built, stale } = JSON.parse(engine.of("notify").at(-1).params.message);
    assert.deepEqual([evaluated, built], [1, 2]);
    for (const message of stale) assert.match(message, STALE);
  });
});

test("the end of the program does not replace the instance", async () => {
  await withHost({ "a.ts": COUNTING }, async (engine) => {
    await engine.hook({ type: "session_start", reason: "startup" });
    await engine.hook({ type: "session_shutdown", reason: "quit" });
    assert.equal(engine.of("notify").at(-1).params.message, "down quit");
    assert.equal(engine.of("register").length, 0);
  });
});

test("a factory that fails for a later session is reported and leaves nothing registered", async () => {
  const source = `
    let built = 0;
    export default (pi) => {
      built += 1;
      if (built > 1) throw new Error("second time");
      pi.registerCommand("x", { handler() {} });
    };`;
  await withHost({ "a.ts": source }, async (engine) => {
    await engine.hook({ type: "session_shutdown", reason: "resume" });
    assert.equal((await engine.hook({ type: "session_start", reason: "resume" })).result, null);
    assert.deepEqual(engine.of("unregister").map(({ commands }) => commands), [["x"]]);
    assert.deepEqual(engine.of("error").map(({ where, message }) => [where, message]), [["load", "second time"]]);
  });
});

test("a command goes on in the session that it has started", async () => {
  const source = `
    export default (pi) => {
      pi.on("session_start", (event) => pi.appendEntry("started as " + event.reason));
      pi.registerCommand("go", { handler: async (args, ctx) => {
        const answer = await ctx.newSession({
          parentSession: "/parent.jsonl",
          setup: async (manager) => { manager.appendCustomEntry("note", 1); },
          withSession: async (next) => {
            next.ui.notify("in " + next.sessionManager.getSessionId());
            await next.sendUserMessage("hello");
            next.ui.notify("sent");
          },
        });
        try { ctx.cwd; } catch (error) { console.error(error.message); throw error; }
      } });
    };`;
  await withHost({ "a.ts": source }, async (engine) => {
    engine.state({ sessionFile: join(engine.folder, "session.jsonl") });
    const command = engine.command("go");
    const request = await engine.next(({ method }) => method === "session.switch");
    const [header, entry] = readFileSync(request.params.sessionPath, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(header.parentSession, "/parent.jsonl");
    assert.deepEqual([entry.type, entry.customType, entry.data, entry.parentId], ["custom", "note", 1, null]);
    await engine.hook({ type: "session_shutdown", reason: "resume" });
    engine.state({ sessionId: "session-2" });
    // The answer may come before the session has begun.
    engine.answer(request, { cancelled: false });
    await engine.hook({ type: "session_start", reason: "resume" });
    engine.answer(await engine.next(({ method }) => method === "session.waitIdle"), null);
    const { error } = await command;
    assert.match(error.message, STALE);
    assert.deepEqual(
      engine.of("notify").map(({ method, params }) => params.message ?? params.content ?? params.customType ?? method),
      ["started as new", "in session-2", "hello", "sent"],
    );
  });
});

test("a session that another extension keeps from starting is reported as cancelled", async () => {
  const source = `
    export default (pi) => {
      pi.registerCommand("go", { handler: async (args, ctx) => {
        const withSession = () => { throw new Error("not reached"); };
        const answers = [await ctx.newSession({ withSession }), await ctx.fork("e", { position: "at", withSession }), await ctx.switchSession("/s.jsonl", { withSession }), await ctx.navigateTree("e", { summarize: true })];
        ctx.ui.notify(JSON.stringify(answers));
      } });
    };`;
  const cancelled = { cancelled: true };
  const answers = Object.fromEntries(["new", "fork", "switch", "navigate"].map((name) => [`session.${name}`, cancelled]));
  await withHost(
    { "a.ts": source },
    async (engine) => {
      assert.equal((await engine.command("go")).error, undefined);
      assert.deepEqual(JSON.parse(engine.of("notify")[0].params.message), Array(4).fill(cancelled));
      assert.deepEqual(engine.of("request").map(({ params }) => params), [
        {},
        { entryId: "e", position: "at" },
        { sessionPath: "/s.jsonl" },
        { targetId: "e", summarize: true },
      ]);
    },
    { answers },
  );
});

test("providers of an instance are those of the session, and a factory that fails leaves none", async () => {
  const source = `
    const provider = { baseUrl: "http://127.0.0.1:1", api: "openai-completions", models: [] };
    let built = 0;
    export default (pi) => {
      built += 1;
      pi.registerProvider("always", provider);
      if (built === 1) pi.registerProvider("first", provider);
    };`;
  await withHost({ "a.ts": source }, async (engine) => {
    assert.deepEqual(engine.registered.extensions[0].providers.map(({ name }) => name), ["always", "first"]);
    await engine.hook({ type: "session_shutdown", reason: "new" });
    await engine.hook({ type: "session_start", reason: "new" });
    assert.deepEqual(engine.of("unregister").map(({ providers }) => providers), [["first"]]);
    assert.deepEqual(engine.of("register"), []);
  });
});
