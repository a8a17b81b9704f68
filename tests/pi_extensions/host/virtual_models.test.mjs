// Virtual models that extensions register.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const MODELS = ["small", "large"].map((id) => ({
  ...{ id, name: id, api: "openai-completions", provider: "mock", baseUrl: "http://localhost:1", reasoning: true },
  ...{ input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 },
}));
const VIRTUAL = { id: "auto", name: "Auto", api: "pi-virtual", provider: "router", reasoning: true };
const ANSWERS = { "model.list": [...MODELS, VIRTUAL], "session.entries": { entries: [], leafId: null } };

const hosting = (files, options, run) => withHost(files, run, options);

/** An extension whose router is the body of a function of `request` and `ctx`. */
const routing = (body, more = "") => `export default (pi) => {
  const find = (ctx, id) => ctx.modelRegistry.find("mock", id);
  pi.registerVirtualModel({ provider: "router", id: "auto", name: "Auto", thinkingLevels: ["low", "high"],
    route(request, ctx) { ${body} } });
  ${more}
};`;

async function ask(engine, fields) {
  const record = { type: "route", id: "1", ext: "a", name: "router/auto", model: VIRTUAL, thinkingLevel: "low", reason: "user", ...fields };
  engine.records.splice(0);
  engine.send(record);
  const { result, error } = await engine.next((sent) => sent.type === "result" && sent.id === "1");
  return error?.message ?? result;
}

test("a virtual model reaches the engine and its router chooses", async () => {
  const body = `return { model: find(ctx, request.thinkingLevel === "high" ? "large" : "small"), thinkingLevel: "medium" };`;
  await hosting({ "a.ts": routing(body) }, { answers: ANSWERS }, async (engine) => {
    const [{ virtualModels }] = engine.registered.extensions;
    const expected = { name: "router/auto", label: "Auto", thinkingLevels: ["low", "high"], contextWindow: 0, maxTokens: 0 };
    assert.deepEqual(virtualModels, [expected]);
    assert.deepEqual(await ask(engine), { provider: "mock", modelId: "small", thinkingLevel: "medium" });
    assert.deepEqual(await ask(engine, { thinkingLevel: "high" }), { provider: "mock", modelId: "large", thinkingLevel: "medium" });
  });
});

test("the router sees why it is asked, what answered before and what failed", async () => {
  const body = `const { reason, previous, failed } = request;
    const seen = [reason, previous?.model.id, previous?.thinkingLevel, failed?.model.id, failed?.message.errorMessage];
    return { model: { provider: "seen", id: JSON.stringify(seen) }, thinkingLevel: "off" };`;
  await hosting({ "a.ts": routing(body) }, { answers: ANSWERS }, async (engine) => {
    const seen = async (fields) => JSON.parse((await ask(engine, fields)).modelId);
    const previous = { provider: "mock", modelId: "small", thinkingLevel: "high" };
    assert.deepEqual(await seen({ reason: "continuation", previous }), ["continuation", "small", "high", null, null]);
    const failed = { role: "assistant", provider: "mock", model: "large", content: [], errorMessage: "overloaded" };
    assert.deepEqual(await seen({ reason: "retry", failed }), ["retry", null, null, "large", "overloaded"]);
    // A router that failed itself left no physical model.
    const unrouted = { ...failed, provider: "router", model: "auto" };
    assert.deepEqual(await seen({ reason: "retry", failed: unrouted }), ["retry", null, null, null, null]);
  });
});

test("messages are those of the session, or of the request", async () => {
  const body = `return { model: { provider: "p", id: request.messages.map(({ role, content }) => role + JSON.stringify(content)).join() }, thinkingLevel: "off" };`;
  const user = (text) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
  const answers = { ...ANSWERS, "session.context": { systemPrompt: "Be a test.", messages: [user("hi")] } };
  await hosting({ "a.ts": routing(body) }, { answers }, async (engine) => {
    assert.equal((await ask(engine)).modelId, `system"Be a test.",user[{"type":"text","text":"hi"}]`);
    const own = { reason: "direct", systemPrompt: "", messages: [user("own")] };
    assert.equal((await ask(engine, own)).modelId, `user[{"type":"text","text":"own"}]`);
  });
});

test("state is kept on the branch of the session, and direct requests have none", async () => {
  const body = `const state = request.state === undefined ? { count: 0 } : request.state;
    const next = ctx.modelRegistry && state.count < 2 ? { count: state.count + 1 } : state;
    return { model: { provider: "p", id: String(state.count) }, thinkingLevel: "off", state: next };`;
  const stored = [];
  const entries = () => ({ entries: stored.map((data, at) => ({ type: "custom", customType: "pi.virtual-model-state", data, id: String(at), parentId: at > 0 ? String(at - 1) : null })), leafId: stored.length > 0 ? String(stored.length - 1) : null });
  const answers = { ...ANSWERS, "session.entries": entries };
  await hosting({ "a.ts": routing(body) }, { answers }, async (engine) => {
    for (const expected of ["0", "1", "2", "2"]) {
      engine.send({ type: "state", patch: { leafId: stored.length > 0 ? String(stored.length - 1) : null } });
      assert.equal((await ask(engine)).modelId, expected);
      const written = engine.of("notify").filter(({ method }) => method === "session.appendEntry");
      assert.equal(written.length, expected === "2" ? 0 : 1);
      for (const { params } of written) {
        assert.equal(params.customType, "pi.virtual-model-state");
        stored.push(params.data);
      }
    }
    assert.deepEqual(stored.at(-1), { provider: "router", modelId: "auto", state: { count: 2 } });
    assert.equal((await ask(engine, { reason: "direct", messages: [] })).modelId, "0");
    assert.equal(engine.of("notify").length, 0);
  });
});

test("what a router throws or returns wrongly is the result", async () => {
  for (const [body, expected] of [
    [`throw new Error("no idea");`, /^no idea$/],
    [`return {};`, /returned no model/],
    [`return undefined;`, /returned no model/],
    [`const state = {}; state.self = state; return { model: { provider: "p", id: "m" }, thinkingLevel: "off", state };`, /circular/],
  ]) {
    await hosting({ "a.ts": routing(body) }, { answers: ANSWERS }, async (engine) => {
      assert.match(await ask(engine), expected);
    });
  }
});

test("virtual models come and go, and what is wrong with one is thrown", async () => {
  const command = `pi.registerCommand("do", { handler(args, ctx) {
    let thrown = null;
    try { (0, eval)("(pi) => " + args)(pi); } catch (error) { thrown = error.message; }
    ctx.ui.notify(JSON.stringify([thrown, ctx.modelRegistry.getAll().filter((model) => model.api === "pi-virtual").map((model) => model.id)]));
  } });`;
  const answers = { "model.list": MODELS };
  await hosting({ "a.ts": routing(`return {};`, command) }, { answers }, async (engine) => {
    const run = async (source) => {
      engine.records.splice(0);
      await engine.command("do", source, "a");
      return JSON.parse(engine.of("notify").at(-1).params.message);
    };
    const define = (fields) => `pi.registerVirtualModel(${fields})`;
    assert.deepEqual(await run(define(`{ provider: "router", id: "more", name: "More", route() {} }`)), [null, ["auto", "more"]]);
    assert.deepEqual(engine.of("register").at(-1).virtualModels.map(({ name }) => name), ["router/more"]);
    assert.deepEqual(await run(`pi.unregisterVirtualModel("router", "auto")`), [null, ["more"]]);
    assert.deepEqual(engine.of("unregister").at(-1).virtualModels, ["router/auto"]);
    assert.match((await run(define(`{ provider: " ", id: "x", route() {} }`)))[0], /must not be empty/);
    assert.match((await run(define(`{ provider: "router", id: "x" }`)))[0], /no function route/);
    assert.match((await run(define(`{ provider: "mock", id: "small", route() {} }`)))[0], /conflicts with a physical model/);
  });
});
