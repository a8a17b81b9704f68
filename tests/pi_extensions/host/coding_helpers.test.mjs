// The helpers of the package pi-coding-agent that work on texts, files and settings.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as pi from "../../../extensions/pi-host/shims/pi-coding-agent.mjs";
import { folder, withBridge } from "./coding_support.mjs";

test("front matter is read as YAML", () => {
  const text = `---
name: 'it''s'   # a comment
list: [a, "b, c", 3, true, ~]
nested:
  - key: v:w
    other: {x: 1.5}
  - - deep
text: |
  one
    two
folded: >-
  a
  b

  c
plain: goes on
  here
---

Body
`;
  assert.deepEqual(pi.parseFrontmatter(text), {
    frontmatter: {
      name: "it's",
      list: ["a", "b, c", 3, true, null],
      nested: [{ key: "v:w", other: { x: 1.5 } }, ["deep"]],
      text: "one\n  two\n",
      folded: "a b\nc",
      plain: "goes on here",
    },
    body: "Body",
  });
  assert.deepEqual(pi.parseFrontmatter("no front matter\r\n"), { frontmatter: {}, body: "no front matter\n" });
  assert.equal(pi.stripFrontmatter("\ufeff---\na: b\n---\nrest\n"), "rest");
  assert.throws(() => pi.parseFrontmatter("---\na: b: c\n---\n"));
});

test("output is limited by lines and by bytes", () => {
  assert.deepEqual(pi.truncateHead("a\nb\nc\n", { maxLines: 2 }), {
    content: "a\nb",
    truncated: true,
    truncatedBy: "lines",
    totalLines: 3,
    totalBytes: 6,
    outputLines: 2,
    outputBytes: 3,
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    maxLines: 2,
    maxBytes: pi.DEFAULT_MAX_BYTES,
  });
  assert.equal(pi.truncateHead("long line\nb", { maxBytes: 5 }).firstLineExceedsLimit, true);
  const tail = pi.truncateTail("a\nüü", { maxBytes: 3 });
  assert.deepEqual([tail.content, tail.lastLinePartial, tail.truncatedBy], ["ü", true, "bytes"]);
  assert.equal(pi.truncateTail("a\nb\nc", { maxLines: 2 }).content, "b\nc");
  assert.deepEqual(pi.truncateLine("abcdef", 3), { text: "abc... [truncated]", wasTruncated: true });
  assert.deepEqual([1, 2048, 3 * 1024 * 1024].map(pi.formatSize), ["1B", "2.0KB", "3.0MB"]);
});

test("changes of one file wait for each other, also under another name", async (t) => {
  const root = folder(t, { "a.txt": "" });
  const order = [];
  const step = (name, milliseconds) => async () => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    order.push(name);
  };
  await Promise.all([
    pi.withFileMutationQueue(join(root, "a.txt"), step("first", 30)),
    pi.withFileMutationQueue(join(root, ".", "a.txt"), step("second", 0)),
    pi.withFileMutationQueue(join(root, "b.txt"), step("other", 5)),
  ]);
  assert.deepEqual(order, ["other", "first", "second"]);
  await assert.rejects(pi.withFileMutationQueue(join(root, "a.txt"), async () => Promise.reject(new Error("failed"))), /failed/);
  assert.equal(await pi.withFileMutationQueue(join(root, "a.txt"), async () => "next"), "next");
});

test("settings of the project come before those of the user", async (t) => {
  const root = folder(t, {
    "agent/settings.json": JSON.stringify({ theme: "dark", compaction: { reserveTokens: 5 }, own: 1, queueMode: "all" }),
    "project/.pi/settings.json": JSON.stringify({ theme: "light", compaction: { enabled: false }, packages: ["npm:a"] }),
  });
  const create = (options) => pi.SettingsManager.create(join(root, "project"), join(root, "agent"), options);
  const settings = create({ projectTrusted: true });
  assert.equal(settings.getTheme(), "light");
  assert.deepEqual(settings.getCompactionSettings(), { enabled: false, reserveTokens: 5, keepRecentTokens: 20000 });
  assert.equal(settings.getSteeringMode(), "all");
  assert.deepEqual(settings.getPackages(), ["npm:a"]);
  assert.equal(create({ projectTrusted: false }).getTheme(), "dark");
  assert.throws(() => create({ projectTrusted: false }).setProjectPackages([]), /not trusted/);
});

test("a changed setting leaves the rest of the file as it is", async (t) => {
  const root = folder(t, { "agent/settings.json": '{"theme":"dark","terminal":{"showImages":false},"own":1}' });
  const path = join(root, "agent/settings.json");
  const settings = pi.SettingsManager.create(root, join(root, "agent"), { projectTrusted: true });
  settings.setTheme("new");
  settings.setImageWidthCells(7.9);
  assert.equal(settings.getTheme(), "new");
  // Somebody else writes meanwhile.
  writeFileSync(path, '{"theme":"dark","terminal":{"showImages":false},"own":2}');
  await settings.flush();
  const expected = { theme: "new", terminal: { showImages: false, imageWidthCells: 7 }, own: 2 };
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), expected);
  assert.equal(existsSync(`${path}.lock`), false);
});

test("settings that cannot be read are reported and not overwritten", async (t) => {
  const root = folder(t, { "agent/settings.json": "{broken" });
  const settings = pi.SettingsManager.create(root, join(root, "agent"), { projectTrusted: true });
  settings.setTheme("x");
  await settings.flush();
  assert.equal(readFileSync(join(root, "agent/settings.json"), "utf8"), "{broken");
  assert.deepEqual(settings.drainErrors().map(({ scope }) => scope), ["global"]);
});

test("skills are found, checked and listed", (t) => {
  const root = folder(t, {
    "agent/skills/one/SKILL.md": "---\nname: one\ndescription: Does <one>\n---\nText",
    "agent/skills/one/inner/SKILL.md": "---\ndescription: not searched\n---\n",
    "agent/skills/loose.md": "---\ndescription: loose\n---\n",
    "agent/skills/Bad_Name/SKILL.md": "---\ndescription: bad\ndisable-model-invocation: true\n---\n",
    "agent/skills/none/SKILL.md": "---\nname: none\n---\n",
    "project/.pi/skills/one/SKILL.md": "---\ndescription: second\n---\n",
  });
  const options = { cwd: join(root, "project"), agentDir: join(root, "agent"), skillPaths: [], includeDefaults: true };
  const { skills, diagnostics } = pi.loadSkills(options);
  assert.deepEqual(skills.map(({ name }) => name).sort(), ["Bad_Name", "one", "skills"]);
  assert.deepEqual(new Set(diagnostics.map(({ type }) => type)), new Set(["warning", "collision"]));
  const prompt = pi.formatSkillsForPrompt(skills);
  assert.match(prompt, /<description>Does &lt;one&gt;<\/description>/);
  assert.doesNotMatch(prompt, /Bad_Name/);
  assert.equal(pi.formatSkillsForPrompt([]), "");
  const message = `<skill name="one" location="/s">\nText\n</skill>\n\nmore`;
  assert.deepEqual(pi.parseSkillBlock(message), { name: "one", location: "/s", content: "Text", userMessage: "more" });
});

test("instructions come from the user and every folder down to the project", (t) => {
  const root = folder(t, { "agent/AGENTS.md": "user", "CLAUDE.md": "top", "p/AGENTS.md": "p", "p/CLAUDE.md": "hidden", "p/q/x": "" });
  const files = pi.loadProjectContextFiles({ cwd: join(root, "p/q"), agentDir: join(root, "agent") });
  assert.deepEqual(files.map(({ content }) => content).filter((text) => ["user", "top", "p", "hidden"].includes(text)), ["user", "top", "p"]);
});

test("trust is that of the nearest folder", (t) => {
  const root = folder(t, { "p/.pi/settings.json": "{}", "q/x": "" });
  assert.equal(pi.hasTrustRequiringProjectResources(join(root, "p")), true);
  assert.equal(pi.hasTrustRequiringProjectResources(join(root, "q")), false);
  const store = new pi.ProjectTrustStore(join(root, "agent"));
  store.set(root, true);
  store.set(join(root, "q"), false);
  assert.deepEqual([store.get(join(root, "p")), store.get(join(root, "q"))], [true, false]);
  store.set(root, null);
  assert.equal(store.get(join(root, "p")), null);
});

test("keys are read from the file or asked of bowline", async (t) => {
  const root = folder(t, { "auth.json": '{"a":{"type":"api_key","key":"stored"}}' });
  withBridge(t, { state: {}, request: async (_method, { provider }) => (provider === "b" ? { apiKey: "bowline's" } : {}) });
  const storage = pi.AuthStorage.create(join(root, "auth.json"));
  assert.equal(await storage.getApiKey("a"), "stored");
  assert.equal(await storage.getApiKey("b"), "bowline's");
  storage.setRuntimeApiKey("a", "own");
  assert.equal(await storage.getApiKey("a"), "own");
  await storage.modify("c", async (current) => ({ type: "api_key", key: `${current?.key}` }));
  assert.deepEqual(pi.readStoredCredential("c", join(root, "auth.json")), { type: "api_key", key: "undefined" });
  assert.deepEqual(await storage.list(), [{ providerId: "a", type: "api_key" }, { providerId: "c", type: "api_key" }]);
});

test("the command line is read as pi reads it", () => {
  const args = pi.parseArgs(["--mode", "json", "-p", "hello", "--tools", "read, bash", "-e", "x", "-e", "y", "@file", "--own", "v", "--flag"]);
  assert.deepEqual(args, {
    mode: "json",
    print: true,
    messages: ["hello"],
    tools: ["read", "bash"],
    extensions: ["x", "y"],
    fileArgs: ["file"],
    unknownFlags: new Map([["own", "v"], ["flag", true]]),
    diagnostics: [],
  });
});

test("classes that are loaded late can be extended and recognized", () => {
  class Own extends pi.DynamicBorder {
    render(width) {
      return super.render(width).map((line) => `<${line}>`);
    }
  }
  const own = new Own();
  assert.deepEqual(own.render(2), ["<──>"]);
  assert.equal(own instanceof pi.DynamicBorder, true);
  assert.equal(new pi.DynamicBorder() instanceof pi.DynamicBorder, true);
  assert.equal(pi.SettingsManager.inMemory({ theme: "t" }).getTheme(), "t");
  assert.equal(pi.CustomEditor.name, "CustomEditor");
});

test("a bus keeps listeners apart", async () => {
  const bus = pi.createEventBus();
  const heard = [];
  const stop = bus.on("a", (data) => heard.push(data));
  bus.on("error", (data) => heard.push(data));
  bus.emit("a", 1);
  stop();
  bus.emit("a", 2);
  bus.emit("error", 3);
  assert.deepEqual(heard, [1, 3]);
});

test("components take keys", () => {
  const chosen = [];
  const selector = new pi.ExtensionSelectorComponent("Title", ["one", "two"], (option) => chosen.push(option), () => chosen.push("cancel"));
  selector.handleInput("\x1b[B");
  selector.handleInput("\r");
  selector.handleInput("\x1b");
  assert.deepEqual(chosen, ["two", "cancel"]);
  assert.match(selector.render(40).join("\n"), /Title/);
  const message = { role: "assistant", content: [{ type: "text", text: "**Hi**" }], stopReason: "stop" };
  assert.match(new pi.AssistantMessageComponent(message).render(40).join("\n"), /Hi/);
  const definition = { renderCall: () => { throw new Error("broken"); }, renderResult: (result) => ({ render: () => [result.content[0].text] }) };
  const execution = new pi.ToolExecutionComponent("t", "1", {}, {}, definition, undefined, "/");
  execution.updateResult({ content: [{ type: "text", text: "done" }], isError: false });
  assert.deepEqual(execution.render(20).map((line) => line.trim()).filter(Boolean), ["t", "done"]);
});
