// Converts values to the primitive types that a type asks for: "1" to 1, 1 to true.

import { instantiate } from "./actions.mjs";
import { StringType } from "./basic_types.mjs";
import { enter, isReference, target } from "./context.mjs";
import { deepClone } from "./equality.mjs";
import { evaluate } from "./evaluate.mjs";
import { isOptional, isRecordLike, kindOf, put } from "./kind.mjs";
import { validatorOf } from "./validator.mjs";

/** Stands for "cannot be converted", since undefined can be a result. */
const FAILED = Symbol("failed");

function toBigInt(value) {
  switch (typeof value) {
    case "bigint":
      return value;
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      return Number.isFinite(value) ? BigInt(Math.trunc(value)) : FAILED;
    case "undefined":
      return 0n;
    case "string":
      return textToBigInt(value);
    default:
      return value === null ? 0n : FAILED;
  }
}

function textToBigInt(text) {
  const match = /^(-?(?:0|[1-9]\d*))(?:n|\.\d+)?$/.exec(text);
  if (match) return BigInt(match[1]);
  const word = { true: 1n, false: 0n };
  return Object.hasOwn(word, text.toLowerCase()) ? word[text.toLowerCase()] : FAILED;
}

function toBoolean(value) {
  if (typeof value === "boolean") return value;
  if (value === null || value === undefined) return false;
  const text = typeof value === "string" ? value.toLowerCase() : value;
  if (text === "true" || text === "1" || text === 1 || text === 1n) return true;
  return text === "false" || text === "0" || text === 0 || text === 0n ? false : FAILED;
}

function toNumber(value) {
  if (typeof value === "number") return value;
  if (typeof value === "string" && Number.isFinite(Number(value))) return Number(value);
  const whole = toBigInt(value);
  if (whole === FAILED) return FAILED;
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : FAILED;
}

function toText(value) {
  if (value === null) return "null";
  if (value === undefined) return "";
  if (typeof value === "number" && !Number.isFinite(value)) return FAILED;
  return ["string", "number", "boolean", "bigint"].includes(typeof value) ? String(value) : FAILED;
}

function isEmptyValue(value) {
  if (typeof value === "string") return ["", "0", "null", "undefined"].includes(value.toLowerCase());
  return value === null || value === undefined || value === false || value === 0 || value === 0n;
}

function toDate(value) {
  if (value instanceof Date) return value;
  const isNumber = typeof value === "number" || (typeof value === "string" && /^-?\d+$/.test(value));
  const date = isNumber ? new Date(Number(value)) : typeof value === "string" ? new Date(value) : undefined;
  return date && Number.isFinite(date.getTime()) ? date : FAILED;
}

const TO_LITERAL = { bigint: toBigInt, boolean: toBoolean, number: toNumber, string: toText };

/** The conversions to types without parts. */
const CONVERSIONS = {
  BigInt: (_, value) => toBigInt(value),
  Boolean: (_, value) => toBoolean(value),
  Date: (_, value) => toDate(value),
  Integer(_, value) {
    const number = toNumber(value);
    return number === FAILED ? FAILED : Math.trunc(number);
  },
  Literal(type, value) {
    const converted = TO_LITERAL[typeof type.const]?.(value) ?? FAILED;
    return converted === type.const ? converted : FAILED;
  },
  Null: (_, value) => (isEmptyValue(value) ? null : FAILED),
  Number: (_, value) => toNumber(value),
  String: (_, value) => toText(value),
  Undefined: (_, value) => (isEmptyValue(value) ? undefined : FAILED),
  Void: (_, value) => (isEmptyValue(value) ? undefined : FAILED),
};

function convertUnion(context, types, value) {
  const accepts = (type, candidate) => validatorOf(type, context).check(candidate);
  if (types.some((type) => accepts(type, value))) return value;
  for (const type of types) {
    const candidate = convert(context, type, deepClone(value));
    if (accepts(type, candidate)) return candidate;
  }
  return value;
}

function convertKeys(context, value, typeOf) {
  if (!isRecordLike(value)) return value;
  for (const key of Object.keys(value)) {
    const type = typeOf(key);
    if (!isRecordLike(type) || (value[key] === undefined && isOptional(type))) continue;
    put(value, key, convert(context, type, value[key]));
  }
  return value;
}

/** Returns the type of the property `key` in a record with patterns. */
export function patternType(type, key) {
  for (const pattern of Object.keys(type.patternProperties)) {
    if (new RegExp(pattern).test(key)) return type.patternProperties[pattern];
  }
  return type.additionalProperties;
}

/** Returns `value` converted as far as possible; objects are changed in place. */
export function convert(outer, type, value) {
  const kind = kindOf(type);
  if (kind === undefined) return value;
  if (Object.hasOwn(CONVERSIONS, kind)) {
    const converted = CONVERSIONS[kind](type, value);
    return converted === FAILED ? value : converted;
  }
  const context = enter(outer, type);
  if (isReference(type)) {
    const meant = target(context, type);
    return meant === undefined ? value : convert(context, meant, value);
  }
  switch (kind) {
    case "Array":
      return (Array.isArray(value) ? value : [value]).map((element) => convert(context, type.items, element));
    case "Tuple":
      if (!Array.isArray(value)) return value;
      for (let index = 0; index < Math.min(type.items.length, value.length); index += 1) {
        value[index] = convert(context, type.items[index], value[index]);
      }
      return value;
    case "Object":
      return convertKeys(context, value, (key) => (Object.hasOwn(type.properties, key) ? type.properties[key] : type.additionalProperties));
    case "Record":
      return convertKeys(context, value, (key) => patternType(type, key));
    case "Union":
      return convertUnion(context, type.anyOf, value);
    case "Enum":
      return convert(context, evaluate(type), value);
    case "TemplateLiteral": {
      const evaluated = evaluate(type);
      return convert(context, evaluated === type ? StringType() : evaluated, value);
    }
    case "Intersect": {
      const evaluated = evaluate(instantiate(context, type));
      return kindOf(evaluated) === "Intersect" ? value : convert(context, evaluated, value);
    }
    default:
      return value;
  }
}
