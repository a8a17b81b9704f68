// `ctx` and `pi` as handlers see them: the mirror of the session, dialogs, and requests that are waited for without yielding.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

/** An extension whose command `show` notifies of what a function of `pi` and `ctx` returns. */
const showing = (body, more = "") => ({
  "a.ts": `export default (pi) => { ${more}
    pi.registerCommand("show", { handler: async (args, ctx) => { const value = await (async () => { ${body} })(); ctx.ui.notify(JSON.stringify(value) ?? "undefined"); } }); };`,
});
const shown = async (engine) => {
  const { error } = await engine.command("show");
  assert.equal(error, undefined);
  return JSON.parse(engine.of("notify").at(-1).params.message);
};

test("the state is what the engine says, and null is nothing", async () => {
  const body = `return { model: ctx.model?.id, level: [ctx.thinkingLevel, pi.getThinkingLevel()], idle: ctx.isIdle(), pending: ctx.hasPendingMessages(),
    usage: ctx.getContextUsage(), trusted: ctx.isProjectTrusted(), name: pi.getSessionName() ?? "none", cwd: ctx.cwd, mode: ctx.mode, hasUI: ctx.hasUI, scoped: ctx.scopedModels };`;
  await withHost(showing(body), async (engine) => {
    assert.deepEqual(await shown(engine), {
      level: ["off", "off"],
      idle: true,
      pending: false,
      trusted: true,
      name: "none",
      cwd: engine.folder,
      mode: "rpc",
      hasUI: true,
      scoped: [],
    });
    engine.state({
      model: { id: "m", provider: "p", reasoning: true },
      thinkingLevel: "high",
      scopedModels: [{ model: { id: "m", provider: "p" }, thinkingLevel: "low" }],
      isIdle: false,
      hasPendingMessages: true,
      contextUsage: { tokens: 5, contextWindow: 10, percent: 50 },
      trusted: false,
      sessionName: "s",
      cwd: "/elsewhere",
    });
    assert.deepEqual(await shown(engine), {
      model: "m",
      level: ["high", "high"],
      idle: false,
      pending: true,
      usage: { tokens: 5, contextWindow: 10, percent: 50 },
      trusted: false,
      name: "s",
      cwd: "/elsewhere",
      mode: "rpc",
      hasUI: true,
      scoped: [{ model: { id: "m", provider: "p" }, thinkingLevel: "low" }],
    });
    engine.state({ model: null, contextUsage: null, sessionName: null });
    const { model, usage, name } = await shown(engine);
    assert.deepEqual([model, usage, name], [undefined, undefined, "none"]);
  });
});

test("what is set is seen at once, and corrected by the engine", async () => {
  const body = `pi.setActiveTools(["bash", "unknown"]); pi.setSessionName(" n "); pi.setThinkingLevel("low");
    const set = await pi.setModel({ provider: "p", id: "m" }); const other = await pi.setModel({ provider: "p", id: "none" });
    return [pi.getActiveTools(), pi.getSessionName(), pi.getThinkingLevel(), set, other, ctx.model.name];`;
  const tools = ["read", "bash"].map((name) => ({ name, description: "", parameters: {}, source: "builtin" }));
  const answers = { "model.list": [{ provider: "p", id: "m", name: "M", reasoning: false }] };
  await withHost(
    showing(body),
    async (engine) => {
      engine.state({ allTools: tools, activeTools: ["read"] });
      assert.deepEqual(await shown(engine), [["bash"], "n", "low", true, false, "M"]);
      assert.deepEqual(
        engine.of("notify").slice(0, -1).map(({ method, params }) => [method, params]),
        [
          ["tools.setActive", { names: ["bash", "unknown"] }],
          ["session.setName", { name: " n " }],
          ["thinking.set", { level: "low" }],
          ["model.set", { provider: "p", modelId: "m" }],
        ],
      );
    },
    { answers },
  );
});

test("messages and entries are sent as pi's options say", async () => {
  const body = `
    pi.sendMessage({ customType: "c", content: "x", display: true, details: { d: 1 } }, { triggerTurn: true, deliverAs: "followUp" });
    pi.sendMessage({ customType: "c", content: [{ type: "text", text: "x" }] }, { deliverAs: "nonsense" });
    pi.sendUserMessage("u", { deliverAs: "steer", expandPromptTemplates: true });
    pi.appendEntry("e", { x: 1 }); pi.setLabel("id", "l"); pi.setLabel("id", undefined); ctx.abort(); ctx.shutdown(); ctx.ui.setStatus("k", undefined); ctx.ui.setWidget("w", ["a"], { placement: "belowEditor" });
    ctx.ui.setWidget("w", undefined); ctx.ui.setWidget("f", () => ({ render: () => [] })); ctx.ui.setTitle("t"); ctx.ui.pasteToEditor("p"); return null;`;
  await withHost(showing(body), async (engine) => {
    await shown(engine);
    assert.deepEqual(engine.of("notify").slice(0, -1).map(({ method, params }) => [method, params]), [
      ["session.sendMessage", { message: { customType: "c", content: "x", display: true, details: { d: 1 } }, deliverAs: "followUp", triggerTurn: true }],
      ["session.sendMessage", { message: { customType: "c", content: [{ type: "text", text: "x" }], display: false } }],
      ["session.sendUserMessage", { content: "u", deliverAs: "steer", expandPromptTemplates: true }],
      ["session.appendEntry", { customType: "e", data: { x: 1 } }],
      ["session.setLabel", { entryId: "id", label: "l" }],
      ["session.setLabel", { entryId: "id" }],
      ["agent.abort", {}],
      ["agent.shutdown", {}],
      ["ui.setStatus", { key: "k" }],
      ["ui.setWidget", { key: "w", lines: ["a"], placement: "belowEditor" }],
      ["ui.setWidget", { key: "w" }],
      ["ui.setTitle", { title: "t" }],
      ["ui.setEditorText", { text: "p" }],
    ]);
  });
});

/** Dialogs: the call, the answer of the engine, and what it returns. */
const DIALOGS = [
  [`ctx.ui.select("t", ["a"])`, "ui.select", "a", "a"],
  [`ctx.ui.select("t", ["a"], { timeout: 5.5 })`, "ui.select", null, undefined],
  [`ctx.ui.select("t", ["a"])`, "ui.select", 5, undefined],
  [`ctx.ui.confirm("t", "m")`, "ui.confirm", true, true],
  [`ctx.ui.confirm("t", "m")`, "ui.confirm", null, false],
  [`ctx.ui.confirm("t", "m")`, "ui.confirm", new Error("failed"), false],
  [`ctx.ui.input("t", "p")`, "ui.input", "", ""],
  [`ctx.ui.editor("t", "p")`, "ui.editor", null, undefined],
  [`ctx.ui.input("t", "p", { signal: AbortSignal.abort() })`, undefined, undefined, undefined],
  [`ctx.ui.custom(() => { throw new Error("called"); })`, undefined, undefined, undefined],
  [`ctx.ui.setTheme("x").error`, undefined, undefined, "Theme switching not supported in RPC mode"],
  [`ctx.ui.getEditorText() + ctx.ui.getAllThemes().length + ctx.ui.getTheme("x") + typeof ctx.ui.onTerminalInput(() => {})`, undefined, undefined, "0undefinedfunction"],
];

test("dialogs are requests, and their answers what pi makes of them", async () => {
  const bodies = DIALOGS.map(([call], index) => `if (args === "${index}") return { value: await ${call} };`).join("\n");
  const files = {
    "a.ts": `export default (pi) => pi.registerCommand("show", { handler: async (args, ctx) => {
      const value = await (async () => { ${bodies} })(); ctx.ui.notify(JSON.stringify(value)); } });`,
  };
  await withHost(files, async (engine) => {
    for (const [index, [call, method, answer, expected]] of DIALOGS.entries()) {
      const before = engine.of("request").length;
      if (method) {
        engine.answers[method] = () => {
          if (answer instanceof Error) throw answer;
          return answer;
        };
      }
      await engine.command("show", String(index));
      assert.deepEqual(JSON.parse(engine.of("notify").at(-1).params.message), expected === undefined ? {} : { value: expected }, call);
      assert.equal(engine.of("request").length - before, method ? 1 : 0, call);
    }
    assert.equal(engine.of("request")[1].params.timeout, 6);
  });
});

test("a dialog whose signal fires is withdrawn", async () => {
  const body = `const controller = new AbortController(); setTimeout(() => controller.abort(), 20); return [await ctx.ui.confirm("t", "m", { signal: controller.signal })];`;
  await withHost(showing(body), async (engine) => {
    assert.deepEqual(await shown(engine), [false]);
    const [request] = engine.of("request");
    assert.deepEqual(engine.of("cancel"), [{ type: "cancel", ext: "a", id: request.id }]);
  });
});

test("without a client, dialogs have their defaults, nothing is shown, and messages are typed ones", async () => {
  const source = `export default (pi) => pi.on("input", async (event, ctx) => {
    ctx.ui.notify("n"); ctx.ui.setWidget("k", ["line"]);
    const answers = [await ctx.ui.confirm("t", "m"), (await ctx.ui.select("t", [])) ?? "none", (await ctx.ui.custom(() => {})) ?? "none"];
    return { action: "transform", text: [ctx.mode, ctx.hasUI, event.source, ...answers, ctx.ui.setTheme("x").error].join() };
  });`;
  await withHost({ "a.ts": source }, async (engine) => {
    const { result } = await engine.hook({ type: "input", text: "x", source: "rpc" });
    assert.equal(result.text, "json,false,interactive,false,none,none,UI not available");
    assert.deepEqual([...engine.of("request"), ...engine.of("notify")], []);
  }, { init: { mode: "json", hasUI: false } });
});

test("a custom dialog is announced although nothing is shown", async () => {
  const more = `pi.on("ui_prompt_start", (event) => pi.appendEntry("start", event)); pi.on("ui_prompt_end", (event) => pi.appendEntry("end", event));`;
  await withHost(showing(`return (await ctx.ui.custom(() => {})) ?? "nothing";`, more), async (engine) => {
    assert.equal(await shown(engine), "nothing");
    const told = engine.of("notify").filter(({ method }) => method === "session.appendEntry").map(({ params }) => [params.customType, params.data.kind]);
    assert.deepEqual(told, [["start", "custom"], ["end", "custom"]]);
  });
});

test("entries are asked for when they are used, and only those that are new", async () => {
  const entry = (id, parentId) => ({ type: "custom", customType: id, id, parentId, timestamp: "2026-01-01T00:00:00Z" });
  const all = [entry("1", null), entry("2", "1")];
  const body = `
    const first = ctx.sessionManager.getBranch().map((entry) => entry.id);
    const same = ctx.sessionManager.getEntries().length;
    pi.appendEntry("3");
    return [first, same, ctx.sessionManager.getBranch().map((entry) => entry.id), ctx.sessionManager.getLeafId(), ctx.sessionManager.getHeader().id];`;
  await withHost(
    showing(body),
    async (engine) => {
      assert.deepEqual(await shown(engine), [["1", "2"], 2, ["1", "2", "3"], "3", "session-1"]);
      assert.deepEqual(engine.of("request").map(({ params }) => params), [{}, { since: "2" }]);
    },
    {
      answers: {
        "session.entries": ({ since }) => {
          if (since === undefined) return { entries: all, leafId: "2" };
          return { entries: [entry("3", "2")], leafId: "3" };
        },
      },
    },
  );
});

test("entries that do not fit into an answer are read from the session's file", async () => {
  const lines = [{ type: "session", version: 3, id: "session-1", cwd: "/" }, { type: "custom", customType: "x", id: "1", parentId: null }];
  const body = `
    writeFileSync(ctx.sessionManager.getSessionFile(), ${JSON.stringify(lines.map((line) => JSON.stringify(line) + "\n").join(""))});
    return [1, 2].map(() => ctx.sessionManager.getEntries().map((entry) => entry.id));`;
  const file = join(tmpdir(), `pi-host-entries-${process.pid}.jsonl`);
  await withHost(
    { "a.ts": `import { writeFileSync } from "node:fs";\n${showing(body)["a.ts"]}` },
    async (engine) => {
      engine.state({ sessionFile: file });
      assert.deepEqual(await shown(engine), [["1"], ["1"]]);
      assert.deepEqual(engine.of("request").map(({ params }) => params).slice(0, 1), [{}]);
    },
    {
      answers: {
        "session.entries": ({ since }) => {
          if (since === undefined) throw new Error("the answer is longer than 67108864 bytes; ask for less");
          return { entries: [] };
        },
      },
    },
  );
  rmSync(file, { force: true });
});

test("records that arrive during a request that is waited for come afterwards, in order", async () => {
  const body = `const seen = globalThis.seen; seen.push("before"); ctx.getSystemPrompt(); seen.push("after"); await new Promise((resolve) => setTimeout(resolve, 30)); return seen;`;
  const more = `globalThis.seen = []; pi.on("input", (event) => { globalThis.seen.push(event.text); });`;
  await withHost(showing(body, more), async (engine) => {
    const command = engine.command("show");
    const request = await engine.next(({ type }) => type === "request");
    const hooks = ["1", "2"].map((text) => engine.hook({ type: "input", text, source: "rpc" }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    engine.answer(request, { systemPrompt: "p", messages: [] });
    hooks.push(engine.hook({ type: "input", text: "3", source: "rpc" }));
    await Promise.all([command, ...hooks]);
    assert.deepEqual(JSON.parse(engine.of("notify").at(-1).params.message), ["before", "after", "1", "2", "3"]);
  });
});

test("a request that fails is an error where it is used", async () => {
  const body = `try { return ctx.getSystemPrompt(); } catch (error) { return error.message; }`;
  const answers = { "session.systemPrompt": () => { throw new Error("no session"); } };
  await withHost(showing(body), async (engine) => assert.equal(await shown(engine), "no session"), { answers });
});

test("the signal of the run is there while it lasts, and fires when it is aborted", async () => {
  const more = `pi.on("agent_start", (event, ctx) => { globalThis.run = ctx.signal; }); pi.on("tool_call", () => new Promise((resolve) => globalThis.run.addEventListener("abort", resolve)));`;
  await withHost(showing(`return [ctx.signal === undefined, globalThis.run?.aborted];`, more), async (engine) => {
    assert.deepEqual(await shown(engine), [true, null]);
    engine.state({ isIdle: false });
    await engine.hook({ type: "agent_start" });
    const id = engine.id();
    const event = { type: "tool_call", toolName: "t", toolCallId: "t", input: {} };
    const pending = engine.call({ type: "hook", ext: "a", id, event });
    engine.send({ type: "cancel", ext: "a", id, reason: "abort" });
    await pending;
    engine.state({ isIdle: true });
    assert.deepEqual(await shown(engine), [true, true]);
  });
});

test("a compaction calls back", async () => {
  const body = `
    const done = await new Promise((onComplete) => ctx.compact({ customInstructions: "i", onComplete }));
    const failed = await new Promise((onError) => ctx.compact({ onError }));
    return [done.summary, failed.message, failed instanceof Error];`;
  const answers = {
    "agent.compact": ({ customInstructions }) => {
      if (customInstructions) return { summary: "s", firstKeptEntryId: null, tokensBefore: 1 };
      throw new Error("nothing to compact");
    },
  };
  await withHost(showing(body), async (engine) => assert.deepEqual(await shown(engine), ["s", "nothing to compact", true]), { answers });
});

test("programs are run without a shell", async () => {
  const body = `
    const run = async (...parameters) => { const { stdout, stderr, code, killed } = await pi.exec(...parameters); return [stdout, stderr, code, killed]; };
    return [await run("sh", ["-c", "echo out; echo err >&2; exit 3"]), await run("no-such-program", []), await run("sleep", ["10"], { timeout: 30 }), await run("pwd", [], { cwd: "/" })];`;
  await withHost(showing(body), async (engine) => {
    const [ran, missing, killed, moved] = await shown(engine);
    assert.deepEqual(ran, ["out\n", "err\n", 3, false]);
    assert.equal(missing[2], 1);
    assert.deepEqual(killed.slice(2), [0, true]);
    assert.equal(moved[0], "/\n");
  });
});

test("commands are those that the engine lists, except its own, and are asked for again when something has happened", async () => {
  const sourceInfo = { path: "/t.md", source: "auto", scope: "user", origin: "top-level" };
  const commands = [{ name: "t", description: "T", source: "prompt", sourceInfo }, { name: "compact", source: "builtin", sourceInfo }];
  const body = `pi.getCommands()[0].name = "changed"; return pi.getCommands();`;
  await withHost(showing(body), async (engine) => {
    assert.deepEqual(await shown(engine), [commands[0]]);
    assert.deepEqual(await shown(engine), [commands[0]]);
    assert.equal(engine.of("request").length, 2);
  }, { answers: { "session.commands": commands } });
});

test("extensions talk to each other with the values themselves", async () => {
  const files = {
    "a.ts": `export default (pi) => { pi.events.on("c", (value) => { value.heard = true; }); pi.events.on("c", () => { throw new Error("one fails"); }); };`,
    "b.ts": `export default (pi) => pi.registerCommand("show", { handler: async (args, ctx) => { const value = {}; pi.events.emit("c", value); ctx.ui.notify(JSON.stringify(value)); } });`,
  };
  await withHost(files, async (engine) => {
    await engine.command("show", "", "b");
    assert.deepEqual(JSON.parse(engine.of("notify")[0].params.message), { heard: true });
    await engine.logged(/one fails/);
  });
});

test("a component is shown and gets keys if the client can do that", async () => {
  const body = `
    return [await ctx.ui.custom((tui, theme, keybindings, done) => {
      let text = "";
      return { render: () => ["<" + text + ">"], invalidate() {}, handleInput(data) { if (data === "\\r") done(text); else { text += data; tui.requestRender(); } } };
    })];`;
  await withHost(showing(body), async (engine) => {
    engine.state({ render: { columns: 40, rows: 10 } });
    const answer = shown(engine);
    const request = await engine.next(({ method }) => method === "ui.custom");
    assert.deepEqual(request.params.lines, ["<>"]);
    const press = (data) => engine.send({ type: "input", ext: "a", id: request.id, data });
    press("x");
    const update = await engine.next(({ method }) => method === "ui.setWidget");
    assert.deepEqual(update.params, { key: request.params.key, lines: ["<x>"] });
    press("\r");
    await engine.next(({ type, id }) => type === "cancel" && id === request.id);
    assert.deepEqual(await answer, ["x"]);
  });
});

test("a component that the client closes has no answer", async () => {
  const body = `return [(await ctx.ui.custom(() => ({ render: () => ["x"], invalidate() {} }))) ?? "closed"];`;
  await withHost(showing(body), async (engine) => {
    engine.state({ render: { columns: 40, rows: 10 } });
    assert.deepEqual(await shown(engine), ["closed"]);
  }, { answers: { "ui.custom": null } });
});

test("a widget made of a component is drawn again when it changes", async () => {
  const body = `
    let text = "1";
    ctx.ui.setWidget("w", (tui) => { globalThis.draw = () => { text = "2"; tui.requestRender(); }; return { render: () => [text], invalidate() {} }; });
    globalThis.draw(); await new Promise((resolve) => setTimeout(resolve, 80)); return null;`;
  await withHost(showing(body), async (engine) => {
    engine.state({ render: { columns: 40, rows: 10 } });
    await shown(engine);
    const lines = engine.of("notify").filter(({ method }) => method === "ui.setWidget").map(({ params }) => params.lines);
    assert.deepEqual([lines[0], lines.at(-1)], [["1"], ["2"]]);
  });
});
