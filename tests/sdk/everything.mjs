// @ts-check
// An extension that uses all of the TypeScript SDK. `everything.py` is the same in Python; test_sdk.py drives both.
import { execFileSync } from "node:child_process";
import process from "node:process";
import { Buffer } from "node:buffer";
import { Cancelled, Extension, ProviderError, image, text, textOf } from "../../sdk/typescript/bowline_extension.mjs";

console.log("printed while loading");

const ext = new Extension("everything", { version: "1.2.3", wants: ["entries"] });
const shout = ext.flag("shout", { type: "boolean", description: "Greets loudly" });
const style = ext.flag("style", { type: "string", description: "How to greet", default: "plain" });

const PIXEL = Buffer.from(
  "89504e470d0a1a0a0000000d4948445200000001000000010806000000" +
    "1f15c4890000000d49444154789c6360000000020001e221bc330000000049454e44ae426082",
  "hex",
);

ext.on(
  "tool_call",
  async (event, ctx) => {
    const { command } = event.input;
    if (command.includes("rm ") && !(await ctx.ui.confirm("Run it?", command))) {
      return { block: true, reason: "refused by the user" };
    }
    if (command.includes("edit")) event.input.command = `${command} # edited`;
    if (command.includes("fail")) throw new Error("the gate broke");
    return undefined;
  },
  { tool: ["bash"] },
);

ext.on(
  "tool_call",
  (event) => {
    const { command } = event.input;
    return command.includes("chain") ? { input: { command, seen: true } } : undefined;
  },
  { tool: "bash" },
);

ext.on("input", (event) => {
  if (event.text === "/handled") return { action: "handled" };
  if (event.text.startsWith("?")) return { action: "transform", text: event.text.slice(1) };
  return { action: "continue" };
});

ext.on("input", (event) => {
  if (event.text.endsWith("!")) return { action: "transform", text: `${event.text.slice(0, -1)}.` };
  return undefined;
});

ext.on("before_provider_headers", (event) => {
  delete event.headers["x-old"];
  event.headers["x-new"] = "1";
});

ext.on("before_provider_request", (event) => ({ ...event.payload, extra: 1 }));

ext.on("session_start", (event, ctx) => {
  ctx.ui.notify(`${event.reason} ${shout.value} ${style.value} ${ctx.cwd} ${ctx.session.id}`, "warning");
});

ext.on("session_before_switch", (event) => ({ cancel: event.reason === "new" }));

ext.on("turn_end", () => ({ entries: [{ type: "custom", customType: "a" }] }));

ext.on("turn_end", () => ({ entries: [{ type: "custom", customType: "b" }], continue: true }));

ext.on("message_update", (event, ctx) => ctx.log(event.assistantMessageEvent["delta"]));

ext.on(
  "agent_end",
  () => {
    throw new Error("nobody waits for this");
  },
  { wait: false },
);

ext.on("user_bash", () => /** @type {any} */ ("not an object"));

ext.onMessage("greetings", (data, ctx) => ctx.log(`got ${data}`));

ext.tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: {
    type: "object",
    properties: {
      a: { type: "integer", description: "The first number" },
      b: { type: "integer", default: 2 },
      kind: { enum: ["int", "float"], type: "string", default: "int" },
      notes: { type: "array", items: { type: "string" } },
    },
    required: ["a"],
    additionalProperties: false,
  },
  promptSnippet: "add: adds numbers",
  executionMode: "sequential",
  execute: ({ a, b = 2, kind = "int", notes }) => (kind === "int" ? `${a + b}` : `${(a + b).toFixed(1)} ${notes}`),
});

ext.tool({
  name: "raw",
  description: "Takes a schema",
  parameters: { type: "object", properties: { x: { type: "string" } } },
  execute: (args, ctx) => ({ got: args, tools: ctx.tools.active }),
});

ext.tool({
  name: "wait",
  description: "Waits until it is cancelled.",
  async execute(_args, ctx) {
    ctx.update("waiting", { percent: 50 });
    try {
      await ctx.sleep(1_000_000);
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
    }
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 };
    const usage = { input: 3, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost };
    return { content: "stopped early", details: { cancelled: ctx.cancelled }, terminate: true, usage };
  },
});

ext.tool({
  name: "wait_async",
  description: "Waits until it is cancelled.",
  async execute(_args, ctx) {
    ctx.update("waiting");
    await ctx.sleep(1_000_000);
    return "never";
  },
});

ext.tool({
  name: "stuck",
  description: "Never returns, and does not care.",
  execute(_args, ctx) {
    ctx.update("stuck");
    return new Promise(() => undefined);
  },
});

ext.tool({
  name: "picture",
  description: "Returns an image.",
  execute: () => [text("a pixel"), image(PIXEL)],
});

ext.tool({
  name: "fail",
  description: "Fails.",
  execute() {
    throw new Error("it did not work");
  },
});

ext.tool({
  name: "unserializable",
  description: "Returns what is no JSON.",
  execute: () => ({ content: "x", details: 1n }),
});

ext.tool({
  name: "noisy",
  description: "Writes to standard output in every way.",
  execute() {
    console.log("printed");
    process.stdout.write("written\n");
    console.info(execFileSync("echo", ["echoed"]).toString());
    return `read ${execFileSync("cat", { stdio: ["ignore", "pipe", "inherit"] }).length} bytes \ud800`;
  },
});

ext.command("dialogs", {
  description: "Opens every dialog",
  complete: (prefix) => [`${prefix}one`, { value: `${prefix}two` }],
  async handler(args, ctx) {
    const chosen = await ctx.ui.select("Pick", ["a", { label: "b", description: "the second" }], { timeout: 1500 });
    const confirmed = await ctx.ui.confirm("Sure?", "really");
    const typed = await ctx.ui.input("Name", "text");
    const edited = await ctx.ui.editor("Edit", "line", { promptStyle: true });
    ctx.ui.setStatus("k", `${args}: ${chosen}, ${confirmed ? "yes" : "no"}, ${typed}, ${edited ?? null}`);
    ctx.ui.setStatus("k", undefined);
    ctx.ui.setWidget("w", ["l"], { placement: "belowEditor" });
    ctx.ui.setTitle("t");
    ctx.ui.setEditorText("e");
    ctx.ui.openUrl("https://example.com", { instructions: "Log in" });
  },
});

ext.command("session", {
  description: "Uses the session.",
  async handler(_args, ctx) {
    ctx.session.sendMessage(
      { customType: "note", content: "hello", display: false, details: { n: 1 } },
      { deliverAs: "followUp", triggerTurn: true },
    );
    ctx.session.sendUserMessage(["hi", image(PIXEL)], { deliverAs: "steer", expandPromptTemplates: true });
    ctx.session.appendEntry("count", { n: 2 });
    ctx.session.setName("named");
    ctx.session.setLabel("e1", undefined);
    ctx.tools.setActive(["read"]);
    ctx.model.set("p", "m");
    ctx.model.setThinkingLevel("high");
    ctx.emit("news", [1]);
    const entries = await ctx.session.entries("e0");
    const context = await ctx.session.context();
    await ctx.session.waitIdle();
    const executed = await ctx.tools.execute("read", { path: "x" });
    const ran = await ctx.exec("git", ["status"], { timeout: 2000 });
    const happened = [
      await ctx.session.new(),
      await ctx.session.fork("e1"),
      await ctx.session.switch("/s.jsonl"),
      await ctx.session.navigate("e2", { summarize: true }),
    ];
    await ctx.session.reload();
    const compacted = await ctx.compact("short");
    const setting = await ctx.setting("a.b");
    const numbers = [entries, context.messages, executed.content].map((list) => list.length);
    numbers.push(ran.code, compacted["summary"].length);
    const known = [ctx.session.name, `[${ctx.tools.active}]`, ctx.model.thinkingLevel, setting];
    known.push(ctx.session.knownEntries.length);
    ctx.ui.notify([happened, numbers, known].map((list) => `[${list.join(", ")}]`).join("; "));
    ctx.abort();
    ctx.shutdown();
  },
});

ext.command("models", {
  async handler(_args, ctx) {
    const [first] = await ctx.model.list();
    const key = await ctx.model.apiKey("p");
    const answer = await ctx.model.complete("Say hi", { model: "p/m", systemPrompt: "Be brief", maxTokens: 5 });
    let streamed = "";
    for await (const event of ctx.model.stream([{ role: "user", content: [text("Say ho")], timestamp: 0 }])) {
      streamed += event["delta"] ?? "";
    }
    ctx.ui.notify(`${first?.["id"]} ${key} ${textOf(answer)} ${streamed}`);
  },
});

ext.command("refused", { handler: (_args, ctx) => ctx.setting("secret") });

/** @type {(() => void) | undefined} */
let removeHook;

ext.command("late", {
  handler(args) {
    if (args === "remove") {
      ext.removeTool("later");
      removeHook?.();
      return;
    }
    ext.tool({ name: "later", description: "Came later", execute: () => "late result" });
    removeHook = ext.on("agent_settled", (_event, ctx) => ctx.log("settled"));
  },
});

ext.command("background", {
  handler() {
    setTimeout(() => {
      throw new Error("exploded in the background");
    });
    void Promise.resolve().then(() => {
      throw new Error("exploded in the background");
    });
  },
});

ext.provider("parrot", {
  models: [{ id: "grey", contextWindow: 1000 }],
  refresh: () => [{ id: "grey" }, { id: "green" }],
  *stream(request) {
    yield { type: "thinking", thinking: "hmm", signature: "sig" };
    yield "You said ";
    yield textOf(/** @type {any} */ (request.messages.at(-1)));
    yield { type: "usage", input: 3, output: 4 };
    yield { type: "toolCall", id: "t1", name: "read", arguments: { path: "x" } };
  },
});

ext.provider("broken", {
  models: [{ id: "b" }],
  *stream() {
    yield "half";
    throw new ProviderError("slow down", { kind: "rate_limit", retryAfter: 1500 });
  },
});

ext.provider("slow", {
  models: [{ id: "sloth" }],
  async *stream(_request, ctx) {
    yield "one";
    await ctx.sleep(1_000_000);
  },
});

ext.provider("remote", {
  models: [{ id: "far" }],
  baseUrl: "http://127.0.0.1:1",
  api: "openai-completions",
  apiKey: "$KEY",
});

ext.run();
