// A model call of an extension as bowline takes it.

import { bridge } from "../bridge.mjs";
import { completeMessage, convertToLlm } from "../session/messages.mjs";
import { streamsItself } from "./registrations.mjs";
import { strictSampling } from "./strict_sampling.mjs";
import { getCurrentSystemPrompt, getCurrentTools, normalizeContext } from "./transcript.mjs";
import { VIRTUAL_API } from "./virtual_model.mjs";

/** Stands for a key that bowline has and does not hand out. It is never sent on. */
export const HELD_KEY = "held-by-bowline";

const LEVELS = new Set(["off", "minimal", "low", "medium", "high", "xhigh", "max"]);

const MODEL_FIELDS = [
  ...["id", "name", "api", "provider", "baseUrl", "reasoning", "thinkingLevelMap", "input", "cost"],
  ...["contextWindow", "maxTokens", "compat"],
];

/** What is taken for what is not said of a model. */
const UNKNOWN = {
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 128_000,
  maxTokens: 16_384,
};

/** Returns the models that can be used, or all that bowline knows; none if it cannot say. */
export function listedModels(which) {
  try {
    return bridge.models?.(which) ?? [];
  } catch (error) {
    bridge.log?.("warning", `The models could not be listed: ${error.message}`);
    return [];
  }
}

/** Returns how bowline is told which model is meant: by its name, or by all that is known of it if it has no such model. */
function modelReference(model, api = model.api) {
  const { provider, id } = model;
  if (api === VIRTUAL_API) return `${provider}/${id}`;
  const listed = listedModels().find((known) => known.provider === provider && known.id === id);
  const isListed =
    listed !== undefined &&
    (api === undefined || listed.api === api) &&
    (model.baseUrl === undefined || listed.baseUrl === model.baseUrl);
  // By its name, a model of an extension that answers itself would call that extension again.
  if (isListed && !streamsItself(provider)) return `${provider}/${id}`;
  const fields = MODEL_FIELDS.filter((field) => model[field] !== undefined);
  return { ...UNKNOWN, name: id, ...Object.fromEntries(fields.map((field) => [field, model[field]])), api };
}

/** Returns the thinking level that the options mean, also those of a single API. */
function levelOf(options) {
  const { reasoning, reasoningEffort, effort, thinkingEnabled, thinking } = options;
  const level = reasoning ?? reasoningEffort ?? effort;
  if (LEVELS.has(level)) return level;
  return thinkingEnabled || thinking?.enabled ? "medium" : undefined;
}

function callerHeaders({ headers }) {
  return headers && Object.keys(headers).length > 0 ? { ...headers } : undefined;
}

function declaredTool(tool) {
  const { name, description, parameters } = tool;
  return { name, description: description ?? "", parameters, constrainedSampling: strictSampling(tool) };
}

/** Returns the parameters of `model.stream`. An extension may call a model by another API than the model's own. */
export function modelParams(model, context, options, api) {
  const transcript = normalizeContext(context).messages;
  const maxTokens = Number.isFinite(options.maxTokens) ? Math.max(1, Math.floor(options.maxTokens)) : undefined;
  const tools = getCurrentTools(transcript);
  const params = {
    model: modelReference(model, api),
    systemPrompt: getCurrentSystemPrompt(transcript) || undefined,
    messages: convertToLlm(transcript).filter(({ role }) => role !== "system").map(completeMessage),
    maxTokens,
    thinkingLevel: levelOf(options),
    temperature: Number.isFinite(options.temperature) ? options.temperature : undefined,
    toolChoice: ["string", "object"].includes(typeof options.toolChoice) ? (options.toolChoice ?? undefined) : undefined,
    tools: tools.map(declaredTool),
    apiKey: options.apiKey && options.apiKey !== HELD_KEY ? options.apiKey : undefined,
    headers: callerHeaders(options),
  };
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
}
