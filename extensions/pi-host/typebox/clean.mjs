// Removes properties and elements that a type does not have, and runs the codecs of a type.

import { instantiate } from "./actions.mjs";
import { enter, isReference, target } from "./context.mjs";
import { patternType } from "./convert.mjs";
import { deepClone, deepEqual } from "./equality.mjs";
import { evaluate, extendsType } from "./evaluate.mjs";
import { codecOf, isObjectLike, isRecordLike, kindOf, put, update } from "./kind.mjs";
import { settings } from "./settings.mjs";
import { validatorOf } from "./validator.mjs";

/** Returns the members of a union with narrow types before the wider ones that contain them. */
function byPriority(types) {
  if (!settings.unionPrioritySort) return types;
  const sorted = [];
  for (const type of types) {
    const wider = sorted.findIndex((other) => extendsType(type, other) === true && extendsType(other, type) !== true);
    if (wider < 0) sorted.push(type);
    else sorted.splice(wider, 0, type);
  }
  return sorted;
}

function cleanKeys(context, value, typeOf, additional) {
  if (!isRecordLike(value)) return value;
  for (const key of Object.keys(value)) {
    const known = typeOf(key);
    if (known !== undefined) put(value, key, clean(context, known, value[key]));
    else if (isRecordLike(additional) && validatorOf(additional, context).check(value[key])) put(value, key, clean(context, additional, value[key]));
    else if (additional !== true) delete value[key];
  }
  return value;
}

function cleanIntersect(context, type, value) {
  const evaluated = evaluate(instantiate(context, type));
  if (kindOf(evaluated) === "Intersect") return value;
  const additional = "unevaluatedProperties" in type && kindOf(evaluated) === "Object";
  return clean(context, additional ? update(evaluated, {}, { additionalProperties: type.unevaluatedProperties }) : evaluated, value);
}

/** Returns `value` without what `type` does not describe; objects are changed in place. */
export function clean(outer, type, value) {
  const kind = kindOf(type);
  if (kind === undefined) return value;
  const context = enter(outer, type);
  if (isReference(type)) {
    const meant = target(context, type);
    return meant === undefined ? value : clean(context, meant, value);
  }
  switch (kind) {
    case "Array":
      return Array.isArray(value) ? value.map((element) => clean(context, type.items, element)) : value;
    case "Tuple":
      return Array.isArray(value) ? value.slice(0, type.items.length).map((element, index) => clean(context, type.items[index], element)) : value;
    case "Object":
      return cleanKeys(context, value, (key) => (Object.hasOwn(type.properties, key) ? type.properties[key] : undefined), type.additionalProperties);
    case "Record": {
      const patterns = { patternProperties: type.patternProperties };
      return cleanKeys(context, value, (key) => patternType(patterns, key), type.additionalProperties);
    }
    case "Intersect":
      return cleanIntersect(context, type, value);
    case "Union":
      for (const member of byPriority(type.anyOf)) {
        const candidate = clean(context, member, deepClone(value));
        if (validatorOf(member, context).check(candidate)) return candidate;
      }
      return value;
    default:
      return value;
  }
}

const CONTAINERS = new Set(["Array", "Tuple", "Object", "Record", "Intersect", "Union"]);

// Runs the codecs of the parts of a value; the value's own codec runs after them (decode) or before (encode).
function codeParts(direction, context, type, value) {
  const next = (inner, part) => runCodecs(direction, context, inner, part);
  switch (kindOf(type)) {
    case "Array":
      if (Array.isArray(value)) value.forEach((element, index) => (value[index] = next(type.items, element)));
      return value;
    case "Tuple":
      if (Array.isArray(value)) {
        type.items.forEach((item, index) => {
          if (index < value.length) value[index] = next(item, value[index]);
        });
      }
      return value;
    case "Object":
      return codeKeys(value, (key) => (Object.hasOwn(type.properties, key) ? type.properties[key] : undefined), next);
    case "Record": {
      const patterns = { patternProperties: type.patternProperties };
      return codeKeys(value, (key) => patternType(patterns, key), next);
    }
    case "Intersect":
      return codeIntersect(context, type, value, next);
    default:
      return codeUnion(direction, context, type, value, next);
  }
}

function codeKeys(value, typeOf, next) {
  if (!isRecordLike(value)) return value;
  for (const key of Object.keys(value)) {
    const type = typeOf(key);
    if (type !== undefined && value[key] !== undefined) put(value, key, next(type, value[key]));
  }
  return value;
}

function codeIntersect(context, type, value, next) {
  const results = type.allOf.map((member) => next(member, clean(context, member, deepClone(value))));
  if (results.length > 0 && results.every(isObjectLike)) return Object.assign({}, ...results);
  const changed = results.find((result) => !deepEqual(result, value));
  return changed === undefined ? value : changed;
}

function codeUnion(direction, context, type, value, next) {
  for (const member of byPriority(type.anyOf)) {
    const validator = validatorOf(member, context);
    if (direction === "Decode") {
      if (validator.check(value)) return next(member, value);
    } else {
      const candidate = next(member, deepClone(value));
      if (validator.check(candidate)) return candidate;
    }
  }
  return value;
}

/** Returns `value` with the codecs of `type` run in one direction, "Decode" or "Encode". */
export function runCodecs(direction, outer, type, value) {
  const kind = kindOf(type);
  const context = isObjectLike(type) ? enter(outer, type) : outer;
  const codec = codecOf(type);
  const inside = (part) => {
    if (kind !== undefined && isReference(type)) {
      const meant = target(context, type);
      return meant === undefined ? part : runCodecs(direction, context, meant, part);
    }
    return CONTAINERS.has(kind) ? codeParts(direction, context, type, part) : part;
  };
  if (direction === "Decode") {
    const decoded = inside(value);
    return codec ? codec.decode(decoded) : decoded;
  }
  return inside(codec ? codec.encode(value) : value);
}

/** Returns whether `type` or a part of it has a codec. */
export function hasCodec(type, supplied = {}) {
  const seen = new Set();
  const waiting = [type, ...Object.values(supplied)];
  while (waiting.length > 0) {
    const schema = waiting.pop();
    if (!isObjectLike(schema) || seen.has(schema)) continue;
    seen.add(schema);
    if (codecOf(schema) !== undefined) return true;
    waiting.push(...Object.values(schema));
  }
  return false;
}
