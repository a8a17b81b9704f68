// Tools, commands and flags of extensions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const tool = (name, execute, more = "") =>
  `pi.registerTool({ name: "${name}", label: "L", description: "d", parameters: { type: "object", properties: {} }, ${more}
    async execute(id, params, signal, onUpdate, ctx) { ${execute} } });`;
const extension = (...parts) => ({ "a.ts": `export default (pi) => { ${parts.join("\n")} };` });
const text = (content) => [{ type: "text", text: content }];

test("what a tool is registered with reaches the engine", async () => {
  const more = `promptSnippet: "s", promptGuidelines: ["g"], executionMode: "sequential", constrainedSampling: { type: "json_schema", strict: "prefer", more: 1 }, prepareArguments: (raw) => ({ ...raw, prepared: true }),`;
  await withHost(extension(tool("t", "return { content: JSON.stringify(params) }", more)), async (engine) => {
    const expected = {
      name: "t",
      label: "L",
      description: "d",
      parameters: { type: "object", properties: {} },
      promptSnippet: "s",
      promptGuidelines: ["g"],
      executionMode: "sequential",
      prepareArguments: true,
      constrainedSampling: { type: "json_schema", strict: "prefer" },
    };
    assert.deepEqual(engine.registered.extensions[0].tools, [expected]);
    const { result } = await engine.tool("t", { x: 1 });
    assert.deepEqual(JSON.parse(result.content[0].text), { x: 1, prepared: true });
  });
});

test("a tool that prepares its arguments has them checked afterwards", async () => {
  const source = `export default (pi) => pi.registerTool({ name: "t", label: "L", description: "d",
    parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    prepareArguments: (raw) => "old" in raw ? { n: raw.old } : raw,
    async execute(id, params) { return { content: JSON.stringify(params) } } });`;
  await withHost({ "a.ts": source }, async (engine) => {
    assert.deepEqual((await engine.tool("t", { old: "5" })).result.content, text('{"n":5}'));
    assert.match((await engine.tool("t", { other: 1 })).error.message, /^Validation failed for tool "t"/);
  });
});

/** What `execute` does, and the result or the error that the engine gets. */
const OUTCOMES = [
  ["return { content: [{ type: 'text', text: 'x' }], details: { d: 1 } }", { content: text("x"), details: { d: 1 } }],
  ["return { content: [], details: undefined, terminate: true }", { content: [], terminate: true }],
  ["return { content: 'x', structuredContent: { n: [1] } }", { content: text("x"), structuredContent: { n: [1] } }],
  ["return { content: 'x', structuredContent: null, isError: true }", { content: text("x"), structuredContent: null, isError: true }],
  ["return { content: 'x', isError: true }", { content: text("x"), isError: true }],
  ["return { content: 'x', isError: 1 }", { content: text("x") }],
  ["return undefined", { content: [] }],
  ["return { content: [{ type: 'text', text: 5 }] }", { content: text("5") }],
  ["return { content: [{ type: 'text', text: id + ctx.cwd.length }] }", undefined],
  ["throw new Error('failed')", undefined, "failed"],
  ["throw 'text'", undefined, "text"],
  ["return { content: 'x'.repeat(70 * 1024 * 1024) }", undefined, "the result is too large"],
];

test("results of tools", async () => {
  await withHost(extension(...OUTCOMES.map(([execute], index) => tool(`t${index}`, execute))), async (engine) => {
    for (const [index, [execute, expected, message]] of OUTCOMES.entries()) {
      const { result, error } = await engine.tool(`t${index}`);
      assert.equal(error?.message, message, execute);
      if (expected) assert.deepEqual(result, expected, execute);
    }
    assert.match((await engine.tool("unknown")).error.message, /no tool unknown/);
  });
});

test("progress of a tool replaces what came before, and ends with it", async () => {
  const body = `onUpdate({ content: [{ type: "text", text: "1" }], details: { n: 1 } }); onUpdate({ content: [] }); globalThis.late = onUpdate; return { content: [] };`;
  await withHost(extension(tool("t", body), `pi.registerCommand("late", { handler: async () => globalThis.late({ content: [] }) });`), async (engine) => {
    await engine.tool("t");
    await engine.command("late");
    assert.deepEqual(engine.of("update").map(({ partial }) => partial), [{ content: text("1"), details: { n: 1 } }, { content: [] }]);
  });
});

test("a tool that is cancelled is told, and its later answer is sent", async () => {
  const body = `await new Promise((resolve) => signal.addEventListener("abort", resolve)); return { content: [{ type: "text", text: signal.reason.message }] };`;
  await withHost(extension(tool("t", body)), async (engine) => {
    const id = engine.id();
    const called = engine.call({ type: "tool", ext: "a", id, name: "t", toolCallId: "t", args: {} });
    engine.send({ type: "cancel", ext: "a", id, reason: "abort" });
    assert.deepEqual((await called).result.content, text("aborted"));
  });
});

test("tools run beside each other", async () => {
  const body = `const wait = (globalThis.wait ??= []); await new Promise((resolve) => { wait.push(resolve); if (wait.length === 2) wait.forEach((go) => go()); }); return { content: [] };`;
  await withHost(extension(tool("t", body)), async (engine) => {
    const [one, two] = await Promise.all([engine.tool("t"), engine.tool("t")]);
    assert.deepEqual([one.error, two.error], [undefined, undefined]);
  });
});

test("a tool that is registered later is announced before it is used", async () => {
  const late = `pi.registerCommand("add", { handler: async () => { ${tool("late", "return { content: [] }")} pi.setActiveTools([...pi.getActiveTools(), "other"]); pi.appendEntry("tools", [pi.getActiveTools(), pi.getAllTools().map((t) => t.name + ":" + t.sourceInfo.source)]); } });`;
  await withHost(extension(late), async (engine) => {
    engine.state({ allTools: [{ name: "read", description: "", parameters: {}, source: "builtin" }], activeTools: ["read"] });
    await engine.command("add");
    const records = engine.records.filter(({ type }) => type === "register" || type === "notify");
    assert.deepEqual(records.map(({ type, method }) => method ?? type), ["register", "tools.setActive", "session.appendEntry"]);
    assert.deepEqual(records[2].params.data, [["read", "late"], ["read:builtin", "late:local"]]);
  });
});

test("commands get the text after their name, and complete it", async () => {
  const parts = [
    `pi.registerCommand("c", { description: "d", handler: async (args, ctx) => ctx.ui.notify("<" + args + ">"),
       getArgumentCompletions: (prefix) => prefix === "x" ? null : [{ value: prefix + "1", label: "one", description: "d" }, { value: 5 }, "plain"] });`,
    `pi.registerCommand("bad", { handler: () => { throw new Error("no"); } });`,
  ];
  await withHost(extension(...parts), async (engine) => {
    assert.deepEqual(engine.registered.extensions[0].commands, [{ name: "c", description: "d", hasCompletion: true }, { name: "bad" }]);
    await engine.command("c", "a  b");
    assert.equal(engine.of("notify")[0].params.message, "<a  b>");
    const complete = async (prefix) => (await engine.call({ type: "complete", ext: "a", command: "c", prefix })).result;
    assert.deepEqual(await complete("p"), [{ value: "p1", label: "one", description: "d" }, "plain"]);
    assert.deepEqual(await complete("x"), []);
    assert.deepEqual((await engine.command("bad")).error, { message: "no" });
    assert.match((await engine.command("unknown")).error.message, /no command unknown/);
  });
});

test("a default of a flag must fit its type", async () => {
  await withHost(extension(`pi.registerFlag("f", { type: "boolean", default: "x" });`), async (engine) => {
    assert.equal(engine.registered.errors[0].error, 'Invalid default for flag "f": expected boolean, got string');
  });
});

test("a tool runs others, which never throw, and sees which there are", async () => {
  const source = `export default (pi) => {
    const plain = (name, fields) => pi.registerTool({ name, description: name, parameters: { type: "object" }, execute() {}, ...fields });
    plain("script", { outputSchema: { type: "array" }, exposure: "codemode", namespace: { name: "n" }, annotations: { readOnlyHint: true } });
    plain("secret", { exposure: "hidden" });
    plain("asking", { exposure: "model-only" });
    plain("outer", { async execute(id, { name }, signal, onUpdate, ctx) {
      const updates = [];
      const outcome = await ctx.executeTool(name, { a: 1 }, { onUpdate: (partial) => updates.push(partial) });
      return { content: [], details: { outcome, updates, tools: ctx.tools.map((tool) => tool.name), schema: ctx.tools[1].outputSchema } };
    } });
    pi.registerCommand("activate", { handler: (_, ctx) => {
      pi.setActiveTools(["read", "secret", "script", "nothing"]);
      const { exposure, namespace, annotations } = pi.getAllTools().find(({ name }) => name === "script");
      ctx.ui.notify(JSON.stringify([pi.getActiveTools(), exposure, namespace, annotations]));
    } });
  };`;
  await withHost({ "a.ts": source }, async (engine) => {
    const registered = engine.registered.extensions[0].tools;
    const inactive = registered.filter(({ defaultActive }) => defaultActive === false).map(({ name }) => name);
    assert.deepEqual(inactive, ["script", "secret"]);
    const allTools = ["read", "script", "secret", "asking", "outer"].map((name) => {
      const own = name === "read" ? { source: "builtin" } : { source: "extension", extension: engine.described("a.ts").path };
      return { name, description: name, parameters: { type: "object" }, ...own };
    });
    engine.send({ type: "state", patch: { allTools, activeTools: ["read", "asking", "outer"] } });
    const call = (name) => engine.call({ type: "tool", ext: "a", name: "outer", toolCallId: "t", args: { name } });
    const running = call("read");
    const { id } = await engine.next(({ method }) => method === "tool.execute");
    engine.send({ type: "progress", id, partial: { content: [{ type: "text", text: "half" }] } });
    engine.answer({ ext: "a", id }, { content: [{ type: "text", text: "all" }], structuredContent: { n: 1 }, isError: false });
    const { outcome, updates, tools, schema } = (await running).result.details;
    assert.deepEqual(tools, ["read", "script", "outer"]);
    assert.deepEqual(updates, [{ content: [{ type: "text", text: "half" }] }]);
    assert.deepEqual([outcome.isError, outcome.result.content[0].text, outcome.toolCall.name], [false, "all", "read"]);
    assert.deepEqual([schema, outcome.result.structuredContent], [{ type: "array" }, { n: 1 }]);
    assert.match(outcome.toolCall.id, /^t\/\d+$/);
    for (const name of ["secret", "asking", "nothing"]) {
      const refused = (await call(name)).result.details.outcome;
      assert.deepEqual([refused.isError, refused.result.content[0].text], [true, `Tool ${name} not found`]);
    }
    await engine.command("activate");
    const expected = [["read", "script"], "codemode", { name: "n" }, { readOnlyHint: true }];
    assert.deepEqual(JSON.parse(engine.of("notify").at(-1).params.message), expected);
  });
});
