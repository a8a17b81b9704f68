// What is known of a virtual model without its router.

/** The API of virtual models. */
export const VIRTUAL_API = "pi-virtual";

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Returns what is wrong with the name of a virtual model, if anything. */
export function invalidNameOf({ provider, id } = {}) {
  const isText = (value) => typeof value === "string" && value.trim() !== "";
  return isText(provider) && isText(id) ? undefined : "Virtual model provider and id must not be empty.";
}

/** Returns the entry of the list of models. */
export function virtualEntry({ provider, id, name, thinkingLevels = ["off"], contextWindow = 0, maxTokens = 0, input }) {
  return {
    ...{ id, name: name ?? id, api: VIRTUAL_API, provider, baseUrl: "" },
    reasoning: thinkingLevels.some((level) => level !== "off"),
    thinkingLevelMap: Object.fromEntries(LEVELS.map((level) => [level, thinkingLevels.includes(level) ? level : null])),
    input: input ?? ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow,
    maxTokens,
  };
}

/** Returns a virtual model as bowline takes it. */
export function virtualRecord(definition) {
  const { provider, id, name, thinkingLevels = ["off"], contextWindow = 0, maxTokens = 0, input } = definition;
  return {
    ...{ name: `${provider}/${id}`, label: name === undefined ? undefined : String(name) },
    thinkingLevels: thinkingLevels.filter((level) => LEVELS.includes(level)),
    ...{ contextWindow, maxTokens, input },
  };
}
