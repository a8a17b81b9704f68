// Models by the names that people give them: `provider/id`, an id, a part of one, each with `:level` behind it.

const LEVELS = new Set(["off", "minimal", "low", "medium", "high", "xhigh", "max"]);
const lower = (text) => text.toLowerCase();
const fullName = ({ provider, id }) => `${provider}/${id}`;

function exact(models, name) {
  return models.filter((model) => lower(fullName(model)) === name || lower(model.id) === name);
}

function partial(models, name) {
  return models.filter((model) => [fullName(model), model.name ?? ""].some((text) => lower(text).includes(name)));
}

/** Returns the model of a name without a level. Of several, one that can be used comes first, then one without a date. */
function lookUp(models, name, isUsable) {
  const found = [exact(models, name), partial(models, name)].find((list) => list.length > 0) ?? [];
  const rank = (model) => (isUsable(model) ? 0 : 2) + (/-\d{8}$/.test(model.id) ? 1 : 0);
  return found.toSorted((left, right) => rank(left) - rank(right) || right.id.localeCompare(left.id))[0];
}

/** Returns the model that the arguments of a command line name, with the level behind the name. */
export function resolveCliModel({ cliProvider, cliModel, cliThinking, modelRuntime }) {
  const nothing = { model: undefined, thinkingLevel: cliThinking, warning: undefined, error: undefined };
  if (!cliModel) return nothing;
  const models = modelRuntime.getModels().filter(({ provider }) => !cliProvider || lower(provider) === lower(cliProvider));
  const isUsable = ({ provider }) => modelRuntime.hasConfiguredAuth(provider);
  const name = lower(cliModel).replace(cliProvider ? `${lower(cliProvider)}/` : "", "");
  const whole = lookUp(models, name, isUsable);
  if (whole) return { ...nothing, model: whole };
  const [, before, level] = /^(.+):([^:]+)$/.exec(name) ?? [];
  const model = LEVELS.has(level) ? lookUp(models, before, isUsable) : undefined;
  if (model) return { ...nothing, model, thinkingLevel: cliThinking ?? level };
  return { ...nothing, error: `There is no model ${cliModel}` };
}

/** Returns the models that patterns name; `*` stands for any characters. */
export async function resolveModelScopeWithDiagnostics(patterns, modelRuntime) {
  const models = await modelRuntime.getAvailable();
  const scopedModels = [];
  const diagnostics = [];
  for (const pattern of patterns) {
    const [, name, level] = /^(.*?)(?::(off|minimal|low|medium|high|xhigh|max))?$/.exec(lower(pattern));
    const expression = new RegExp(`^${name.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`);
    const isPattern = /[*?]/.test(name);
    const matches = (model) => expression.test(lower(fullName(model))) || expression.test(lower(model.id));
    const found = isPattern ? models.filter(matches) : [lookUp(models, name, () => true)].filter(Boolean);
    if (found.length === 0) diagnostics.push({ type: "warning", message: `No models match pattern "${pattern}"`, pattern });
    const others = found.filter((model) => !scopedModels.some((known) => known.model === model));
    scopedModels.push(...others.map((model) => ({ model, ...(level ? { thinkingLevel: level } : {}) })));
  }
  return { scopedModels, diagnostics };
}
