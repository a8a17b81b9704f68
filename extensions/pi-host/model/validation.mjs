// Checks and converts the arguments of tool calls by a tool's JSON Schema.

import { createRequire } from "node:module";

let loaded;

/** Returns the functions over schemas. They are loaded when the first call is checked. */
function schemas() {
  loaded ??= createRequire(import.meta.url)("../typebox/validator.mjs");
  return loaded;
}

function pathOf({ instancePath, keyword, params }) {
  const place = instancePath.replace(/^\//, "").replaceAll("/", ".");
  const missing = keyword === "required" ? params?.requiredProperties?.[0] : undefined;
  return [place, missing].filter(Boolean).join(".") || "root";
}

/** Returns the arguments of a tool call, converted to what the tool expects. Throws if they do not fit. */
export function validateToolArguments(tool, toolCall) {
  if (toolCall.argumentsError) {
    throw new Error(`Invalid arguments for tool "${toolCall.name}": ${toolCall.argumentsError}`);
  }
  const value = schemas().coerce(tool.parameters, toolCall.arguments);
  const validator = schemas().validatorOf(tool.parameters);
  if (validator.check(value)) return value;
  const problems = validator.errors(value);
  const lines = problems.map((problem) => `  - ${pathOf(problem)}: ${problem.message}`).join("\n");
  throw new Error(
    `Validation failed for tool "${toolCall.name}":\n${lines || "Unknown validation error"}\n\n` +
      `Received arguments:\n${JSON.stringify(toolCall.arguments, null, 2)}`,
  );
}

/** Returns the arguments of a call of one of the tools. Throws if there is no such tool or they do not fit. */
export function validateToolCall(tools, toolCall) {
  const tool = tools.find(({ name }) => name === toolCall.name);
  if (!tool) throw new Error(`Tool "${toolCall.name}" not found`);
  return validateToolArguments(tool, toolCall);
}
