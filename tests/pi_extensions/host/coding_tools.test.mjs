// The session's tools as extensions wrap them: carried out by bowline, or by the host over an extension's operations.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  createBashTool,
  createCodingTools,
  createEditTool,
  createFindTool,
  createGrepTool,
  createLocalBashOperations,
  createLsTool,
  createReadTool,
  createReadToolDefinition,
  createWriteTool,
} from "../../../extensions/pi-host/shims/pi-coding-agent.mjs";
import { folder, textOf, withBridge } from "./coding_support.mjs";

test("bowline carries out a tool that nothing changes", async (t) => {
  const calls = [];
  const answer = { content: [{ type: "text", text: "from bowline" }], details: { a: 1 }, isError: false };
  const request = async (method, params, { onProgress }) => {
    calls.push([method, params]);
    onProgress({ content: [{ type: "text", text: "part" }] });
    return answer;
  };
  withBridge(t, { state: { cwd: "/project" }, request });
  const updates = [];
  const result = await createReadTool("/project").execute("1", { path: "x" }, undefined, (update) => updates.push(update));
  assert.deepEqual(calls, [["tool.execute", { name: "read", args: { path: "x" }, builtin: true }]]);
  assert.deepEqual(result, { content: answer.content, details: { a: 1 } });
  assert.deepEqual(updates, [{ content: [{ type: "text", text: "part" }], details: undefined }]);
});

test("a failed result of bowline is thrown, as pi's tools do", async (t) => {
  const request = async () => ({ content: [{ type: "text", text: "no such file" }], isError: true });
  withBridge(t, { state: { cwd: "/project" }, request });
  await assert.rejects(createReadTool("/project").execute("1", { path: "x" }), /^Error: no such file$/);
});

test("a tool of another folder is carried out here", async (t) => {
  const root = folder(t, { "a.txt": "content" });
  const request = async () => assert.fail("bowline works in the session's folder");
  withBridge(t, { state: { cwd: "/project" }, request });
  assert.equal(textOf(await createReadTool(root).execute("1", { path: "a.txt" })), "content");
});

test("read works over an extension's operations", async () => {
  const operations = {
    access: async () => {},
    readFile: async (path) => Buffer.from(path === "/r/big" ? "line\n".repeat(2500) : "one\ntwo\nthree\n"),
    detectImageMimeType: async () => null,
  };
  const { execute } = createReadTool("/r", { operations });
  assert.equal(textOf(await execute("1", { path: "a", offset: 2, limit: 1 })), "two\n\n[Lines 2-2 of 4. Continue with offset=3.]");
  const big = await execute("1", { path: "@big" });
  assert.match(textOf(big), /\n\[Lines 1-2000 of 2501\. Continue with offset=2001\.\]$/);
  assert.equal(big.details.truncation.truncatedBy, "lines");
  await assert.rejects(execute("1", { path: "a", offset: 9 }), /4 lines/);
});

test("an image is returned with a note", async (t) => {
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  const root = folder(t, { "dot.png": png });
  const { content } = await createReadTool(root).execute("1", { path: "dot.png" });
  assert.deepEqual(content[1], { type: "image", data: png.toString("base64"), mimeType: "image/png" });
  assert.equal(content[0].text, "Read image file [image/png]");
});

test("write and edit keep line endings and the byte order mark", async (t) => {
  const root = folder(t);
  await createWriteTool(root).execute("1", { path: "deep/a.txt", content: "\ufeffa\r\nb “c”\r\nd\r\n" });
  const edits = [{ oldText: 'b "c"', newText: "B" }, { oldText: "d", newText: "D\nE" }];
  const result = await createEditTool(root).execute("1", { path: "deep/a.txt", edits });
  assert.equal(readFileSync(join(root, "deep/a.txt"), "utf8"), "\ufeffa\r\nB\r\nD\r\nE\r\n");
  assert.equal(result.details.diff, ' 1 a\n-2 b “c”\n-3 d\n+2 B\n+3 D\n+4 E');
  assert.equal(result.details.firstChangedLine, 2);
  assert.match(result.details.patch, /^--- deep\/a\.txt\n\+\+\+ deep\/a\.txt\n@@ -1,3 \+1,4 @@\n a\n-b “c”\n/);
});

test("an edit that is not clear is refused", async () => {
  const written = [];
  const operations = { access: async () => {}, readFile: async () => Buffer.from("x\ny\nx\n"), writeFile: async (...file) => written.push(file) };
  const { execute } = createEditTool("/r", { operations });
  const refused = (edits, reason) => assert.rejects(execute("1", { path: "f", edits }), reason);
  await refused([{ oldText: "x", newText: "z" }], /oldText occurs 2 times in f/);
  await refused([{ oldText: "q", newText: "z" }], /oldText is not in f/);
  await refused([{ oldText: "x\ny", newText: "z" }, { oldText: "y\nx", newText: "z" }], /edits\[0\] and edits\[1\] overlap/);
  await refused([{ oldText: "y", newText: "y" }], /would stay the same/);
  await refused([], /at least one/);
  assert.deepEqual(written, []);
});

test("edit takes arguments in the forms that models send", () => {
  const { prepareArguments } = createEditTool("/r");
  const edits = [{ oldText: "a", newText: "b" }];
  assert.deepEqual(prepareArguments({ path: "f", edits: JSON.stringify(edits) }), { path: "f", edits });
  assert.deepEqual(prepareArguments({ path: "f", edits: edits[0] }), { path: "f", edits });
  assert.deepEqual(prepareArguments({ path: "f", ...edits[0] }), { path: "f", edits });
});

test("bash runs over an extension's operations, with its hook and prefix", async () => {
  const seen = [];
  const operations = {
    async exec(command, cwd, { onData, timeout, env }) {
      seen.push([command, cwd, timeout, env.ADDED]);
      onData(Buffer.from("out\n"));
      return { exitCode: 0 };
    },
  };
  const spawnHook = ({ command, cwd, env }) => ({ command: `hooked ${command}`, cwd: `${cwd}/sub`, env: { ...env, ADDED: "1" } });
  const tool = createBashTool("/r", { operations, spawnHook, commandPrefix: "prefix" });
  const updates = [];
  const result = await tool.execute("1", { command: "ls", timeout: 3 }, undefined, (update) => updates.push(update));
  assert.deepEqual(seen, [["hooked prefix\nls", "/r/sub", 3, "1"]]);
  assert.equal(textOf(result), "out\n");
  assert.deepEqual(updates[0], { content: [], details: undefined });
});

test("the ends of commands are told as errors", async () => {
  const ending = (exec) => createBashTool("/r", { operations: { exec } }).execute("1", { command: "x" });
  const fails = (error) => async (_command, _cwd, { onData }) => {
    onData(Buffer.from("some"));
    throw new Error(error);
  };
  await assert.rejects(ending(async () => ({ exitCode: 3 })), /^Error: \(no output\)\n\nCommand exited with code 3$/);
  await assert.rejects(ending(async () => ({ exitCode: null })), /terminated without an exit code/);
  await assert.rejects(ending(fails("timeout:5")), /^Error: some\n\nCommand timed out after 5 seconds$/);
  await assert.rejects(ending(fails("aborted")), /^Error: some\n\nCommand aborted$/);
  await assert.rejects(ending(fails("connection lost")), /^Error: connection lost$/);
});

test("long output is cut to its end and kept in a file", async (t) => {
  const root = folder(t);
  const { content, details } = await createBashTool(root, { commandPrefix: "true" }).execute("1", { command: "seq 1 30000" });
  const note = /\[These are lines 28001-30000 of 30000\. The full output is in (.+)\.\]$/.exec(content[0].text);
  assert.equal(details.fullOutputPath, note[1]);
  assert.equal(readFileSync(note[1], "utf8").split("\n").length, 30001);
});

test("commands on this machine are killed with what they started", async (t) => {
  const root = folder(t);
  const { exec } = createLocalBashOperations();
  const onData = () => {};
  await assert.rejects(exec("(sleep 1; touch late) & wait", root, { onData, timeout: 0.1 }), /^Error: timeout:0\.1$/);
  const controller = new AbortController();
  const running = exec("(sleep 1; touch late) & wait", root, { onData, signal: controller.signal });
  setTimeout(() => controller.abort(), 50);
  await assert.rejects(running, /^Error: aborted$/);
  const { exitCode } = await exec("kill -TERM $$", root, { onData });
  assert.equal(exitCode, 143);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(existsSync(join(root, "late")), false);
});

test("searches skip what is ignored", async (t) => {
  const root = folder(t, { "a.ts": "one\nfoo\nthree\n", "src/b.ts": "foo\n", "out/c.ts": "foo\n", ".gitignore": "out/\n" });
  const text = async (tool, args) => textOf(await tool.execute("1", args));
  assert.equal(await text(createGrepTool(root), { pattern: "fo+", context: 1 }), "a.ts-1- one\na.ts:2: foo\na.ts-3- three\nsrc/b.ts:1: foo");
  assert.equal(await text(createGrepTool(root), { pattern: "foo", glob: "src/*.ts" }), "src/b.ts:1: foo");
  assert.equal(await text(createFindTool(root), { pattern: "*.ts" }), "a.ts\nsrc/b.ts");
  assert.equal(await text(createFindTool(root), { pattern: "src/**/*.ts" }), "src/b.ts");
  assert.equal(await text(createLsTool(root), {}), ".gitignore\na.ts\nout/\nsrc/");
  assert.match(await text(createLsTool(root), { limit: 1 }), /^\.gitignore\n\n\[Only the first 1 entries/);
});

test("a cancelled tool throws", async () => {
  for (const tool of createCodingTools("/r")) {
    const args = { path: "x", content: "", command: "true", edits: [{ oldText: "a", newText: "b" }] };
    await assert.rejects(tool.execute("1", args, AbortSignal.abort()), /abort/);
  }
});

test("definitions are those of an object schema, with optional fields marked for TypeBox", () => {
  const { parameters, renderCall } = createReadToolDefinition("/r");
  assert.deepEqual(parameters.required, ["path"]);
  assert.deepEqual(Object.keys(parameters.properties), ["path", "offset", "limit"]);
  assert.equal(parameters.properties.offset["~optional"], true);
  assert.equal(JSON.stringify(parameters).includes("~"), false);
  assert.equal(typeof renderCall, "function");
});
