// Brings the arguments of a tool call into the form that the tool's schema asks for, before they are validated: models send "5" for 5.

import { EMPTY } from "./context.mjs";
import { convert } from "./convert.mjs";
import { deepClone } from "./equality.mjs";
import { isRecordLike, put } from "./kind.mjs";
import { validatorOf } from "./validator.mjs";

const isNumberText = (value) => typeof value === "string" && value.trim() !== "";

function toNumber(value, accepts) {
  if (value === null) return 0;
  if (typeof value === "boolean") return value ? 1 : 0;
  const number = isNumberText(value) ? Number(value) : Number.NaN;
  return accepts(number) ? number : value;
}

const BOOLEANS = new Map([[null, false], ["true", true], ["false", false], [1, true], [0, false]]);

/** What a value that does not fit becomes, by the type that the schema asks for. */
const COERCIONS = {
  number: (value) => toNumber(value, Number.isFinite),
  integer: (value) => toNumber(value, Number.isInteger),
  boolean: (value) => (BOOLEANS.has(value) ? BOOLEANS.get(value) : value),
  string(value) {
    if (value === null) return "";
    return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  },
  null: (value) => (value === "" || value === 0 || value === false ? null : value),
};

const JSON_TYPES = {
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  null: (value) => value === null,
  array: Array.isArray,
  object: isRecordLike,
};

function typesOf(schema) {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.filter((type) => typeof type === "string");
}

function accepts(schema, value) {
  try {
    return validatorOf(schema).check(value);
  } catch {
    // A schema with a broken pattern accepts nothing here; the validation of the whole reports it.
    return false;
  }
}

function coerceUnion(value, schemas) {
  if (schemas.some((schema) => accepts(schema, value))) return value;
  for (const schema of schemas) {
    const candidate = coerceValue(deepClone(value), schema);
    if (accepts(schema, candidate)) return candidate;
  }
  return value;
}

function coerceProperties(value, schema) {
  const properties = isRecordLike(schema.properties) ? schema.properties : {};
  for (const key of Object.keys(value)) {
    const known = Object.hasOwn(properties, key);
    const propertySchema = known ? properties[key] : schema.additionalProperties;
    if (isRecordLike(propertySchema)) put(value, key, coerceValue(value[key], propertySchema));
  }
}

function coerceItems(value, schema) {
  for (let index = 0; index < value.length; index += 1) {
    const itemSchema = Array.isArray(schema.items) ? schema.items[index] : schema.items;
    if (isRecordLike(itemSchema)) value[index] = coerceValue(value[index], itemSchema);
  }
}

function coerceValue(original, schema) {
  if (!isRecordLike(schema)) return original;
  let value = original;
  for (const nested of Array.isArray(schema.allOf) ? schema.allOf : []) value = coerceValue(value, nested);
  if (Array.isArray(schema.anyOf)) value = coerceUnion(value, schema.anyOf);
  if (Array.isArray(schema.oneOf)) value = coerceUnion(value, schema.oneOf);
  const types = typesOf(schema);
  const fits = types.length > 1 && types.some((type) => Object.hasOwn(JSON_TYPES, type) && JSON_TYPES[type](value));
  if (!fits) {
    const changed = types.filter((type) => Object.hasOwn(COERCIONS, type)).map((type) => COERCIONS[type](value)).find((result) => result !== value);
    if (changed !== undefined) value = changed;
  }
  if (types.includes("object") && isRecordLike(value)) coerceProperties(value, schema);
  if (types.includes("array") && Array.isArray(value)) coerceItems(value, schema);
  return value;
}

// Models send null for what they leave out. Where the schema does not allow null, the property goes.
function dropOptionalNulls(value, schema) {
  if (!isRecordLike(schema)) return;
  if (Array.isArray(value)) {
    value.forEach((element, index) => dropOptionalNulls(element, Array.isArray(schema.items) ? schema.items[index] : schema.items));
    return;
  }
  if (!isRecordLike(value) || !isRecordLike(schema.properties)) return;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  for (const key of Object.keys(schema.properties)) {
    if (!Object.hasOwn(value, key)) continue;
    const propertySchema = schema.properties[key];
    const droppable = value[key] === null && !required.has(key) && isRecordLike(propertySchema) && typeof propertySchema.$ref !== "string";
    if (droppable && !accepts(propertySchema, null)) delete value[key];
    else dropOptionalNulls(value[key], propertySchema);
  }
}

/** Tells whether a schema is of an old TypeBox. Values of these are only converted by that library, if at all. */
function isOld(schema) {
  return isRecordLike(schema) && Object.getOwnPropertySymbols(schema).includes(Symbol.for("TypeBox.Kind"));
}

/**
 * Returns a copy of `value` with what the schema allows to convert converted, and optional properties that are null dropped.
 * What cannot be converted stays as it is; validation decides about it.
 */
export function coerce(schema, value) {
  try {
    const copy = deepClone(value);
    dropOptionalNulls(copy, schema);
    const converted = convert(EMPTY, schema, copy);
    return isOld(schema) ? converted : coerceValue(converted, schema);
  } catch (error) {
    if (error instanceof RangeError) return value;
    throw error;
  }
}
