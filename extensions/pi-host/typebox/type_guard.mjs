// Answers what kind of type a schema is.

import { isLiteralValue, refinementsOf } from "./basic_types.mjs";
import { codecOf, isKind, isObjectLike, isOptional, isReadonly, isRecordLike, kindOf, Kind } from "./kind.mjs";
import { templateStrings } from "./template_literal.mjs";

const KINDS = [
  "Any", "Argument", "Array", "AsyncIterator", "BigInt", "Boolean", "Call", "Computed", "Constructor", "Cyclic", "Date", "Deferred", "Dependent",
  "Enum", "Function", "Generic", "Identifier", "Import", "Infer", "Integer", "Intersect", "Iterator", "Literal", "MappedKey", "MappedResult",
  "Never", "Not", "Null", "Number", "Object", "Parameter", "Promise", "Record", "Ref", "RegExp", "Rest", "String", "Symbol", "TemplateLiteral",
  "This", "Tuple", "Uint8Array", "Undefined", "Union", "Unknown", "Void",
];

/** The guards `IsString(type)` … of all kinds. */
export const guards = {};
for (const kind of KINDS) guards[`Is${kind}`] = (type) => isKind(type, kind);

const literalOf = (typeName) => (type) => isKind(type, "Literal") && typeof type.const === typeName;

Object.assign(guards, {
  IsKind: (type, kind) => (kind === undefined ? kindOf(type) !== undefined : isKind(type, kind)),
  IsKindOf: isKind,
  IsSchema: (value) => isObjectLike(value),
  IsOptional: isOptional,
  IsReadonly: isReadonly,
  IsImmutable: (type) => isObjectLike(type) && "~immutable" in type,
  IsCodec: (type) => codecOf(type) !== undefined,
  IsTransform: (type) => codecOf(type) !== undefined,
  IsRefine: (type) => refinementsOf(type).length > 0,
  IsRefinement: (value) => isRecordLike(value) && typeof value.check === "function" && typeof value.error === "function",
  IsUnsafe: (type) => isRecordLike(type) && ("~unsafe" in type || type[Kind] === "Unsafe"),
  IsEnumValue: (value) => typeof value === "string" || typeof value === "number",
  IsTypeScriptEnumLike: isRecordLike,
  IsLiteralValue: isLiteralValue,
  IsLiteralString: literalOf("string"),
  IsLiteralNumber: literalOf("number"),
  IsLiteralBoolean: literalOf("boolean"),
  IsLiteralBigInt: literalOf("bigint"),
  IsUnionLiteral: (type) => isKind(type, "Union") && type.anyOf.every(literalOf("string")),
  IsProperties: isRecordLike,
  IsRecursive: (type) => isObjectLike(type) && typeof type.$id === "string" && kindOf(type) !== undefined,
  IsTemplateLiteralFinite: (type) => templateStrings(type) !== undefined,
});

/** Guards over types, as 0.34 names them. */
export const TypeGuard = { ...guards };

/** Guards over kinds, as 0.34 names them. */
export const KindGuard = { ...guards };

const typedArray = (name) => (value) => globalThis.Object.prototype.toString.call(value) === `[object ${name}]`;
const TYPED_ARRAYS = [
  "BigInt64Array", "BigUint64Array", "Float32Array", "Float64Array", "Int8Array", "Int16Array", "Int32Array",
  "Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array",
];

/** Guards over plain values. */
export const ValueGuard = {
  HasPropertyKey: (value, key) => isObjectLike(value) && key in value,
  IsArray: globalThis.Array.isArray,
  IsAsyncIterator: (value) => isObjectLike(value) && globalThis.Symbol.asyncIterator in value,
  IsBigInt: (value) => typeof value === "bigint",
  IsBoolean: (value) => typeof value === "boolean",
  IsDate: (value) => value instanceof globalThis.Date && Number.isFinite(value.getTime()),
  IsFunction: (value) => typeof value === "function",
  IsInstanceObject: (value) => isRecordLike(value) && typeof value.constructor === "function" && value.constructor.name !== "Object",
  IsInteger: (value) => Number.isInteger(value),
  IsIterator: (value) => isObjectLike(value) && globalThis.Symbol.iterator in value,
  IsMap: (value) => value instanceof Map,
  IsNull: (value) => value === null,
  IsNumber: (value) => typeof value === "number",
  IsObject: isObjectLike,
  IsPromise: (value) => value instanceof globalThis.Promise,
  IsRegExp: (value) => value instanceof globalThis.RegExp,
  IsSet: (value) => value instanceof Set,
  IsStandardObject: (value) => {
    if (!isRecordLike(value)) return false;
    const prototype = Object.getPrototypeOf(value);
    return prototype === Object.prototype || prototype === null;
  },
  IsString: (value) => typeof value === "string",
  IsSymbol: (value) => typeof value === "symbol",
  IsTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  IsUndefined: (value) => value === undefined,
  IsValueType: (value) => value === null || ["bigint", "boolean", "number", "string", "symbol", "undefined"].includes(typeof value),
};
for (const name of TYPED_ARRAYS) ValueGuard[`Is${name}`] = typedArray(name);
