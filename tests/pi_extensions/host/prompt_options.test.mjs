// What the system prompt is made of, as handlers of `before_agent_start` see and change it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const PARTS = {
  cwd: "/p",
  customPrompt: "Mine.",
  appendSystemPrompt: "Added.",
  selectedTools: ["read", "bash"],
  toolSnippets: { deploy: "ships it" },
  toolGuidelines: { read: ["Look first."] },
  promptGuidelines: ["Be kind."],
  sections: {},
  contextFiles: [{ path: "/p/AGENTS.md", content: "Rules" }],
  skills: [{ name: "s", description: "d", filePath: "/s/SKILL.md", baseDir: "/s", disableModelInvocation: false }],
};

const EVENT = {
  type: "before_agent_start",
  prompt: "p",
  systemPrompt: "base",
  systemPromptOptions: { cwd: "/p", selectedTools: ["read", "bash"], contextFiles: [{ path: "/p/AGENTS.md" }] },
};

/** Calls a handler with this body and returns the result, and the requests that it made. */
async function outcome(body, event = EVENT) {
  let answer;
  await withHost({ "x.ts": `export default (pi) => { pi.on("before_agent_start", (event, ctx) => { ${body} }); };` }, async (engine) => {
    const rendered = [];
    Object.assign(engine.answers, {
      "session.systemPromptOptions": PARTS,
      "session.systemPrompt": ({ changes }) => {
        rendered.push(changes);
        return { systemPrompt: `rendered ${JSON.stringify(changes)}` };
      },
    });
    const { result } = await engine.hook(structuredClone(event), "x");
    assert.deepEqual(engine.of("error"), []);
    answer = { result, rendered, methods: engine.of("request").map(({ method }) => method) };
  });
  return answer;
}

test("nothing is asked for as long as no handler looks", async () => {
  const { result, methods } = await outcome("return { systemPrompt: event.systemPrompt + ctx.getSystemPrompt() }");
  assert.deepEqual({ result, methods }, { result: { systemPrompt: "basebase" }, methods: [] });
});

test("options have all that the prompt is made of, and are asked for once", async () => {
  const { result, methods } = await outcome(
    "event.systemPromptOptions; const { forceSystemPrompt, ...all } = event.systemPromptOptions; return { systemPrompt: JSON.stringify(all) }",
  );
  assert.deepEqual(methods, ["session.systemPromptOptions"]);
  assert.deepEqual(JSON.parse(result.systemPrompt), PARTS);
});

const EDITS = {
  "options.sections.style = 'verse'": { sections: { style: "verse" } },
  "options.promptGuidelines.push('Rhyme.')": { promptGuidelines: ["Rhyme."] },
  "options.promptGuidelines.length = 0": { replace: { promptGuidelines: [] } },
  "options.promptGuidelines = ['Other.']": { replace: { promptGuidelines: ["Other."] } },
  "options.appendSystemPrompt += '\\n\\nMore.'": { appendSystemPrompt: "More." },
  "options.appendSystemPrompt = 'Else.'": { replace: { appendSystemPrompt: "Else." } },
  "options.appendSystemPrompt = undefined": { replace: { appendSystemPrompt: "" } },
  "options.customPrompt = undefined": { replace: { customPrompt: "" } },
  "options.customPrompt = 'Yours.'": { replace: { customPrompt: "Yours." } },
  "options.selectedTools = options.selectedTools.filter((name) => name !== 'bash')": { selectedTools: ["read"] },
  "options.toolSnippets.read = 'reads'": { toolSnippets: { read: "reads" } },
  "delete options.toolSnippets.deploy": { toolSnippets: { deploy: null } },
  "options.toolGuidelines.read.push('Then leap.')": { toolGuidelines: { read: ["Look first.", "Then leap."] } },
  "delete options.toolGuidelines.read": { toolGuidelines: { read: [] } },
  "options.contextFiles[0].content = 'Others'": { replace: { contextFiles: [{ path: "/p/AGENTS.md", content: "Others" }] } },
  "options.contextFiles.pop()": { replace: { contextFiles: [] } },
  "options.skills.length = 0": { replace: { skills: [] } },
  "event.systemPromptOptions = {}": undefined,
};

test("edits in place are told as what differs", async () => {
  for (const [edit, expected] of Object.entries(EDITS)) {
    const { result } = await outcome(`const options = event.systemPromptOptions; ${edit};`);
    assert.deepEqual(result, expected === undefined ? null : { systemPromptOptions: expected }, edit);
  }
});

test("the prompt is rendered by the engine after an edit, once for each state", async () => {
  const { result, rendered } = await outcome(
    "event.systemPromptOptions.sections.a = '1'; const [one, two] = [event.systemPrompt, ctx.getSystemPrompt()]; if (one !== two) throw new Error('differ'); return { systemPrompt: one }",
  );
  assert.deepEqual(rendered, [[{ sections: { a: "1" } }]]);
  assert.deepEqual(result, { systemPrompt: `rendered ${JSON.stringify(rendered[0])}` });
});

test("options show what extensions before have changed, which is rendered too", async () => {
  const changed = { sections: { a: "1", gone: null }, promptGuidelines: ["First."], replace: { customPrompt: "" } };
  const event = { ...EVENT, systemPromptOptions: { ...EVENT.systemPromptOptions, changed } };
  const { result, rendered } = await outcome(
    `const { sections, promptGuidelines, customPrompt } = event.systemPromptOptions;
     sections.a += ' and ' + JSON.stringify([Object.keys(sections), promptGuidelines, customPrompt]); void event.systemPrompt;`,
    event,
  );
  const own = { sections: { a: '1 and [["a"],["Be kind.","First."],""]' } };
  assert.deepEqual({ result, rendered }, { result: { systemPromptOptions: own }, rendered: [[changed, own]] });
});

test("a whole prompt takes the place of other changes but of those of the tools", async () => {
  const edits = "event.systemPromptOptions.sections.a = '1'; event.systemPromptOptions.selectedTools = []; ";
  const expected = { systemPrompt: "all", systemPromptOptions: { selectedTools: [] } };
  assert.deepEqual((await outcome(`${edits} return { systemPrompt: 'all' }`)).result, expected);
  assert.deepEqual((await outcome(`${edits} event.systemPromptOptions.forceSystemPrompt = 'all'`)).result, expected);
});

test("a prompt that was replaced before is seen as such", async () => {
  const event = { ...EVENT, systemPrompt: "all", systemPromptOptions: { ...EVENT.systemPromptOptions, isReplaced: true, changed: {} } };
  const { result } = await outcome("event.systemPromptOptions.sections.a = event.systemPromptOptions.forceSystemPrompt + event.systemPrompt", event);
  assert.deepEqual(result, { systemPromptOptions: { sections: { a: "allall" } } });
});

test("commands get the options of the session", async () => {
  const source = `export default (pi) => pi.registerCommand("show", { handler: (args, ctx) => {
    const options = ctx.getSystemPromptOptions();
    pi.appendEntry("shown", options);
  } });`;
  await withHost({ "x.ts": source }, async (engine) => {
    engine.answers["session.systemPromptOptions"] = PARTS;
    await engine.call({ type: "command", ext: "x", name: "show", args: "" });
    const { params } = await engine.next(({ type, method }) => type === "notify" && method === "session.appendEntry");
    assert.deepEqual(params.data, PARTS);
  });
});
