// What follows from a model's description: prices, thinking levels, its type.

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
// A model has these only if it says so.
const EXTRA_LEVELS = ["xhigh", "max"];

/** Tells whether a model is of an API. */
export function hasApi(model, api) {
  return model.api === api;
}

/** Returns the type of a model. */
export function getModelType(model) {
  return model.type ?? "chat";
}

/** Tells whether a model is of a type. */
export function isModelType(model, type) {
  return getModelType(model) === type;
}

function assertType(model, type, name) {
  if (!isModelType(model, type)) throw new Error(`Model ${model.provider}/${model.id} is not ${name}`);
}

export const assertChatModel = (model) => assertType(model, "chat", "a chat model");
export const assertImageModel = (model) => assertType(model, "image", "an image model");
export const assertClassifierModel = (model) => assertType(model, "classifier", "a classifier model");

/** Tells whether both are the same model of the same provider. */
export function modelsAreEqual(first, second) {
  return Boolean(first && second) && first.id === second.id && first.provider === second.provider;
}

/** Returns the prices that hold for so many tokens of input. */
function ratesFor(cost, inputTokens) {
  const tiers = (cost.tiers ?? []).filter((tier) => inputTokens > tier.inputTokensAbove);
  return tiers.reduce((best, tier) => (tier.inputTokensAbove > (best.inputTokensAbove ?? -1) ? tier : best), cost);
}

/** Enters the cost of a usage into it and returns it. */
export function calculateCost(model, usage) {
  const rates = ratesFor(model.cost, usage.input + usage.cacheRead + usage.cacheWrite);
  // Kept for an hour, what is written to the cache costs twice the price of input.
  const hourWrite = usage.cacheWrite1h ?? 0;
  const perToken = (price) => price / 1_000_000;
  const { cost } = usage;
  cost.input = perToken(rates.input) * usage.input;
  cost.output = perToken(rates.output) * usage.output;
  cost.cacheRead = perToken(rates.cacheRead) * usage.cacheRead;
  cost.cacheWrite = perToken(rates.cacheWrite * (usage.cacheWrite - hourWrite) + rates.input * 2 * hourWrite);
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  return cost;
}

/** Returns the thinking levels that a model has, in ascending order. */
export function getSupportedThinkingLevels(model) {
  if (!model.reasoning) return ["off"];
  return LEVELS.filter((level) => {
    const mapped = model.thinkingLevelMap?.[level];
    return EXTRA_LEVELS.includes(level) ? mapped !== undefined && mapped !== null : mapped !== null;
  });
}

/** Returns the level of a model that is nearest to the wanted one: the next higher, else the next lower. */
export function clampThinkingLevel(model, level) {
  const available = getSupportedThinkingLevels(model);
  if (available.includes(level)) return level;
  const wanted = LEVELS.indexOf(level);
  if (wanted === -1) return available[0] ?? "off";
  const higher = available.find((candidate) => LEVELS.indexOf(candidate) > wanted);
  return higher ?? available.at(-1) ?? "off";
}

/** Tells whether a model can think as hard as `xhigh`. Older extensions ask so. */
export function supportsXhigh(model) {
  return getSupportedThinkingLevels(model).includes("xhigh");
}

export const MIN_ANSWER_TOKENS = 1024;
export const DEFAULT_THINKING_BUDGETS = { minimal: 1024, low: 2048, medium: 8192, high: 16384 };

/** Returns the level without those above `high`. */
export function clampReasoning(level) {
  return EXTRA_LEVELS.includes(level) ? "high" : level;
}

/** Returns how many tokens a level may spend on thinking. */
export function thinkingBudgetForLevel(level, budgets) {
  return { ...DEFAULT_THINKING_BUDGETS, ...budgets }[clampReasoning(level)];
}

/** Returns a budget that leaves room for the answer below a limit. */
export function clampThinkingBudgetToAnswerRoom(budget, limit) {
  return Math.min(budget, Math.max(0, limit - MIN_ANSWER_TOKENS));
}

/** Returns the limit of an answer with its thinking, and the budget of the thinking. */
export function adjustMaxTokensForThinking(wanted, most, level, budgets) {
  const budget = thinkingBudgetForLevel(level, budgets);
  const maxTokens = wanted === undefined ? most : Math.min(wanted + budget, most);
  const thinkingBudget = maxTokens <= budget ? clampThinkingBudgetToAnswerRoom(budget, maxTokens) : budget;
  return { maxTokens, thinkingBudget };
}
