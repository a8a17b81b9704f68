// Each event with no result, each result, an error, and a result of the wrong type.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const user = (text) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const assistant = { role: "assistant", content: [{ type: "text", text: "x" }], timestamp: 1 };

/** Per event: its fields, and per handler (its body) the result that the engine gets. */
const CASES = {
  project_trust: {
    fields: { cwd: "/p" },
    results: {
      "return { trusted: 'yes' }": { trusted: "yes", remember: false },
      "return { trusted: 'no', remember: true }": { trusted: "no", remember: true },
      "return { trusted: 'undecided' }": null,
      "return 'yes'": null,
      "return { trusted: Object.keys(ctx).sort().join() === 'cwd,hasUI,mode,ui' && !ctx.hasUI ? 'yes' : 'no' }": {
        trusted: "yes",
        remember: false,
      },
    },
  },
  resources_discover: {
    fields: { cwd: "/p", reason: "startup" },
    results: {
      "return { skillPaths: ['a'], promptPaths: ['b'], themePaths: ['c'] }": { skillPaths: ["a"], promptPaths: ["b"] },
      "return { skillPaths: [] }": null,
      "return { skillPaths: 'a' }": null,
    },
  },
  session_start: { fields: { reason: "startup" }, results: { "return { x: 1 }": null } },
  session_info_changed: { fields: { name: "n" }, results: {} },
  session_before_switch: {
    fields: { reason: "new" },
    results: { "return { cancel: true }": { cancel: true }, "return { cancel: false }": { cancel: false } },
  },
  session_before_fork: { fields: { entryId: "e", position: "at" }, results: { "return { cancel: true }": { cancel: true } } },
  session_before_compact: {
    fields: {
      preparation: { firstKeptEntryId: "k", fileOps: { readFiles: ["r"], modifiedFiles: ["w", "e"], read: ["r", "e"], written: ["w"], edited: ["e"] } },
      reason: "manual",
      willRetry: false,
    },
    results: {
      "return { cancel: true }": { cancel: true },
      "return { compaction: { summary: 's', firstKeptEntryId: 'k', tokensBefore: 1 } }": {
        compaction: { summary: "s", firstKeptEntryId: "k", tokensBefore: 1 },
      },
      "return { compaction: { summary: Object.entries(event.preparation.fileOps).filter(([, files]) => files instanceof Set).map(([name, files]) => name + [...files]).join() + (event.signal instanceof AbortSignal) } }":
        { compaction: { summary: "readr,e,writtenw,editedetrue" } },
    },
  },
  session_compact: { fields: { compactionEntry: {}, fromExtension: false, reason: "manual", willRetry: false }, results: {} },
  session_compact_failed: { fields: { reason: "manual", aborted: true, willRetry: false, fromExtension: false }, results: {} },
  session_before_tree: {
    fields: { preparation: { targetId: "t", oldLeafId: null, userWantsSummary: true, messagesToSummarize: [] } },
    results: {
      "return { cancel: true }": { cancel: true },
      "return { summary: { summary: 's' }, label: 'l' }": { summary: { summary: "s" }, label: "l" },
    },
  },
  session_tree: { fields: { newLeafId: "a", oldLeafId: null, fromExtension: false }, results: {} },
  session_shutdown: { fields: { reason: "quit" }, results: {} },
  input: {
    fields: { text: "hello", source: "rpc" },
    results: {
      "return { action: 'continue' }": null,
      "return { action: 'handled' }": { action: "handled" },
      "return { action: 'transform', text: event.text + '!' }": { action: "transform", text: "hello!" },
      "return { action: 'transform', text: 't', images: [{ type: 'image', data: '', mimeType: 'image/png' }] }": {
        action: "transform",
        text: "t",
        images: [{ type: "image", data: "", mimeType: "image/png" }],
      },
      "return { action: 'other' }": null,
    },
  },
  before_agent_start: {
    fields: { prompt: "p", systemPrompt: "base", systemPromptOptions: { cwd: "/p", selectedTools: ["read"], contextFiles: [] } },
    answers: { "session.systemPromptOptions": { cwd: "/p", selectedTools: ["read"] } },
    results: {
      "return { message: { customType: 'c', content: 'x', display: false } }": {
        message: { customType: "c", content: "x", display: false },
      },
      "return { systemPrompt: event.systemPrompt + '+' }": { systemPrompt: "base+" },
      "event.systemPromptOptions.sections.extra = 'text'": { systemPromptOptions: { sections: { extra: "text" } } },
      "event.systemPromptOptions.promptGuidelines.push('Be brief')": { systemPromptOptions: { promptGuidelines: ["Be brief"] } },
      "event.systemPromptOptions.appendSystemPrompt = 'more'": { systemPromptOptions: { appendSystemPrompt: "more" } },
      "event.systemPromptOptions.selectedTools = ['bash']": { systemPromptOptions: { selectedTools: ["bash"] } },
      "return { systemPrompt: ctx.getSystemPrompt() + '*' }": { systemPrompt: "base*" },
      "return { systemPrompt: event.messageType + event.prompt + event.message }": { systemPrompt: "userpundefined" },
    },
  },
  "before_agent_start of a message of an extension": {
    event: "before_agent_start",
    fields: { prompt: "p", message: { role: "custom", customType: "c", content: "p" }, systemPrompt: "base", systemPromptOptions: {} },
    results: {
      "return { systemPrompt: event.messageType + event.message.customType + ('prompt' in event) }": { systemPrompt: "customcfalse" },
    },
  },
  agent_start: { fields: {}, results: {} },
  agent_end: { fields: { messages: [user("a")] }, results: {} },
  turn_start: { fields: { turnIndex: 0, timestamp: 1 }, results: {} },
  turn_end: {
    fields: {
      turnIndex: 0,
      message: assistant,
      toolResults: [],
      toolResultEntryIds: [],
      outcome: "completed",
      entries: [{ type: "custom", customType: "old" }],
      continue: false,
      context: { canContinue: true },
    },
    results: {
      "return { entries: [...event.entries, { type: 'custom', customType: 'new' }] }": {
        entries: [{ type: "custom", customType: "new" }],
      },
      "return { continue: event.context.canContinue }": { continue: true },
      "return { entries: 'x' }": null,
    },
  },
  agent_before_settle: {
    fields: { outcome: "completed", entries: [], continue: false, context: { canContinue: true } },
    results: { "return { continue: true }": { continue: true } },
  },
  agent_settled: { fields: { aborted: false }, results: {} },
  message_start: { fields: { message: user("a") }, results: {} },
  message_end: {
    fields: { message: user("a") },
    results: {
      "return { message: { ...event.message, content: 'b' } }": { message: user("b") },
      "event.message.content[0].text = 'c'": { message: user("c") },
    },
    errors: { "return { message: { ...event.message, role: 'assistant' } }": "message_end handlers must return a message with the same role" },
  },
  context: {
    fields: { messages: [user("a"), assistant, user("b")] },
    results: {
      "return { messages: event.messages }": null,
      "return { messages: event.messages.slice(1) }": { patch: [{ op: "remove", index: 0 }] },
      "event.messages[0].content[0].text = 'z'": { patch: [{ op: "replace", index: 0, message: user("z") }] },
      "event.messages.push({ role: 'user', content: 'n', timestamp: 1 })": {
        patch: [{ op: "insert", index: 3, message: user("n") }],
      },
      "return { messages: [{ role: 'user', content: 'only', timestamp: 1 }] }": { messages: [user("only")] },
      "return { messages: [] }": { messages: [] },
      "return { messages: 'x' }": null,
    },
  },
  context_with_system: {
    fields: { systemPrompt: "s", messages: [user("a")] },
    results: {
      "if (event.messages[0].role !== 'system') throw new Error('no system message')": null,
      "return { messages: [...event.messages, { role: 'user', content: 'n', timestamp: 1 }] }": {
        patch: [{ op: "insert", index: 1, message: user("n") }],
      },
    },
  },
  before_provider_headers: {
    fields: { headers: { a: "1", b: "2", c: "3" } },
    results: {
      "event.headers.a = 'x'; event.headers.b = null; delete event.headers.c; event.headers.d = 4": {
        headers: { a: "x", b: null, c: null, d: "4" },
      },
      "return { headers: { a: 'ignored' } }": null,
    },
  },
  before_provider_request: {
    fields: { payload: { model: "m" } },
    results: {
      "return { ...event.payload, temperature: 0 }": { model: "m", temperature: 0 },
      "event.payload.top_p = 1": { model: "m", top_p: 1 },
    },
  },
  after_provider_response: { fields: { status: 200, headers: {} }, results: {} },
  tool_execution_start: { fields: { toolCallId: "t", toolName: "bash", args: {} }, results: {} },
  tool_execution_end: { fields: { toolCallId: "t", toolName: "bash", result: { content: [] }, isError: false }, results: {} },
  tool_call: {
    fields: { toolName: "bash", toolCallId: "t", input: { command: "ls" } },
    results: {
      "event.input.command = 'pwd'": { input: { command: "pwd" } },
      "return { block: true }": { block: true, terminate: false },
      "return { block: true, reason: 'no', terminate: true }": { block: true, reason: "no", terminate: true },
      "return { block: false, reason: 'no' }": null,
      "return 'x'": null,
    },
    fails: true,
  },
  tool_result: {
    fields: { toolName: "bash", toolCallId: "t", input: {}, content: [{ type: "text", text: "o" }], details: { d: 1 }, isError: false },
    results: {
      "return { isError: true }": { isError: true },
      "return { content: [] , details: { e: 2 } }": { content: [], details: { e: 2 } },
      "event.content[0].text = 'p'": { content: [{ type: "text", text: "p" }] },
      "return { details: event.details }": null,
    },
  },
  "tool_result with structured content": {
    event: "tool_result",
    fields: { toolName: "t", toolCallId: "t", input: {}, content: [{ type: "text", text: "o" }], structuredContent: { a: 1 }, isError: false },
    results: {
      "return { structuredContent: { a: event.structuredContent.a + 1 } }": { structuredContent: { a: 2 } },
      "return { content: 'p' }": { content: [{ type: "text", text: "p" }] },
      "return { content: 'p', structuredContent: [] }": { content: [{ type: "text", text: "p" }], structuredContent: [] },
      "return { content: event.content }": { content: [{ type: "text", text: "o" }] },
      "event.content[0].text = 'p'": { content: [{ type: "text", text: "p" }], structuredContent: { a: 1 } },
      "return { isError: true }": { isError: true },
    },
  },
  user_bash: {
    fields: { command: "ls", excludeFromContext: false, cwd: "/p" },
    results: {
      "return { result: { output: 'o', exitCode: 0, cancelled: false, truncated: false } }": {
        result: { output: "o", exitCode: 0, cancelled: false, truncated: false },
      },
      "return { operations: { async exec(command, cwd, { onData }) { onData(Buffer.from('\\x1b[31m' + command + cwd + '\\r\\n')); return { exitCode: 3 } } } }":
        { result: { output: "ls/p\n", exitCode: 3, cancelled: false, truncated: false } },
    },
    fails: true,
    invalid: "return { operations: 1, result: 2 }",
  },
  model_select: { fields: { model: { id: "m" }, source: "set" }, results: {} },
  thinking_level_select: { fields: { level: "low", previousLevel: "off" }, results: {} },
};

for (const [name, { event = name, fields, results, errors = {}, fails, invalid, answers }] of Object.entries(CASES)) {
  test(`results of ${name}`, async () => {
    const bodies = ["", ...Object.keys(results), ...Object.keys(errors), "throw new Error('broken')", ...(invalid ? [invalid] : [])];
    const extensions = Object.fromEntries(
      bodies.map((body, index) => [
        `x${index}.ts`,
        `export default (pi) => { pi.on(${JSON.stringify(event)}, async (event, ctx) => { ${body} }); };`,
      ]),
    );
    await withHost(extensions, async (engine) => {
      Object.assign(engine.answers, answers);
      const outcome = async (body) => engine.hook({ type: event, ...structuredClone(fields) }, `x${bodies.indexOf(body)}`);
      assert.equal((await outcome("")).result, null);
      for (const [body, expected] of Object.entries(results)) {
        const { result, error } = await outcome(body);
        assert.deepEqual({ result, error }, { result: expected, error: undefined }, `${body}\n${JSON.stringify(engine.of("error"))}`);
      }
      for (const [body, message] of Object.entries(errors)) {
        assert.equal((await outcome(body)).result, null);
        assert.equal(engine.of("error").at(-1)?.message, message, body);
      }
      const thrown = await outcome("throw new Error('broken')");
      if (fails) {
        assert.deepEqual(thrown.error, { message: "broken" });
        if (invalid) assert.match((await outcome(invalid)).error.message, /either operations or a result/);
      } else {
        assert.equal(thrown.result, null);
        const { ext, where, message } = engine.of("error").at(-1);
        assert.deepEqual({ ext, where, message }, { ext: thrown.ext, where: event, message: "broken" });
      }
    });
  });
}
