// Checks and converts the arguments of tool calls by a tool's JSON Schema.

import { createRequire } from "node:module";

let values;

/** Returns the functions over schemas. They are loaded when the first call is checked. */
function schemaValues() {
  if (!values) {
    const loaded = createRequire(import.meta.url)("../shims/typebox-value.mjs");
    values = loaded.Value ?? loaded;
  }
  return values;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function isValid(schema, value) {
  try {
    return schemaValues().Check(schema, value);
  } catch {
    return undefined;
  }
}

const typesOf = ({ type }) => [type].flat().filter((name) => typeof name === "string");

const MATCHES = {
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

function toNumber(value, isAllowed) {
  if (value === null) return 0;
  if (typeof value === "boolean") return Number(value);
  const isText = typeof value === "string" && value.trim() !== "";
  return isText && isAllowed(Number(value)) ? Number(value) : value;
}

function toBoolean(value) {
  if (value === null || value === "false" || value === 0) return false;
  return value === "true" || value === 1 ? true : value;
}

// What models write in place of a value of the type.
const CONVERT = {
  number: (value) => toNumber(value, Number.isFinite),
  integer: (value) => toNumber(value, Number.isInteger),
  boolean: toBoolean,
  string: (value) => (value === null ? "" : ["number", "boolean"].includes(typeof value) ? String(value) : value),
  null: (value) => (value === "" || value === 0 || value === false ? null : value),
};

function convertUnion(value, schemas) {
  if (schemas.some((schema) => isValid(schema, value))) return value;
  for (const schema of schemas) {
    const candidate = convert(structuredClone(value), schema);
    if (isValid(schema, candidate)) return candidate;
  }
  return value;
}

function convertMembers(value, { properties = {}, additionalProperties }) {
  for (const [name, member] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) value[name] = convert(member, properties[name]);
    else if (isObject(additionalProperties)) value[name] = convert(member, additionalProperties);
  }
}

/** Returns a value with what can be converted to the types of the schema. Objects and lists are changed in place. */
function convert(value, schema) {
  if (!isObject(schema)) return value;
  let result = (schema.allOf ?? []).reduce((part, nested) => convert(part, nested), value);
  for (const union of [schema.anyOf, schema.oneOf]) {
    if (Array.isArray(union)) result = convertUnion(result, union);
  }
  const types = typesOf(schema);
  if (types.length < 2 || !types.some((type) => MATCHES[type]?.(result))) {
    for (const type of types) {
      const candidate = CONVERT[type] ? CONVERT[type](result) : result;
      if (candidate !== result) {
        result = candidate;
        break;
      }
    }
  }
  if (types.includes("object") && isObject(result)) convertMembers(result, schema);
  if (types.includes("array") && Array.isArray(result) && schema.items) {
    for (const [index, item] of result.entries()) {
      const itemSchema = Array.isArray(schema.items) ? schema.items[index] : schema.items;
      if (itemSchema) result[index] = convert(item, itemSchema);
    }
  }
  return result;
}

/** Removes members that are `null` where they could have been left out. */
function dropNulls(value, schema) {
  if (Array.isArray(value)) {
    const items = schema?.items;
    for (const [index, item] of value.entries()) dropNulls(item, Array.isArray(items) ? items[index] : items);
    return;
  }
  if (!isObject(value) || !schema?.properties) return;
  for (const [name, member] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const isOptional = !schema.required?.includes(name) && typeof member.$ref !== "string";
    if (value[name] === null && isOptional && isValid(member, null) === false) delete value[name];
    else dropNulls(value[name], member);
  }
}

function pathOf({ instancePath = "", path = "", keyword, params }) {
  const place = (instancePath || path).replace(/^\//, "").replaceAll("/", ".");
  const missing = keyword === "required" ? params?.requiredProperties?.[0] : undefined;
  return [place, missing].filter(Boolean).join(".") || "root";
}

/** Returns a value as the library of a schema converts it. It knows only schemas of its own. */
function ownConversion(schema, value) {
  return isObject(schema) && "~kind" in schema ? schemaValues().Convert(schema, value) : value;
}

/** Returns the arguments of a tool call, converted to what the tool expects. Throws if they do not fit. */
export function validateToolArguments(tool, toolCall) {
  if (toolCall.argumentsError) {
    throw new Error(`Invalid arguments for tool "${toolCall.name}": ${toolCall.argumentsError}`);
  }
  const schema = tool.parameters;
  const given = structuredClone(toolCall.arguments);
  dropNulls(given, schema);
  const value = convert(ownConversion(schema, given), schema);
  if (schemaValues().Check(schema, value)) return value;
  const problems = [...schemaValues().Errors(schema, value)];
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
