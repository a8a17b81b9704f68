// `Type`: all builders under the names that extensions use, and the guards that answer what kind of type a schema is.

import * as actions from "./actions.mjs";
import * as basic from "./basic_types.mjs";
import { templateStrings } from "./evaluate.mjs";
import { codecOf, isKind, isObjectLike, isOptional, isReadonly, isRecordLike, kindOf, Kind } from "./kind.mjs";

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
  IsRefine: (type) => basic.refinementsOf(type).length > 0,
  IsRefinement: (value) => isRecordLike(value) && typeof value.check === "function" && typeof value.error === "function",
  IsUnsafe: (type) => isRecordLike(type) && ("~unsafe" in type || type[Kind] === "Unsafe"),
  IsEnumValue: (value) => typeof value === "string" || typeof value === "number",
  IsTypeScriptEnumLike: isRecordLike,
  IsLiteralValue: basic.isLiteralValue,
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

function Script() {
  throw new Error("bowline does not serve typebox: Script() to extensions.");
}

/** The builders of typebox 1.x, and those of @sinclair/typebox 0.34 that 1.x no longer has. */
export const Type = {
  Any: basic.AnyType,
  Argument: basic.Argument,
  Array: basic.ArrayType,
  AsyncIterator: basic.AsyncIterator,
  Awaited: actions.Awaited,
  BigInt: basic.BigIntType,
  Boolean: basic.BooleanType,
  Call: actions.Call,
  Capitalize: actions.Capitalize,
  Codec: basic.Codec,
  Composite: actions.Composite,
  Conditional: actions.Conditional,
  Const: basic.Const,
  Constructor: basic.Constructor,
  ConstructorParameters: actions.ConstructorParameters,
  Cyclic: basic.Cyclic,
  Date: basic.DateType,
  Decode: basic.Decode,
  DecodeBuilder: basic.DecodeBuilder,
  Dependent: basic.Dependent,
  Encode: basic.Encode,
  EncodeBuilder: basic.EncodeBuilder,
  Enum: basic.Enum,
  Evaluate: actions.Evaluate,
  Exclude: actions.Exclude,
  Extends: actions.Extends,
  Extract: actions.Extract,
  Function: basic.FunctionType,
  Generic: basic.Generic,
  Identifier: basic.Identifier,
  Immutable: basic.Immutable,
  Index: actions.Index,
  Infer: basic.Infer,
  InstanceType: actions.InstanceType,
  Instantiate: actions.Instantiate,
  Integer: basic.IntegerType,
  Interface: actions.Interface,
  Intersect: basic.Intersect,
  Iterator: basic.IteratorType,
  KeyOf: actions.KeyOf,
  Literal: basic.Literal,
  Lowercase: actions.Lowercase,
  Mapped: actions.Mapped,
  Module: actions.Module,
  Never: basic.Never,
  NonNullable: actions.NonNullable,
  Not: basic.Not,
  Null: basic.NullType,
  Number: basic.NumberType,
  Object: basic.ObjectType,
  Omit: actions.Omit,
  Optional: basic.Optional,
  Parameter: basic.Parameter,
  Parameters: actions.Parameters,
  Partial: actions.Partial,
  Pick: actions.Pick,
  Promise: basic.PromiseType,
  Readonly: basic.Readonly,
  ReadonlyObject: actions.ReadonlyObject,
  ReadonlyOptional: basic.ReadonlyOptional,
  ReadonlyType: actions.ReadonlyObject,
  Record: actions.Record,
  RecordKey: actions.recordKey,
  RecordPattern: actions.recordPattern,
  RecordValue: actions.recordValue,
  Recursive: basic.Recursive,
  Ref: basic.Ref,
  Refine: basic.Refine,
  RegExp: basic.RegExpType,
  Required: actions.Required,
  Rest: basic.Rest,
  ReturnType: actions.ReturnType,
  Script,
  String: basic.StringType,
  Symbol: basic.SymbolType,
  TemplateLiteral: actions.TemplateLiteral,
  This: basic.This,
  Transform: basic.Codec,
  Tuple: basic.Tuple,
  Uint8Array: basic.Uint8ArrayType,
  Uncapitalize: actions.Uncapitalize,
  Undefined: basic.UndefinedType,
  Union: basic.Union,
  Unknown: basic.UnknownType,
  Unsafe: basic.Unsafe,
  Uppercase: actions.Uppercase,
  Void: basic.VoidType,
  With: basic.With,
  ...guards,
};
