// What a program does for bowline: tools, addresses, dialogs and approvals, as plain functions.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { tool } from "../../../clients/typescript/dist/index.js";
import { mismatch } from "../../../clients/typescript/dist/json_schema.js";
import { ROOT, Workshop, until } from "./workshop.mjs";

const ASKING = path.join(ROOT, "tests/clients/typescript/asking.mjs");
const CALL = (name, args) => ({ text: "I call it.", toolCalls: [{ name, arguments: args }] });
const NOTHING = { type: "object", properties: {} };

// Lets the model call a tool once, and returns the end of that call and what was seen of it before.
async function called(test, definition, args = {}, whileRunning = () => {}) {
  const workshop = new Workshop(test);
  const model = workshop.script(CALL("mine", args), { text: "Done." });
  const agent = await workshop.start({ model, tools: [tool({ name: "mine", description: "Mine.", parameters: NOTHING, ...definition })] });
  const updates = [];
  agent.on("tool_execution_update", ({ partialResult }) => {
    updates.push(partialResult.content[0]?.text);
    void whileRunning(agent);
  });
  const run = await agent.run("Go");
  let end;
  for await (const event of run) if (event.type === "tool_execution_end") end = event;
  return { ...end, updates, outcome: (await run.result()).outcome };
}

test("a tool gets its arguments and returns a text, and reports its progress", async (test) => {
  const end = await called(
    test,
    {
      parameters: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
      run: async ({ zone }, { update, toolCallId }) => {
        update("looking");
        await new Promise((go) => setTimeout(go, 50));
        return `12:00 in ${zone}, ${toolCallId}`;
      },
    },
    { zone: "UTC" },
  );
  assert.deepEqual(end.result.content, [{ type: "text", text: "12:00 in UTC, call_0_0" }]);
  assert.deepEqual([end.isError, end.updates], [false, ["looking"]]);
});

test("a tool returns content, details, an error, a value, or nothing", async (test) => {
  const content = [{ type: "text", text: "a" }, { type: "text", text: "b" }];
  const cases = [
    [() => content, content, false],
    [() => ({ content: "x", details: { tab: 3 } }), [{ type: "text", text: "x" }], false],
    [() => ({ content: "bad", isError: true }), [{ type: "text", text: "bad" }], true],
    [() => ({ temperature: 21 }), [{ type: "text", text: '{\n  "temperature": 21\n}' }], false],
    [() => undefined, [], false],
    [() => Promise.reject(new Error("it broke")), [{ type: "text", text: "it broke" }], true],
    [() => ({ content: "x", details: 1n }), undefined, true],
  ];
  await Promise.all(
    cases.map(async ([run, expected, isError]) => {
      const end = await called(test, { run });
      assert.equal(end.isError, isError);
      if (expected !== undefined) assert.deepEqual(end.result.content, expected);
      assert.equal(end.outcome, "completed");
    }),
  );
});

test("arguments that do not fit the schema never reach the function", async (test) => {
  const parameters = { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] };
  const end = await called(test, { parameters, run: () => assert.fail("called") }, { zone: 5 });
  assert.equal(end.isError, true);
  assert.match(end.result.content[0].text, /arguments\.zone: string expected, not number/);
});

test("the check of arguments knows types, required fields, enumerations and lists", () => {
  const schema = {
    type: "object",
    properties: { kind: { enum: ["a", "b"] }, sizes: { type: "array", items: { type: "integer" } }, deep: { type: "object", required: ["x"] }, one: { const: 1 }, two: { type: ["string", "null"] } },
    required: ["kind"],
  };
  const cases = [
    [{ kind: "a", sizes: [1, 2], deep: { x: null }, one: 1, two: null, other: true }, undefined],
    [[], "arguments: object expected, not array"],
    [{}, 'arguments: "kind" is missing'],
    [{ kind: "c" }, 'arguments.kind: one of "a", "b" expected'],
    [{ kind: "a", sizes: [1, 1.5] }, "arguments.sizes[1]: integer expected, not number"],
    [{ kind: "a", deep: {} }, 'arguments.deep: "x" is missing'],
    [{ kind: "a", two: 2 }, "arguments.two: string or null expected, not number"],
    [{ kind: "a", one: 2 }, "arguments.one: only 1 is possible"],
    [JSON.parse('{"__proto__":{"kind":"a"}}'), 'arguments: "kind" is missing'],
  ];
  for (const [value, problem] of cases) assert.equal(mismatch(schema, value), problem);
});

test("an abort stops a tool with its signal", async (test) => {
  let reason;
  const end = await called(
    test,
    {
      run: (_, { signal, update }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason.message;
            resolve("too late");
          });
          update("begun");
        }),
    },
    {},
    (agent) => agent.abort(),
  );
  assert.deepEqual([end.isError, end.outcome, reason], [true, "aborted", "bowline cancelled the call"]);
});

test("tools can be replaced, and two of the same name are refused", async (test) => {
  const agent = await new Workshop(test).start();
  const mine = { name: "mine", description: "Mine.", parameters: NOTHING, run: () => "" };
  await agent.setTools([mine]);
  assert.ok((await agent.getState()).tools.includes("mine"));
  await agent.setTools([]);
  assert.ok(!(await agent.getState()).tools.includes("mine"));
  await assert.rejects(agent.setTools([mine, mine]), /two tools have the name "mine"/);
});

test("addresses are read and written with functions", async (test) => {
  const workshop = new Workshop(test);
  const notes = new Map([["notes://todo", "- buy milk"]]);
  const agent = await workshop.start({
    model: workshop.script(
      {
        toolCalls: [
          { name: "read", arguments: { path: "notes://todo" } },
          { name: "read", arguments: { path: "notes://gone" } },
          { name: "write", arguments: { path: "notes://todo", content: "- buy bread" } },
          { name: "write", arguments: { path: "fixed://x", content: "y" } },
        ],
      },
      { text: "Done." },
    ),
    uris: {
      notes: {
        description: "the notes of the user",
        read: (url) => {
          if (!notes.has(url)) throw new Error("there is no such note");
          return { content: notes.get(url), notes: ["changed today"] };
        },
        write: (url, content) => void notes.set(url, content),
      },
      Fixed: { read: () => "always this" },
    },
  });
  const ends = {};
  agent.on("tool_execution_end", (event) => (ends[event.toolCallId] = event));
  await agent.promptAndWait("Go");
  assert.match(ends.call_0_0.result.content[0].text, /- buy milk/);
  assert.match(ends.call_0_1.result.content[0].text, /there is no such note/);
  assert.equal(ends.call_0_2.isError, false);
  assert.equal(ends.call_0_3.isError, true);
  assert.equal(notes.get("notes://todo"), "- buy bread");
});

test("dialogs of extensions are answered with functions, and what they show is shown", async (test) => {
  const shown = [];
  const show = (name) => (request) => shown.push([name, request.statusText ?? request.title ?? request.widgetLines ?? request.message]);
  const agent = await new Workshop(test).start({
    args: ["--extension", ASKING],
    ui: {
      select: ({ options }) => options[1],
      confirm: async ({ title, message }) => title === "Sure?" && message === "really",
      input: ({ placeholder }) => `${placeholder}: Ada`,
      editor: ({ prefill }) => `${prefill}, changed`,
      setStatus: show("status"),
      setTitle: show("title"),
      setWidget: show("widget"),
      notify: show("notify"),
    },
  });
  for (const kind of ["select", "confirm", "input", "editor"]) {
    // No model is asked, so there is no run.
    assert.equal((await agent.promptAndWait(`/ask ${kind}`)).outcome, "handled");
  }
  await until(() => shown.filter(([name]) => name === "notify").length === 4, "all are answered");
  assert.deepEqual(shown.filter(([name]) => name === "notify").map(([, text]) => text), [
    'select: "b"',
    "confirm: true",
    'input: "your name: Ada"',
    'editor: "as it was, changed"',
  ]);
  assert.deepEqual(shown.slice(0, 3), [["status", "select"], ["title", "asked select"], ["widget", ["b"]]]);
});

test("a dialog without a function, or whose function fails, is closed", async (test) => {
  const notes = [];
  const errors = [];
  const agent = await new Workshop(test).start({
    args: ["--extension", ASKING],
    ui: {
      confirm: () => {
        throw new Error("no screen");
      },
      notify: ({ message }) => notes.push(message),
    },
    onError: (error) => errors.push(error.message),
  });
  for (const kind of ["select", "confirm"]) await agent.prompt(`/ask ${kind}`);
  await until(() => notes.length === 2, "both are answered");
  assert.deepEqual([notes, errors], [["select: undefined", "confirm: false"], ["no screen"]]);
});

test("a dialog whose time is up closes", async (test) => {
  const notes = [];
  let reason;
  const agent = await new Workshop(test).start({
    args: ["--extension", ASKING],
    ui: {
      confirm: (_, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            reason = signal.reason.message;
            resolve(true);
          }),
        ),
      notify: ({ message }) => notes.push(message),
    },
  });
  await agent.prompt("/ask brief");
  await until(() => notes.length === 1 && reason !== undefined, "it is closed");
  assert.deepEqual([notes, reason], [["brief: false"], "the time of the dialog is up"]);
});

test("dialogs can be answered from the events", async (test) => {
  const notes = [];
  const agent = await new Workshop(test).start({ args: ["--extension", ASKING], ui: "manual" });
  agent.on("extension_ui_request", (request) => {
    if (request.method === "input") agent.answer({ type: "extension_ui_response", id: request.id, value: "Grace" });
    if (request.method === "notify") notes.push(request.message);
  });
  await agent.prompt("/ask input");
  await until(() => notes.length === 1, "it is answered");
  assert.deepEqual(notes, ['input: "Grace"']);
});

test("an abort closes the dialog about a tool call", async (test) => {
  const workshop = new Workshop(test);
  let reason;
  const agent = await workshop.start({
    model: workshop.script(CALL("bash", { command: "touch ran" }), { text: "Done." }),
    args: ["--ask", "untrusted"],
    ui: {
      confirm: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            reason = signal.reason.message;
            resolve(true);
          });
          setTimeout(() => agent.abort(), 20);
        }),
    },
  });
  assert.equal((await agent.promptAndWait("Go")).outcome, "aborted");
  assert.equal(reason, "the dialog was closed");
  assert.equal(existsSync(path.join(workshop.folder, "ran")), false);
});

for (const [name, approve, isRun] of [
  ["true", () => true, true],
  ["false", () => false, false],
  ["a decision", ({ options }) => options.find((option) => option === "session"), true],
  ["a denial with a message", () => ({ decision: "deny", message: "Commit first." }), false],
  ["an exception", () => Promise.reject(new Error("no screen")), false],
]) {
  test(`a tool call is approved or denied with a function: ${name}`, async (test) => {
    const workshop = new Workshop(test);
    const requests = [];
    const agent = await workshop.start({
      model: workshop.script(CALL("bash", { command: "touch ran" }), { text: "Done." }),
      args: ["--ask", "untrusted"],
      approve: (request) => {
        requests.push(request.command);
        return approve(request);
      },
      onError: (error) => assert.equal(error.message, "no screen"),
    });
    const { messages } = await agent.promptAndWait("Go");
    assert.deepEqual(requests, ["touch ran"]);
    assert.equal(existsSync(path.join(workshop.folder, "ran")), isRun);
    if (name.includes("message")) assert.match(JSON.stringify(messages[2].content), /Commit first/);
  });
}

test("a question that times out is closed, and its answer ignored", async (test) => {
  const workshop = new Workshop(test);
  workshop.settings({ approvals: { timeoutMs: 50 } });
  const reasons = [];
  const agent = await workshop.start({
    model: workshop.script(CALL("bash", { command: "touch ran" }), { text: "Done." }),
    args: ["--ask", "untrusted"],
    approve: (_, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason.message);
          resolve(true);
        }),
      ),
  });
  await agent.promptAndWait("Go");
  assert.deepEqual(reasons, ["the question was decided without an answer"]);
  assert.equal(existsSync(path.join(workshop.folder, "ran")), false);
});
