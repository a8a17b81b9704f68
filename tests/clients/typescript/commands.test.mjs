// Each command of the schema, sent with its method to the real program. A command without a test fails.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { COMMANDS, CommandFailed } from "../../../clients/typescript/dist/index.js";
import { ROOT, Workshop, until } from "./workshop.mjs";

const EXTENSION = path.join(ROOT, "tests/clients/typescript/asking.mjs");
const BASH = (command) => ({ text: "I run it.", toolCalls: [{ name: "bash", arguments: { command } }] });
const rejects = (promise, code) =>
  assert.rejects(promise, (error) => error instanceof CommandFailed && error.code === code);

// What a test of a command gets: a session with one run behind it.
async function conversation(test, options) {
  const workshop = new Workshop(test);
  const agent = await workshop.start(options);
  await agent.promptAndWait("Hi");
  return { agent, workshop };
}

// The same with a file that waits to be accepted.
async function overlay(test) {
  const workshop = new Workshop(test);
  const model = workshop.script(BASH("echo new > made.txt"), { text: "Done." });
  const agent = await workshop.start({ model, args: ["--sandbox", "workspace-write", "--workspace", "overlay"] });
  await agent.promptAndWait("Go");
  return { agent, made: path.join(workshop.folder, "made.txt") };
}

const tests = {
  async prompt(test) {
    const agent = await new Workshop(test).start();
    assert.deepEqual(await agent.prompt("Hi"), { disposition: "started" });
    await agent.waitForIdle();
    assert.equal((await agent.getMessages()).messages.length, 2);
    const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";
    await agent.prompt("Look", { images: [{ type: "image", data: image, mimeType: "image/png" }] });
    await agent.waitForIdle();
    const { messages } = await agent.getMessages();
    assert.equal(messages[2].content[1].type, "image");
  },
  async steer(test) {
    const workshop = new Workshop(test);
    const agent = await workshop.start({ model: workshop.script(BASH("sleep 0.3"), { text: "Done." }) });
    const run = await agent.run("Go");
    for await (const event of run) {
      if (event.type === "tool_execution_start") {
        assert.deepEqual(await agent.steer("And this"), { disposition: "queued" });
      }
    }
    const { messages } = await run.result();
    assert.equal(messages.filter(({ role }) => role === "user").length, 2);
  },
  async follow_up(test) {
    const workshop = new Workshop(test);
    const agent = await workshop.start({ model: workshop.script(BASH("sleep 0.2"), { text: "One." }, { text: "Two." }) });
    const run = await agent.run("Go");
    assert.deepEqual(await agent.followUp("Then this"), { disposition: "queued" });
    assert.equal((await run.result()).text, "Two.");
  },
  async abort(test) {
    const workshop = new Workshop(test);
    const agent = await workshop.start({ model: workshop.script({ text: "I hang", hang: true }) });
    const run = await agent.run("Go");
    await agent.abort();
    assert.equal((await run.result()).outcome, "aborted");
  },
  async clear_queue(test) {
    const agent = await new Workshop(test).start();
    await agent.steer("one");
    await agent.followUp("two");
    assert.deepEqual(await agent.clearQueue(), { steering: ["one"], followUp: ["two"] });
  },
  async get_state(test) {
    const { agent } = await conversation(test);
    const state = await agent.getState();
    assert.equal(state.messageCount, 2);
    assert.equal(state.model.provider, "scripted");
  },
  async get_messages(test) {
    const { agent } = await conversation(test);
    const { messages } = await agent.getMessages();
    assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant"]);
  },
  async get_commands(test) {
    const agent = await new Workshop(test).start({ args: ["--extension", EXTENSION] });
    const { commands } = await agent.getCommands();
    assert.ok(commands.some(({ name, source }) => name === "ask" && source === "extension"));
  },
  async get_completions(test) {
    const agent = await new Workshop(test).start({ args: ["--extension", EXTENSION] });
    await until(async () => (await agent.getCommands()).commands.some(({ hasCompletion }) => hasCompletion), "completion");
    const { completions } = await agent.getCompletions("ask", { prefix: "c" });
    assert.deepEqual(completions.map(({ value }) => value), ["confirm"]);
  },
  async get_protocol_info(test) {
    const agent = await new Workshop(test).start();
    const info = await agent.getProtocolInfo();
    assert.deepEqual(info, agent.info);
    assert.equal(info.name, "bowline");
  },
  async get_sandbox(test) {
    const agent = await new Workshop(test).start();
    assert.equal((await agent.getSandbox({ connections: true })).mode, "full-access");
  },
  async set_sandbox(test) {
    const agent = await new Workshop(test).start({ args: ["--sandbox", "workspace-write"] });
    assert.equal((await agent.setSandbox({ mode: "read-only" })).mode, "read-only");
    await rejects(agent.setSandbox({ mode: "full-access" }), "forbidden");
  },
  async set_model(test) {
    const workshop = new Workshop(test);
    workshop.file("other.json", JSON.stringify({ steps: [{ text: "Other." }] }));
    const agent = await workshop.start();
    assert.equal((await agent.setModel("scripted", "other.json")).id, "other.json");
    await rejects(agent.setModel("nobody", "nothing"), "model_not_found");
  },
  async cycle_model(test) {
    const agent = await new Workshop(test).start();
    assert.equal(await agent.cycleModel(), null);
  },
  async get_available_models(test) {
    const agent = await new Workshop(test).start();
    const { models } = await agent.getAvailableModels();
    assert.ok(models.some(({ provider }) => provider === "scripted"));
  },
  async get_login_providers(test) {
    const agent = await new Workshop(test).start();
    const { providers } = await agent.getLoginProviders();
    assert.equal(providers.find(({ id }) => id === "anthropic").authenticated, false);
  },
  async login(test) {
    const agent = await new Workshop(test).start();
    await rejects(agent.login("anthropic"), "cancelled");
    const workshop = new Workshop(test);
    const other = await workshop.start({ ui: { input: () => "sk-typed" } });
    assert.equal((await other.login("anthropic")).providerId, "anthropic");
    assert.ok(readFileSync(path.join(workshop.home, "auth.json"), "utf8").includes("sk-typed"));
  },
  async set_thinking_level(test) {
    const agent = await new Workshop(test).start();
    await agent.setThinkingLevel("low");
    assert.equal((await agent.getState()).thinkingLevel, "low");
    await rejects(agent.setThinkingLevel("deep"), "invalid_argument");
  },
  async cycle_thinking_level(test) {
    const agent = await new Workshop(test).start();
    const { thinkingLevel } = await agent.getState();
    assert.notEqual((await agent.cycleThinkingLevel()).level, thinkingLevel);
  },
  async get_available_thinking_levels(test) {
    const agent = await new Workshop(test).start();
    assert.ok((await agent.getAvailableThinkingLevels()).levels.includes("high"));
  },
  async set_steering_mode(test) {
    const agent = await new Workshop(test).start();
    await agent.setSteeringMode("all");
    assert.equal((await agent.getState()).steeringMode, "all");
  },
  async set_follow_up_mode(test) {
    const agent = await new Workshop(test).start();
    await agent.setFollowUpMode("all");
    assert.equal((await agent.getState()).followUpMode, "all");
  },
  async compact(test) {
    const { agent, workshop } = await conversation(test, { args: [] });
    await rejects(agent.compact({ customInstructions: "Names matter." }), "nothing_to_do");
    workshop.settings({ compaction: { keepRecentTokens: 1 } });
    const other = await workshop.start();
    await other.promptAndWait("one ".repeat(500));
    await other.promptAndWait("two ".repeat(500));
    const compaction = await other.compact();
    assert.ok(compaction.summary.length > 0);
  },
  async set_auto_compaction(test) {
    const agent = await new Workshop(test).start();
    await agent.setAutoCompaction(false);
    assert.equal((await agent.getState()).autoCompactionEnabled, false);
  },
  async set_auto_retry(test) {
    const agent = await new Workshop(test).start();
    await agent.setAutoRetry(false);
    assert.equal((await agent.getState()).autoRetryEnabled, false);
  },
  async abort_retry(test) {
    const workshop = new Workshop(test);
    workshop.settings({ retry: { baseDelayMs: 60_000, maxRetries: 2 } });
    const failing = { text: "x", error: { kind: "unavailable", message: "overloaded" } };
    const agent = await workshop.start({ model: workshop.script(failing) });
    const run = await agent.run("Go");
    for await (const event of run) if (event.type === "auto_retry_start") await agent.abortRetry();
    assert.equal((await run.result()).outcome, "aborted");
  },
  async bash(test) {
    const agent = await new Workshop(test).start();
    const result = await agent.bash("echo out; exit 3", { excludeFromContext: true });
    assert.deepEqual([result.output, result.exitCode], ["out\n", 3]);
  },
  async abort_bash(test) {
    const agent = await new Workshop(test).start();
    const running = agent.bash("sleep 60");
    await agent.abortBash();
    assert.equal((await running).cancelled, true);
  },
  async new_session(test) {
    const { agent } = await conversation(test);
    assert.deepEqual(await agent.newSession({ parentSession: "the first" }), { cancelled: false });
    assert.equal((await agent.getState()).messageCount, 0);
  },
  async switch_session(test) {
    const { agent } = await conversation(test);
    const { sessionFile } = await agent.getState();
    await agent.newSession();
    await agent.switchSession(sessionFile);
    assert.equal((await agent.getState()).messageCount, 2);
    await rejects(agent.switchSession("nowhere.jsonl"), "session_unavailable");
  },
  async fork(test) {
    const { agent } = await conversation(test);
    const { messages } = await agent.getForkMessages();
    assert.equal((await agent.fork(messages[0].entryId)).text, "Hi");
  },
  async clone(test) {
    const { agent } = await conversation(test);
    const { sessionId } = await agent.getState();
    assert.deepEqual(await agent.clone(), { cancelled: false });
    assert.notEqual((await agent.getState()).sessionId, sessionId);
  },
  async get_fork_messages(test) {
    const { agent } = await conversation(test);
    assert.deepEqual((await agent.getForkMessages()).messages.map(({ text }) => text), ["Hi"]);
  },
  async get_entries(test) {
    const { agent } = await conversation(test);
    const { entries, leafId } = await agent.getEntries();
    assert.equal(entries.at(-1).id, leafId);
    assert.deepEqual((await agent.getEntries({ since: leafId })).entries, []);
  },
  async get_tree(test) {
    const { agent } = await conversation(test);
    assert.equal((await agent.getTree()).tree.length, 1);
    assert.deepEqual((await agent.getTree({ format: "flat" })).tree, []);
  },
  async navigate_tree(test) {
    const { agent } = await conversation(test);
    const { messages } = await agent.getForkMessages();
    const navigated = await agent.navigateTree(messages[0].entryId, { summarize: false });
    assert.equal(navigated.text, "Hi");
  },
  async set_label(test) {
    const { agent } = await conversation(test);
    const { messages } = await agent.getForkMessages();
    assert.ok((await agent.setLabel(messages[0].entryId, { label: "start" })).entryId);
    assert.ok(JSON.stringify((await agent.getTree()).tree).includes('"label":"start"'));
  },
  async list_sessions(test) {
    const { agent } = await conversation(test);
    const { sessions, nextCursor } = await agent.listSessions({ scope: "all", limit: 10 });
    assert.deepEqual([sessions.map(({ firstMessage }) => firstMessage), nextCursor], [["Hi"], null]);
  },
  async delete_session(test) {
    const { agent } = await conversation(test);
    const { sessionFile } = await agent.getState();
    await agent.newSession();
    await agent.deleteSession(sessionFile);
    assert.equal(existsSync(sessionFile), false);
  },
  async get_session_stats(test) {
    const { agent } = await conversation(test);
    const stats = await agent.getSessionStats();
    assert.deepEqual([stats.userMessages, stats.assistantMessages], [1, 1]);
  },
  async export_html(test) {
    const { agent, workshop } = await conversation(test);
    const { path: page } = await agent.exportHtml({ outputPath: path.join(workshop.folder, "page.html") });
    assert.ok(readFileSync(page, "utf8").includes("Hello."));
  },
  async get_last_assistant_text(test) {
    const { agent } = await conversation(test);
    assert.deepEqual(await agent.getLastAssistantText(), { text: "Hello." });
  },
  async set_session_name(test) {
    const { agent } = await conversation(test);
    await agent.setSessionName(" A name ");
    assert.equal((await agent.getState()).sessionName, "A name");
    await rejects(agent.setSessionName(" "), "invalid_argument");
  },
  async get_limits(test) {
    const agent = await new Workshop(test).start({ args: ["--max-turns", "7"] });
    assert.equal((await agent.getLimits()).run.limits.turns, 7);
  },
  async set_limits(test) {
    const agent = await new Workshop(test).start();
    const report = await agent.setLimits({ run: { turns: 3 }, session: { tokens: 5_000 } });
    assert.deepEqual([report.run.limits.turns, report.session.limits.tokens], [3, 5_000]);
  },
  async set_subagent_subscription(test) {
    const agent = await new Workshop(test).start();
    assert.deepEqual(await agent.setSubagentSubscription("progress"), { level: "progress" });
  },
  async get_subagents(test) {
    const agent = await new Workshop(test).start();
    assert.deepEqual((await agent.getSubagents()).subagents, []);
  },
  async get_subagent_messages(test) {
    const agent = await new Workshop(test).start();
    await rejects(agent.getSubagentMessages({ subagentId: "nobody" }), "invalid_argument");
  },
  async get_changes(test) {
    const workshop = new Workshop(test);
    const agent = await workshop.start({ model: workshop.script(BASH("echo new > made.txt"), { text: "Done." }) });
    await agent.promptAndWait("Go");
    const { runs } = await agent.getChanges({ diff: true });
    assert.deepEqual(runs.map(({ files }) => files.map((file) => file.path)), [["made.txt"]]);
  },
  async undo(test) {
    const workshop = new Workshop(test);
    const agent = await workshop.start({ model: workshop.script(BASH("echo new > made.txt"), { text: "Done." }) });
    await agent.promptAndWait("Go");
    assert.deepEqual((await agent.undo({ dryRun: true })).runs, [1]);
    await agent.undo({ to: { run: 1 } });
    assert.equal(existsSync(path.join(workshop.folder, "made.txt")), false);
  },
  async redo(test) {
    const workshop = new Workshop(test);
    workshop.file("old.txt", "old\n");
    const agent = await workshop.start({ model: workshop.script(BASH("echo new > old.txt"), { text: "Done." }) });
    await agent.promptAndWait("Go");
    await agent.undo();
    assert.equal(readFileSync(path.join(workshop.folder, "old.txt"), "utf8"), "old\n");
    await agent.redo();
    assert.equal(readFileSync(path.join(workshop.folder, "old.txt"), "utf8"), "new\n");
  },
  async get_pending_changes(test) {
    const { agent } = await overlay(test);
    const { enabled, changes, diff } = await agent.getPendingChanges({ diff: true });
    assert.deepEqual([enabled, changes.map(({ path: name }) => name)], [true, ["made.txt"]]);
    assert.ok(diff.includes("+new"));
  },
  async accept_changes(test) {
    const { agent, made } = await overlay(test);
    assert.equal(existsSync(made), false);
    assert.deepEqual((await agent.acceptChanges({ paths: ["made.txt"] })).accepted, ["made.txt"]);
    assert.equal(readFileSync(made, "utf8"), "new\n");
  },
  async discard_changes(test) {
    const { agent, made } = await overlay(test);
    assert.deepEqual((await agent.discardChanges({ force: true })).discarded, ["made.txt"]);
    assert.equal(existsSync(made), false);
  },
  async set_host_tools(test) {
    const agent = await new Workshop(test).start();
    const parameters = { type: "object", properties: {} };
    const { toolNames } = await agent.setHostTools([{ name: "clock", description: "The time.", parameters }]);
    assert.deepEqual(toolNames, ["clock"]);
    assert.ok((await agent.getState()).tools.includes("clock"));
  },
  async set_host_uri_schemes(test) {
    const agent = await new Workshop(test).start();
    assert.deepEqual((await agent.setHostUriSchemes([{ scheme: "notes" }])).schemes, ["notes"]);
    await rejects(agent.setHostUriSchemes([{ scheme: "https" }]), "invalid_argument");
  },
  async set_approvals(test) {
    const agent = await new Workshop(test).start();
    await agent.setApprovals("untrusted");
    assert.equal((await agent.getState()).approvals.ask, "untrusted");
  },
  async set_client_capabilities(test) {
    const workshop = new Workshop(test);
    const agent = await workshop.start({ model: workshop.script(BASH("echo new > made.txt"), { text: "Done." }) });
    await agent.setClientCapabilities({ changes: true });
    const changes = [];
    agent.on("run_changes", (event) => changes.push(event));
    await agent.promptAndWait("Go");
    assert.equal(changes.length, 1);
  },
  async widget_input(test) {
    const agent = await new Workshop(test).start();
    await rejects(agent.widgetInput("nothing", { data: "x" }), "invalid_argument");
  },
  async approval_response(test) {
    const workshop = new Workshop(test);
    const model = workshop.script(BASH("echo ran > ran.txt"), { text: "Done." });
    const agent = await workshop.start({ model, args: ["--ask", "untrusted"] });
    await agent.setClientCapabilities({ approvals: "record" });
    agent.on("approval_request", ({ id }) => agent.approvalResponse(id, { decision: "once" }));
    await agent.promptAndWait("Go");
    assert.ok(existsSync(path.join(workshop.folder, "ran.txt")));
  },
};

// Many processes start at once, but not all.
test("every command", { concurrency: 6 }, async (suite) => {
  await Promise.all(Object.entries(tests).map(([name, run]) => suite.test(name, run)));
});

test("no command is without a test, and the program has the same commands", async (test) => {
  assert.deepEqual(Object.keys(tests).sort(), [...COMMANDS].sort());
  const agent = await new Workshop(test).start();
  assert.deepEqual([...agent.info.commands].sort(), [...COMMANDS].sort());
});
