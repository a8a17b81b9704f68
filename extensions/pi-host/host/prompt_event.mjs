// The event before a run: its system prompt shows at once what handlers have changed of it.

/** Fills in what the engine did not send of the options. */
export function normalizedOptions(options = {}) {
  return {
    selectedTools: [],
    toolSnippets: {},
    toolGuidelines: {},
    promptGuidelines: [],
    sections: {},
    contextFiles: [],
    skills: [],
    ...options,
  };
}

/** Returns the event, its options to edit and as they were, and how the whole prompt is replaced. */
export function promptEvent(sent) {
  const options = structuredClone(normalizedOptions(sent.systemPromptOptions));
  const before = normalizedOptions(sent.systemPromptOptions);
  const forced = () => options.forceSystemPrompt;
  const force = (prompt) => {
    options.forceSystemPrompt = prompt;
  };
  const event = {
    ...sent,
    systemPromptOptions: options,
  };
  Object.defineProperty(event, "systemPrompt", {
    enumerable: true,
    get: () => forced() ?? preview(sent.systemPrompt ?? "", before, options),
  });
  return { event, options, before, forced, force };
}

/** Returns the prompt with what handlers have added, at about the place where it will be. */
function preview(prompt, before, options) {
  const { promptGuidelines = [], appendSystemPrompt, sections = {} } = changes(before, options) ?? {};
  const parts = promptGuidelines.map((rule) => `- ${rule}`);
  if (appendSystemPrompt) parts.push(appendSystemPrompt);
  for (const [name, text] of Object.entries(sections)) if (text) parts.push(`<${name}>\n${text}\n</${name}>`);
  return [prompt, ...parts].join("\n\n");
}

/** Returns the changed options as the result of the hook carries them; `undefined` if none is. */
export function changedOptions(sent, options) {
  return changes(normalizedOptions(sent), options);
}

function changes(before, options) {
  const changed = {};
  const sections = Object.entries(options.sections ?? {}).filter(([name, text]) => before.sections?.[name] !== text);
  const removed = Object.keys(before.sections ?? {}).filter((name) => !(name in (options.sections ?? {})));
  if (sections.length + removed.length > 0) {
    changed.sections = Object.fromEntries([
      ...sections.map(([name, text]) => [name, text === null || text === undefined ? null : String(text)]),
      ...removed.map((name) => [name, null]),
    ]);
  }
  const rules = (options.promptGuidelines ?? []).filter((rule) => !before.promptGuidelines.includes(rule)).map(String);
  if (rules.length > 0) changed.promptGuidelines = rules;
  const addition = options.appendSystemPrompt;
  if (typeof addition === "string" && addition !== before.appendSystemPrompt) {
    const known = before.appendSystemPrompt ?? "";
    changed.appendSystemPrompt = addition.startsWith(known) ? addition.slice(known.length).trimStart() : addition;
  }
  if (Array.isArray(options.selectedTools) && JSON.stringify(options.selectedTools) !== JSON.stringify(before.selectedTools)) {
    changed.selectedTools = options.selectedTools.map(String);
  }
  return Object.keys(changed).length > 0 ? changed : undefined;
}
