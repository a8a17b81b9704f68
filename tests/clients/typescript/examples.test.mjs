// The examples, as a user runs them, with scripted models.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { EXAMPLES, Example } from "./example.mjs";
import { Workshop } from "./workshop.mjs";

const BASH = (command, text = "I run it.") => ({ text, toolCalls: [{ name: "bash", arguments: { command } }] });

test("the chat has at most 40 lines, shows text and tools, and asks", async (test) => {
  assert.ok(readFileSync(path.join(EXAMPLES, "chat.mjs"), "utf8").trimEnd().split("\n").length <= 40);
  const workshop = new Workshop(test);
  const model = workshop.script(BASH("echo made > made.txt"), { text: "It is there." }, { text: "x", error: { kind: "quota", message: "no money" } });
  const chat = new Example(test, workshop, "chat.mjs", model);
  await chat.says("> ");
  chat.child.stdin.write("Make a file\n");
  await chat.says("Run bash echo made > made.txt? [y/N]");
  chat.child.stdin.write("y\n");
  await chat.says("It is there.");
  assert.equal(readFileSync(path.join(workshop.folder, "made.txt"), "utf8"), "made\n");
  assert.match(chat.output, /I run it\.[^]*\[bash done after \d+ ms\][^]*It is there\./);
  chat.child.stdin.write("More\n");
  await chat.says("failed: no money");
  chat.child.stdin.end();
  assert.equal(await chat.ended, 0);
});

test("the bot posts answers and tool calls, and edits its posts", async (test) => {
  const workshop = new Workshop(test);
  const model = workshop.script(
    BASH("echo '```'; seq 20; exit 3", "I look."),
    { toolCalls: [{ name: "read", arguments: { path: "notes.md" } }] },
    { text: "word ".repeat(500) },
  );
  workshop.file("notes.md", "hello\n");
  const bot = new Example(test, workshop, "bot.mjs", "Look around", model);
  assert.equal(await bot.ended, 0);
  const posts = bot.output.split(/^(?=#\d+ )/m);
  assert.match(posts[0], /^#1 I look\.$/m);
  assert.equal(posts[1], "#2 ⏳ **bash** `echo '''''; seq 20; exit 3`\n");
  assert.match(posts[2], /^#2 ❌ \*\*bash\*\* .* \(\d+\.\d s\)\n```\n/);
  assert.equal(posts[2].split("```").length, 3, "the output does not close its block");
  assert.match(posts[4], /^#3 ✅ \*\*read\*\* `notes\.md` \(\d+\.\d s\)\n```\nhello\n```/);
  const last = posts.slice(5).map((post) => post.replace(/^#\d+ /, "").length);
  assert.ok(last.every((length) => length <= 2_001), "no post is too long");
  assert.equal(bot.output.match(/word/g).length >= 500, true);
  assert.equal(await new Example(test, new Workshop(test), "bot.mjs").ended, 2);
});
