// The builders that stand for one JSON Schema each, without computing on other types.

import { copy, create, isObjectLike, isOptional, Kind, kindOf, TransformKind, update, without, codecOf } from "./kind.mjs";

export const IntegerPattern = "-?(?:0|[1-9][0-9]*)";
export const NumberPattern = `${IntegerPattern}(?:\\.[0-9]+)?`;
export const BigIntPattern = `${IntegerPattern}n`;
export const StringPattern = ".*";
export const NeverPattern = "(?!)";

const simple = (kind, keywords) => (options) => create(kind, keywords, options);

export const AnyType = simple("Any", {});
export const UnknownType = simple("Unknown", {});
export const StringType = simple("String", { type: "string" });
export const NumberType = simple("Number", { type: "number" });
export const IntegerType = simple("Integer", { type: "integer" });
export const BooleanType = simple("Boolean", { type: "boolean" });
export const NullType = simple("Null", { type: "null" });
export const UndefinedType = simple("Undefined", { type: "undefined" });
export const VoidType = simple("Void", { type: "void" });
export const BigIntType = simple("BigInt", { type: "bigint" });
export const SymbolType = simple("Symbol", { type: "symbol" });
export const DateType = simple("Date", { type: "Date" });
export const Uint8ArrayType = simple("Uint8Array", { type: "Uint8Array" });
export const This = simple("This", { $ref: "#" });

// A fresh `not` each time, so that types never share mutable parts.
export const Never = (options) => create("Never", { not: {} }, options);

/** Returns a type for strings that match a regular expression (0.34). */
export function RegExpType(source, options) {
  const expression = typeof source === "string" ? new RegExp(source) : source;
  return create("RegExp", { type: "RegExp", source: expression.source, flags: expression.flags }, options);
}

export class InvalidLiteralValue extends Error {
  constructor(value) {
    super("Invalid Literal value");
    Object.defineProperty(this, "cause", { value: { value }, enumerable: false });
  }
}

/** Returns whether `value` can be a literal. */
export function isLiteralValue(value) {
  return ["string", "number", "boolean", "bigint"].includes(typeof value);
}

export function Literal(value, options) {
  if (!isLiteralValue(value)) throw new InvalidLiteralValue(value);
  return create("Literal", { type: typeof value, const: value }, options);
}

export const Union = (anyOf, options) => create("Union", { anyOf }, options);
export const Intersect = (allOf, options) => create("Intersect", { allOf }, options);
export const Not = (not, options) => create("Not", { not }, options);
export const ArrayType = (items, options) => create("Array", { type: "array", items }, options);

export function ObjectType(properties, options) {
  const required = Object.keys(properties).filter((key) => !isOptional(properties[key]));
  const keywords = required.length > 0 ? { type: "object", required, properties } : { type: "object", properties };
  return create("Object", keywords, options);
}

export function Tuple(types, options) {
  return create("Tuple", { type: "array", additionalItems: false, items: types, minItems: types.length }, options);
}

/** Returns the values of a list of values or of a TypeScript enum (whose number members also map back to names). */
export function enumValues(value) {
  if (Array.isArray(value)) return value;
  return Object.keys(value)
    .filter((key) => Number.isNaN(Number(key)))
    .map((key) => value[key]);
}

export const Enum = (value, options) => create("Enum", { enum: enumValues(value) }, options);

/** Returns a reference; 0.34 also takes a type with an `$id`. */
export function Ref(target, options) {
  if (isObjectLike(target)) {
    if (typeof target.$id !== "string") throw new Error("Reference target type must specify an $id");
    return create("Ref", { $ref: target.$id }, options);
  }
  return create("Ref", { $ref: target }, options);
}

export function Cyclic($defs, $ref, options) {
  const definitions = {};
  for (const key of Object.keys($defs)) definitions[key] = update($defs[key], {}, { $id: key });
  return create("Cyclic", { $defs: definitions, $ref }, options);
}

let recursiveTypes = 0;

/** Returns a type that can contain itself (0.34): `callback` gets the type to use where it does. */
export function Recursive(callback, options = {}) {
  const $id = options.$id ?? `T${recursiveTypes++}`;
  const inner = callback(create("This", { $ref: $id }));
  return update(inner, {}, { ...options, $id });
}

/** Returns a type that the caller describes; a `Kind` among its keys is a kind of TypeRegistry (0.34). */
export function Unsafe(schema = {}) {
  const marks = { "~unsafe": null };
  const result = update(schema, marks);
  const custom = Object.getOwnPropertyDescriptor(schema, Kind);
  return custom?.enumerable ? update(result, { "~kind": custom.value }) : result;
}

export const FunctionType = (parameters, returnType, options) => create("Function", { type: "function", parameters, returnType }, options);
export const Constructor = (parameters, instanceType, options) =>
  create("Constructor", { type: "constructor", parameters, instanceType }, options);
export const PromiseType = (item, options) => create("Promise", { type: "Promise", item }, options);
export const IteratorType = (items, options) => create("Iterator", { type: "Iterator", items }, options);
export const AsyncIterator = (items, options) => create("AsyncIterator", { type: "AsyncIterator", items }, options);

export const Identifier = (name) => create("Identifier", { name });
export const Infer = (name, bound = UnknownType()) => create("Infer", { type: "infer", name, extends: bound });
export const Parameter = (name, bound = UnknownType(), equals = bound) => create("Parameter", { name, extends: bound, equals });
export const Generic = (parameters, expression) => create("Generic", { type: "generic", parameters, expression });
export const Rest = (items) => create("Rest", { type: "rest", items });
export const Argument = (index) => create("Argument", { index });
export const Dependent = (condition, then, otherwise, options) =>
  create("Dependent", { if: condition, then, else: otherwise }, options);

/** Returns the type marked optional; `false` takes the mark away (0.34). */
export function Optional(type, enable = true) {
  return enable ? update(type, { "~optional": true }) : without(type, ["~optional"]);
}

/** Returns the type marked read-only; `false` takes the mark away (0.34). */
export function Readonly(type, enable = true) {
  return enable ? update(type, { "~readonly": true }) : without(type, ["~readonly"]);
}

export const ReadonlyOptional = (type) => Readonly(Optional(type));
export const Immutable = (type) => update(type, { "~immutable": true });
export const With = (type, options) => update(type, {}, options);

/** Returns a copy of a type that shares nothing with it. */
export function cloneType(type) {
  if (!isObjectLike(type) || type instanceof RegExp || type instanceof Date) return type;
  const result = copy(type);
  for (const key of Reflect.ownKeys(result)) {
    const descriptor = Object.getOwnPropertyDescriptor(result, key);
    if (!("value" in descriptor) || !descriptor.configurable || !isObjectLike(descriptor.value)) continue;
    Object.defineProperty(result, key, { ...descriptor, value: cloneType(descriptor.value) });
  }
  return result;
}

export class EncodeBuilder {
  constructor(type, decode) {
    this.type = type;
    this.decode = decode;
  }

  Encode(callback) {
    const inner = codecOf(this.type);
    const decode = inner ? (value) => this.decode(inner.decode(value)) : this.decode;
    const encode = inner ? (value) => inner.encode(callback(value)) : callback;
    const result = update(this.type, { "~codec": { decode, encode } });
    Object.defineProperty(result, TransformKind, { value: { Decode: decode, Encode: encode }, configurable: true });
    return result;
  }
}

export class DecodeBuilder {
  constructor(type) {
    this.type = type;
  }

  Decode(callback) {
    return new EncodeBuilder(this.type, callback);
  }
}

function notImplemented(direction) {
  return () => {
    throw new Error(`${direction} not implemented`);
  };
}

export const Codec = (type) => new DecodeBuilder(type);
export const Decode = (type, callback) => Codec(type).Decode(callback).Encode(notImplemented("Encode"));
export const Encode = (type, callback) => Codec(type).Decode(notImplemented("Decode")).Encode(callback);

/** Returns the type with a further check by a function. */
export function Refine(type, check, error = () => "Refine Error") {
  const message = typeof error === "function" ? error : () => String(error);
  return update(type, { "~refine": [...refinementsOf(type), { check, error: message }] });
}

/** Returns the checks that `Refine` added. */
export function refinementsOf(type) {
  const list = isObjectLike(type) ? type["~refine"] : undefined;
  return Array.isArray(list) ? list : [];
}

/** Returns the type of a constant value, with read-only members (0.34). */
export function Const(value, options) {
  const type = constType(value, true);
  return options ? update(type, {}, options) : type;
}

function constType(value, root) {
  if (isLiteralValue(value)) return Literal(value);
  if (value === null) return NullType();
  if (value === undefined) return UndefinedType();
  if (typeof value === "symbol") return SymbolType();
  if (typeof value === "function") return FunctionType([], UnknownType());
  if (value instanceof Date) return DateType();
  if (value instanceof Uint8Array) return Uint8ArrayType();
  if (Array.isArray(value)) return Readonly(Tuple(value.map((element) => constType(element, false))));
  const properties = {};
  for (const key of Object.keys(value)) properties[key] = Readonly(constType(value[key], false));
  const type = ObjectType(properties);
  return root ? type : Readonly(type);
}

/** Returns whether a type is a reference or waits for one. */
export function isPending(type) {
  const kind = kindOf(type);
  if (kind === "Ref" || kind === "Deferred") return true;
  return kind === "Rest" && isPending(type.items);
}
