// Fills in default values, and creates whole values.

import { instantiate } from "./actions.mjs";
import { enter, isReference, target } from "./context.mjs";
import { patternType } from "./convert.mjs";
import { deepClone } from "./equality.mjs";
import { evaluate, templateStrings } from "./evaluate.mjs";
import { isObjectLike, isOptional, isRecordLike, kindOf, put } from "./kind.mjs";
import { validatorOf } from "./validator.mjs";

const hasDefault = (type) => isObjectLike(type) && "default" in type;

function defaultOf(type) {
  return typeof type.default === "function" ? type.default(type) : deepClone(type.default);
}

function fillObject(context, type, value) {
  if (!isObjectLike(value)) return value;
  for (const key of Object.keys(type.properties)) {
    const property = type.properties[key];
    const current = Object.hasOwn(value, key) ? value[key] : undefined;
    const filled = fillDefaults(context, property, current);
    if (filled === undefined && (isOptional(property) || !hasDefault(property))) continue;
    put(value, key, filled);
  }
  if (isRecordLike(type.additionalProperties)) {
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(type.properties, key)) put(value, key, fillDefaults(context, type.additionalProperties, value[key]));
    }
  }
  return value;
}

function fillRecord(context, type, value) {
  if (!isObjectLike(value)) return value;
  for (const key of Object.keys(value)) {
    const member = patternType(type, key);
    if (isRecordLike(member)) put(value, key, fillDefaults(context, member, value[key]));
  }
  return value;
}

function fillUnion(context, type, value) {
  for (const member of type.anyOf) {
    const candidate = fillDefaults(context, member, deepClone(value));
    if (validatorOf(member, context).check(candidate)) return candidate;
  }
  return value;
}

/** Returns `value` with the defaults of `type` where something is missing; objects are changed in place. */
export function fillDefaults(outer, type, original) {
  const value = original === undefined && hasDefault(type) ? defaultOf(type) : original;
  const kind = kindOf(type);
  if (kind === undefined) return value;
  const context = enter(outer, type);
  if (isReference(type)) {
    const meant = target(context, type);
    return meant === undefined ? value : fillDefaults(context, meant, value);
  }
  switch (kind) {
    case "Array":
      if (Array.isArray(value)) value.forEach((element, index) => (value[index] = fillDefaults(context, type.items, element)));
      return value;
    case "Tuple":
      if (Array.isArray(value)) type.items.forEach((item, index) => (value[index] = fillDefaults(context, item, value[index])));
      return value;
    case "Object":
      return fillObject(context, type, value);
    case "Record":
      return fillRecord(context, type, value);
    case "Union":
      return fillUnion(context, type, value);
    case "Intersect": {
      const evaluated = evaluate(instantiate(context, type));
      return kindOf(evaluated) === "Intersect" ? value : fillDefaults(context, evaluated, value);
    }
    default:
      return value;
  }
}

export class CreateError extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

function smallest(type) {
  if (typeof type.exclusiveMinimum === "number") return type.exclusiveMinimum + 1;
  return typeof type.minimum === "number" ? type.minimum : 0;
}

const refuse = (type, message) => {
  throw new CreateError(type, message);
};

/** How values of types without a default are made. */
const CREATORS = {
  Array(context, type) {
    if (type.uniqueItems) refuse(type, "Arrays with uniqueItems constraints must specify a default annotation");
    return Array.from({ length: type.minItems ?? 0 }, () => createValue(context, type.items));
  },
  BigInt: (_, type) => (type.exclusiveMinimum !== undefined ? BigInt(type.exclusiveMinimum) + 1n : BigInt(type.minimum ?? 0)),
  Boolean: () => false,
  Constructor(context, type) {
    const members = createValue(context, type.instanceType);
    return class {
      constructor() {
        Object.assign(this, members);
      }
    };
  },
  Date: (_, type) => new Date(type.minimumTimestamp ?? Date.now()),
  Enum: (_, type) => type.enum[0],
  Function(context, type) {
    const result = createValue(context, type.returnType);
    return () => result;
  },
  Integer: (_, type) => smallest(type),
  Intersect(context, type) {
    const evaluated = evaluate(instantiate(context, type));
    return kindOf(evaluated) === "Intersect" ? refuse(type, "Cannot create this intersection") : createValue(context, evaluated);
  },
  Literal: (_, type) => type.const,
  Never: (_, type) => refuse(type, "Cannot create TNever types"),
  Not: (_, type) => refuse(type, "Not types must have a default value"),
  Null: () => null,
  Number: (_, type) => smallest(type),
  Object(context, type) {
    const value = {};
    for (const key of type.required ?? []) put(value, key, createValue(context, type.properties[key]));
    return value;
  },
  Promise: (context, type) => Promise.resolve(createValue(context, type.item)),
  Record(_, type) {
    if (type.minProperties) refuse(type, "Record with the minProperties constraint must have a default annotation");
    return {};
  },
  RegExp: (_, type) => refuse(type, "RegExp types must have a default value"),
  String(_, type) {
    if (type.pattern !== undefined || type.format !== undefined) throw new Error("Strings with format or pattern constraints must specify default");
    return "".padEnd(type.minLength ?? 0);
  },
  Symbol: () => Symbol(),
  TemplateLiteral(_, type) {
    const strings = templateStrings(type);
    return strings ? strings[0] : refuse(type, "Unable to create TemplateLiteral due to infinite type expansion");
  },
  Tuple: (context, type) => type.items.map((item) => createValue(context, item)),
  Uint8Array: (_, type) => new Uint8Array(type.minByteLength ?? 0),
  Union(context, type) {
    return type.anyOf.length === 0 ? refuse(type, "Unable to create Union with no variants") : createValue(context, type.anyOf[0]);
  },
};

/** Returns a value of `type`. Throws for types of which none can be made up. */
export function createValue(outer, type) {
  if (hasDefault(type)) return defaultOf(type);
  const kind = kindOf(type);
  if (kind === undefined) return undefined;
  const context = enter(outer, type);
  if (isReference(type)) return createValue(context, target(context, type) ?? refuse(type, "Unable to deref Ref"));
  return Object.hasOwn(CREATORS, kind) ? CREATORS[kind](context, type) : undefined;
}
