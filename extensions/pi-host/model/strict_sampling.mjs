// What tools ask of providers about their arguments.

/**
 * Returns how much a tool wants its arguments kept to their schema while the model writes them; `undefined` if it does not say.
 * Grammars are not passed on: a tool with one works without, as it does in pi with most models.
 */
export function strictSampling({ constrainedSampling }) {
  const { type, strict } = constrainedSampling || {};
  return type === "json_schema" && (strict === "prefer" || strict === "require") ? { type, strict } : undefined;
}
