// Schema objects: plain JSON Schema whose marks (kind, optional, codec …) are not enumerable, so that JSON.stringify shows JSON Schema only.
// typebox 1.x marks with "~" names, @sinclair/typebox 0.34 with symbols. Both are written and both are read.

import { settings } from "./settings.mjs";

export const Kind = Symbol.for("TypeBox.Kind");
export const OptionalKind = Symbol.for("TypeBox.Optional");
export const ReadonlyKind = Symbol.for("TypeBox.Readonly");
export const TransformKind = Symbol.for("TypeBox.Transform");
export const Hint = Symbol.for("TypeBox.Hint");

/** The mark of 1.x and the symbol of 0.34 for the same thing. */
const SYMBOL_OF = { "~kind": Kind, "~optional": OptionalKind, "~readonly": ReadonlyKind };
const SYMBOL_VALUE = { "~optional": "Optional", "~readonly": "Readonly" };

/** Returns whether `value` is an object or an array. */
export function isObjectLike(value) {
  return typeof value === "object" && value !== null;
}

/** Returns whether `value` is an object and no array. */
export function isRecordLike(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mark(schema, name, value) {
  const enumerable = settings.enumerableKind;
  Object.defineProperty(schema, name, { value, enumerable, writable: true, configurable: true });
  const symbol = SYMBOL_OF[name];
  if (symbol !== undefined) {
    const symbolValue = SYMBOL_VALUE[name] ?? value;
    Object.defineProperty(schema, symbol, { value: symbolValue, enumerable: false, writable: true, configurable: true });
  }
}

function finish(schema) {
  return settings.immutableTypes ? Object.freeze(schema) : schema;
}

/** Returns a schema of `kind` with the given keywords; options of the caller override keywords. */
export function create(kind, keywords, options) {
  const schema = { ...keywords, ...options };
  mark(schema, "~kind", kind);
  return finish(schema);
}

/** Returns a copy of `schema` that keeps its marks. */
export function copy(schema) {
  if (!isObjectLike(schema)) throw new TypeError("A type is an object, but this is " + describe(schema));
  return Object.defineProperties(Array.isArray(schema) ? [] : {}, Object.getOwnPropertyDescriptors(schema));
}

function describe(value) {
  return value === null ? "null" : typeof value;
}

/** Returns a copy of `schema` with further marks and keywords. */
export function update(schema, marks, keywords) {
  const result = copy(schema);
  for (const name of Object.keys(marks)) mark(result, name, marks[name]);
  if (keywords) {
    for (const name of Object.keys(keywords)) {
      Object.defineProperty(result, name, { value: keywords[name], enumerable: true, writable: true, configurable: true });
    }
  }
  return finish(result);
}

/** Returns a copy of `schema` without the named marks and keywords. */
export function without(schema, names) {
  const result = copy(schema);
  for (const name of names) {
    delete result[name];
    if (SYMBOL_OF[name] !== undefined) delete result[SYMBOL_OF[name]];
  }
  return finish(result);
}

/** Returns the kind of a schema, or undefined for a hand-written JSON Schema. */
export function kindOf(schema) {
  if (!isObjectLike(schema)) return undefined;
  return schema["~kind"] ?? schema[Kind];
}

/** Returns whether `schema` has the kind `kind`. */
export function isKind(schema, kind) {
  return kindOf(schema) === kind;
}

/** Returns whether a property with this schema may be missing. */
export function isOptional(schema) {
  return isObjectLike(schema) && ("~optional" in schema || schema[OptionalKind] === "Optional");
}

/** Returns whether a property with this schema is marked read-only. */
export function isReadonly(schema) {
  return isObjectLike(schema) && ("~readonly" in schema || schema[ReadonlyKind] === "Readonly");
}

/** Returns the decode and encode functions of a schema, or undefined. */
export function codecOf(schema) {
  if (!isObjectLike(schema)) return undefined;
  const codec = schema["~codec"];
  if (isObjectLike(codec) && typeof codec.decode === "function" && typeof codec.encode === "function") return codec;
  const transform = schema[TransformKind];
  if (isObjectLike(transform)) return { decode: transform.Decode, encode: transform.Encode };
  return undefined;
}

/** Sets an own property, also one named `__proto__`. */
export function put(target, key, value) {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

/** Returns whether `value` has `key`, own or from a class, but not what every object inherits. */
export function has(value, key) {
  return Object.hasOwn(value, key) || (key in value && !(key in Object.prototype));
}
