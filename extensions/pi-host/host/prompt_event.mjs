// The event before a run: what the system prompt is made of, as handlers see and change it.
//
// Most handlers never look at it, so the engine is asked for it when one first does, and for the text of the prompt when one
// reads that after a change.

/** The fields that are replaced as a whole when a handler changes them. */
const REPLACED = ["contextFiles", "skills"];

/** Fills in what the engine did not send of the options. */
export function normalizedOptions(options = {}) {
  return {
    customPrompt: undefined,
    selectedTools: [],
    toolSnippets: {},
    toolGuidelines: {},
    promptGuidelines: [],
    appendSystemPrompt: "",
    sections: {},
    contextFiles: [],
    skills: [],
    ...options,
  };
}

/**
 * Returns the event, and how it ends. `ask` returns what the prompt is made of without changes, `render` the text with some.
 * What the extensions before this one have changed is in the event that the engine sent.
 */
export function promptEvent(sent, { ask, render }) {
  const { changed: earlier, isReplaced, ...told } = sent.systemPromptOptions ?? {};
  let options;
  let before;
  let shown;
  let whole = isReplaced ? (sent.systemPrompt ?? "") : undefined;
  const wholeBefore = whole;
  const look = () => {
    if (options) return options;
    before = withChanges(normalizedOptions({ ...told, ...ask() }), earlier);
    options = structuredClone(before);
    Object.defineProperty(options, "forceSystemPrompt", {
      configurable: true,
      enumerable: true,
      get: () => whole,
      set: (text) => {
        whole = text;
      },
    });
    return options;
  };
  const changes = () => (options ? differences(before, options) : undefined);
  const prompt = () => {
    if (whole !== undefined) return whole;
    const further = changes();
    if (!further) return sent.systemPrompt ?? "";
    const all = [earlier, further].filter(Boolean);
    const key = JSON.stringify(all);
    if (shown?.key !== key) shown = { key, text: render(all) };
    return shown.text;
  };
  const event = { ...sent };
  Object.defineProperty(event, "systemPromptOptions", {
    enumerable: true,
    configurable: true,
    get: look,
    // Only what is changed in place counts, as in pi.
    set: () => {},
  });
  Object.defineProperty(event, "systemPrompt", { enumerable: true, get: prompt });
  return {
    event,
    prompt,
    force: (text) => {
      whole = text;
    },
    /** Returns the fields of the result: the whole prompt, or what is changed of it. The tools are those of the run in any case. */
    outcome: () => {
      const systemPromptOptions = changes();
      if (whole === undefined || whole === wholeBefore) return { systemPromptOptions };
      const { selectedTools } = systemPromptOptions ?? {};
      return { systemPrompt: String(whole), systemPromptOptions: selectedTools && { selectedTools } };
    },
  };
}

/** Returns options with changes as they are in records. */
function withChanges(options, changed) {
  if (!changed) return options;
  const { sections, promptGuidelines, appendSystemPrompt, toolSnippets, toolGuidelines, selectedTools, replace } = changed;
  const changedOptions = { ...options, ...replace };
  changedOptions.sections = without({ ...options.sections, ...sections });
  changedOptions.toolSnippets = without({ ...options.toolSnippets, ...toolSnippets });
  changedOptions.toolGuidelines = { ...options.toolGuidelines, ...toolGuidelines };
  changedOptions.promptGuidelines = [...changedOptions.promptGuidelines, ...(promptGuidelines ?? [])];
  if (appendSystemPrompt) {
    changedOptions.appendSystemPrompt = [changedOptions.appendSystemPrompt, appendSystemPrompt].filter(Boolean).join("\n\n");
  }
  if (selectedTools) changedOptions.selectedTools = selectedTools;
  return changedOptions;
}

/** Returns the members that have a value. */
function without(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
}

/** Returns what differs between options, as the result of the hook has it; `undefined` if nothing does. */
function differences(before, options) {
  const replace = {};
  const after = normalizedOptions(options);
  const custom = textOf(after.customPrompt);
  if (custom !== textOf(before.customPrompt)) replace.customPrompt = custom;
  const addition = textOf(after.appendSystemPrompt);
  const added = appended(before.appendSystemPrompt, addition);
  if (added === undefined) replace.appendSystemPrompt = addition;
  const rules = texts(after.promptGuidelines);
  const isLonger = sameValue(before.promptGuidelines, rules.slice(0, before.promptGuidelines.length));
  if (!isLonger) replace.promptGuidelines = rules;
  for (const field of REPLACED) {
    if (Array.isArray(after[field]) && !sameValue(before[field], after[field])) replace[field] = after[field];
  }
  const tools = texts(after.selectedTools);
  const changed = {
    sections: memberChanges(before.sections, after.sections, textOf, null),
    toolSnippets: memberChanges(before.toolSnippets, after.toolSnippets, textOf, null),
    toolGuidelines: memberChanges(before.toolGuidelines, after.toolGuidelines, texts, []),
    promptGuidelines: isLonger ? rules.slice(before.promptGuidelines.length) : [],
    appendSystemPrompt: added,
    selectedTools: sameValue(before.selectedTools, tools) ? undefined : tools,
    replace,
  };
  const isFilled = ([, value]) => (typeof value === "object" && !Array.isArray(value) ? Object.keys(value).length > 0 : true);
  const isEmptyList = ([name, value]) => name === "promptGuidelines" && value.length === 0;
  const filled = Object.entries(changed).filter(([, value]) => value !== undefined && value !== "");
  const real = filled.filter((member) => isFilled(member) && !isEmptyList(member));
  return real.length > 0 ? Object.fromEntries(real) : undefined;
}

/** Returns what was appended to a text; `undefined` if it was changed in another way. */
function appended(before, after) {
  if (after === before) return "";
  if (!after.startsWith(before)) return undefined;
  return after.slice(before.length).replace(/^\s+/, "");
}

/** Returns the members that are others, and `gone` for those that are not there any more. */
function memberChanges(before = {}, after = {}, convert, gone) {
  const changed = {};
  for (const [name, value] of Object.entries(after ?? {})) {
    const converted = value === null || value === undefined ? gone : convert(value);
    if (!sameValue(before[name] ?? gone, converted)) changed[name] = converted;
  }
  for (const name of Object.keys(before)) if (!(name in (after ?? {}))) changed[name] = gone;
  return changed;
}

function sameValue(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

function textOf(value) {
  return value === undefined || value === null ? "" : String(value);
}

function texts(values) {
  return Array.isArray(values) ? values.map(String) : [];
}
