// The keywords of JSON Schema that look at one value. Those that apply schemas are in applicators.mjs.
// A keyword returns a check `(value, sink, evaluated, schemaPath, path) => boolean`, or undefined if the schema's value for it makes no sense.

import { refinementsOf } from "./basic_types.mjs";
import { canonical, deepEqual } from "./equality.mjs";
import { formatCheck } from "./formats.mjs";
import { has, isObjectLike, isRecordLike, Kind, kindOf } from "./kind.mjs";
import { fail } from "./messages.mjs";
import { TypeRegistry } from "./settings.mjs";
import { textLength } from "./text_length.mjs";

const isPromise = (value) => value instanceof Promise;
const isFunction = (value) => typeof value === "function";
const isUndefined = (value) => value === undefined;
const iterates = (symbol) => (value) => isObjectLike(value) && symbol in value;

function isConstructor(value) {
  return typeof value === "function" && typeof value.prototype === "object" && value.prototype !== null;
}

const TYPES = {
  object: isRecordLike,
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  number: Number.isFinite,
  null: (value) => value === null,
  string: (value) => typeof value === "string",
  bigint: (value) => typeof value === "bigint",
  symbol: (value) => typeof value === "symbol",
  undefined: isUndefined,
  void: isUndefined,
  function: isFunction,
  Function: isFunction,
  constructor: isConstructor,
  Constructor: isConstructor,
  Promise: isPromise,
  Iterator: iterates(Symbol.iterator),
  AsyncIterator: iterates(Symbol.asyncIterator),
  Date: (value) => value instanceof Date && Number.isFinite(value.getTime()),
  Uint8Array: (value) => value instanceof Uint8Array,
  RegExp: (value) => typeof value === "string",
};

const isNumeric = (value) => typeof value === "number" || typeof value === "bigint";

/** Returns the expression for a pattern of a schema; patterns that only the older syntax allows are taken as that. */
export function patternExpression(pattern) {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function limitCheck(keyword, params, holds) {
  return (schema) => {
    const limit = schema[keyword];
    if (!isNumeric(limit)) return undefined;
    return (value, sink, _, schemaPath, path) => {
      return holds(value, limit) || fail(sink, keyword, schemaPath, path, params(limit), schema, value);
    };
  };
}

const compared = (comparison) => (limit) => ({ comparison, limit });
const limited = (limit) => ({ limit });

/** Returns whether a number is a multiple of another, up to the error of floating point. */
export function isMultipleOf(value, divisor) {
  if (typeof value === "bigint" || typeof divisor === "bigint") {
    const whole = (number) => typeof number === "bigint" || Number.isInteger(number);
    return whole(value) && whole(divisor) && BigInt(divisor) !== 0n && BigInt(value) % BigInt(divisor) === 0n;
  }
  if (!Number.isFinite(value)) return true;
  if (Number.isInteger(value) && (1 / divisor) % 1 === 0) return true;
  const rest = Math.abs(value % divisor);
  return Math.min(rest, Math.abs(rest - Math.abs(divisor))) < 1e-10;
}

/** Keywords for numbers, in the order in which errors appear. */
export const NUMBER_KEYWORDS = {
  exclusiveMaximum: limitCheck("exclusiveMaximum", compared("<"), (value, limit) => value < limit),
  exclusiveMinimum: limitCheck("exclusiveMinimum", compared(">"), (value, limit) => value > limit),
  maximum: limitCheck("maximum", compared("<="), (value, limit) => value <= limit),
  minimum: limitCheck("minimum", compared(">="), (value, limit) => value >= limit),
  multipleOf: limitCheck("multipleOf", (multipleOf) => ({ multipleOf }), isMultipleOf),
};

/** Keywords for strings. */
export const STRING_KEYWORDS = {
  maxLength: limitCheck("maxLength", limited, (value, limit) => value.length <= limit || textLength(value) <= limit),
  minLength: limitCheck("minLength", limited, (value, limit) => textLength(value) >= limit),
  format(schema) {
    if (typeof schema.format !== "string") return undefined;
    return (value, sink, _, schemaPath, path) => {
      // Looked up at each check: an extension may register the format after it compiled the schema.
      const check = formatCheck(schema.format);
      if (check === undefined || check(value)) return true;
      return fail(sink, "format", schemaPath, path, { format: schema.format }, schema, value);
    };
  },
  pattern(schema) {
    const { pattern } = schema;
    if (typeof pattern !== "string" && !(pattern instanceof RegExp)) return undefined;
    const expression = typeof pattern === "string" ? patternExpression(pattern) : new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
    return (value, sink, _, schemaPath, path) => {
      return expression.test(value) || fail(sink, "pattern", schemaPath, path, { pattern }, schema, value);
    };
  },
};

/** Keywords that look at the number and the names of properties. */
export const PROPERTY_COUNT_KEYWORDS = {
  minProperties: limitCheck("minProperties", limited, (value, limit) => Object.keys(value).length >= limit),
  maxProperties: limitCheck("maxProperties", limited, (value, limit) => Object.keys(value).length <= limit),
};

export function required(schema) {
  if (!Array.isArray(schema.required)) return undefined;
  const names = schema.required.filter((name) => typeof name === "string");
  return (value, sink, _, schemaPath, path) => {
    if (names.every((name) => has(value, name))) return true;
    if (sink === null) return false;
    const requiredProperties = names.filter((name) => !has(value, name));
    return fail(sink, "required", schemaPath, path, { requiredProperties }, schema, value);
  };
}

export function dependentRequired(schema) {
  if (!isRecordLike(schema.dependentRequired)) return undefined;
  const entries = Object.entries(schema.dependentRequired).filter(([, names]) => Array.isArray(names));
  return (value, sink, _, schemaPath, path) => {
    let valid = true;
    for (const [property, dependencies] of entries) {
      if (!has(value, property)) continue;
      for (const name of dependencies) {
        if (!has(value, name)) valid = fail(sink, "dependentRequired", schemaPath, path, { property, dependencies }, schema, value);
      }
    }
    return valid;
  };
}

/** Keywords for the number of elements. */
export const ITEM_COUNT_KEYWORDS = {
  maxItems: limitCheck("maxItems", limited, (value, limit) => value.length <= limit),
  minItems: limitCheck("minItems", limited, (value, limit) => value.length >= limit),
};

export function uniqueItems(schema) {
  if (schema.uniqueItems !== true) return undefined;
  return (value, sink, _, schemaPath, path) => {
    const seen = new Set();
    const duplicateItems = [];
    value.forEach((element, index) => {
      const text = canonical(element);
      if (seen.has(text)) duplicateItems.push(index);
      seen.add(text);
    });
    return duplicateItems.length === 0 || fail(sink, "uniqueItems", schemaPath, path, { duplicateItems }, schema, value);
  };
}

export function type(schema) {
  const names = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (!names.every((name) => typeof name === "string")) return undefined;
  const checks = names.map((name) => (Object.hasOwn(TYPES, name) ? TYPES[name] : undefined));
  // A type that nobody knows does not constrain.
  if (checks.includes(undefined)) return undefined;
  const matches = checks.length === 1 ? checks[0] : (value) => checks.some((check) => check(value));
  const params = { type: schema.type };
  return (value, sink, _, schemaPath, path) => matches(value) || fail(sink, "type", schemaPath, path, params, schema, value);
}

export function constant(schema) {
  if (!Object.hasOwn(schema, "const")) return undefined;
  const allowedValue = schema.const;
  return (value, sink, _, schemaPath, path) => {
    return deepEqual(value, allowedValue) || fail(sink, "const", schemaPath, path, { allowedValue }, schema, value);
  };
}

export function enumeration(schema) {
  const allowedValues = schema.enum;
  if (!Array.isArray(allowedValues)) return undefined;
  return (value, sink, _, schemaPath, path) => {
    const found = allowedValues.includes(value) || (isObjectLike(value) && allowedValues.some((allowed) => deepEqual(value, allowed)));
    return found || fail(sink, "enum", schemaPath, path, { allowedValues }, schema, value);
  };
}

export function refinements(schema) {
  const list = refinementsOf(schema);
  if (list.length === 0) return undefined;
  return (value, sink, _, schemaPath, path) => {
    let valid = true;
    list.forEach((refinement, index) => {
      if (!valid && sink === null) return;
      if (refinement.check(value)) return;
      valid = fail(sink, "~refine", schemaPath, path, { index, message: refinement.error(value) }, schema, value);
    });
    return valid;
  };
}

const DATE_LIMITS = {
  exclusiveMaximumTimestamp: ["exclusiveMaximum", "<", (value, limit) => value < limit],
  exclusiveMinimumTimestamp: ["exclusiveMinimum", ">", (value, limit) => value > limit],
  maximumTimestamp: ["maximum", "<=", (value, limit) => value <= limit],
  minimumTimestamp: ["minimum", ">=", (value, limit) => value >= limit],
};

function dateLimits(schema) {
  return (value, sink, _, schemaPath, path) => {
    if (!(value instanceof Date)) return true;
    for (const [name, [keyword, comparison, holds]] of Object.entries(DATE_LIMITS)) {
      const limit = schema[name];
      if (typeof limit === "number" && !holds(value.getTime(), limit)) {
        return fail(sink, keyword, schemaPath, path, { comparison, limit }, schema, value);
      }
    }
    return true;
  };
}

function byteLimits(schema) {
  return (value, sink, _, schemaPath, path) => {
    if (!(value instanceof Uint8Array)) return true;
    const { minByteLength: least, maxByteLength: most } = schema;
    if (typeof least === "number" && value.length < least) return fail(sink, "minLength", schemaPath, path, { limit: least }, schema, value);
    if (typeof most === "number" && value.length > most) return fail(sink, "maxLength", schemaPath, path, { limit: most }, schema, value);
    return true;
  };
}

function expressionCheck(schema) {
  const expression = new RegExp(schema.source, String(schema.flags ?? "").replace(/[gy]/g, ""));
  return (value, sink, _, schemaPath, path) => {
    if (typeof value !== "string" || expression.test(value)) return true;
    return fail(sink, "pattern", schemaPath, path, { pattern: schema.source }, schema, value);
  };
}

/** Returns the check that a kind of 0.34 adds to its keywords; a registered kind is checked by its function. */
export function kindCheck(schema) {
  const kind = kindOf(schema);
  if (kind === "Date") return dateLimits(schema);
  if (kind === "Uint8Array") return byteLimits(schema);
  if (kind === "RegExp" && typeof schema.source === "string") return expressionCheck(schema);
  // Only a kind of the caller's own, which may also be registered later.
  if (typeof kind !== "string" || !("~unsafe" in schema || Object.prototype.propertyIsEnumerable.call(schema, Kind))) return undefined;
  return (value, sink, _, schemaPath, path) => {
    const check = TypeRegistry.Get(kind);
    return check === undefined || Boolean(check(schema, value)) || fail(sink, "~kind", schemaPath, path, { kind }, schema, value);
  };
}
