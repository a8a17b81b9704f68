// `typebox` and `@sinclair/typebox` for pi's extensions. Values, validators and formats are further modules, so that `Type` alone loads fast.

import * as actions from "../typebox/actions.mjs";
import * as basic from "../typebox/basic_types.mjs";
import { evaluate } from "../typebox/evaluate.mjs";
import { Type } from "../typebox/type.mjs";

export { Type };
export default Type;

export { Hint, Kind, OptionalKind, ReadonlyKind, TransformKind } from "../typebox/kind.mjs";
export { FormatRegistry, TypeRegistry } from "../typebox/settings.mjs";
export { KindGuard, TypeGuard, ValueGuard } from "../typebox/type.mjs";
export {
  BigIntPattern, InvalidLiteralValue, IntegerPattern, NeverPattern, NumberPattern, StringPattern,
} from "../typebox/basic_types.mjs";

export class TypeBoxError extends Error {}

/** `new JavaScriptTypeBuilder()` of 0.34: an object with all builders. */
export class JavaScriptTypeBuilder {
  constructor() {
    Object.assign(this, Type);
  }
}
export const JsonTypeBuilder = JavaScriptTypeBuilder;

export const Clone = basic.cloneType;
export const CloneType = (type, options) => basic.With(basic.cloneType(type), options ?? {});
export const CreateType = (schema) => schema;
export const IntegerKey = `^${basic.IntegerPattern}$`;
export const NumberKey = `^${basic.NumberPattern}$`;
export const StringKey = `^${basic.StringPattern}$`;
export const PatternBoolean = "(true|false)";
export const PatternNumber = basic.NumberPattern;
export const PatternString = basic.StringPattern;
export const PatternNever = basic.NeverPattern;
export const PatternBooleanExact = `^${PatternBoolean}$`;
export const PatternNumberExact = NumberKey;
export const PatternStringExact = StringKey;
export const PatternNeverExact = `^${PatternNever}$`;
export const RecordFromPattern = actions.recordFromPattern;
export const TransformDecodeBuilder = basic.DecodeBuilder;
export const TransformEncodeBuilder = basic.EncodeBuilder;
export const TypeScriptEnumToEnumValues = basic.enumValues;
export const UnionEvaluated = (types, options) => basic.With(evaluate(basic.Union(types)), options ?? {});
export const IntersectEvaluated = (types, options) => basic.With(evaluate(basic.Intersect(types)), options ?? {});
export const RequiredArray = (properties) => basic.ObjectType(properties).required ?? [];
export const PropertyKeys = (properties) => Object.keys(properties);
export const PropertyValues = (properties) => Object.values(properties);

// Every builder and guard of `Type` is an export of its own too.
export const {
  Any, Argument, AsyncIterator, Awaited, Call, Capitalize, Codec, Composite, Conditional, Const, Constructor, ConstructorParameters, Cyclic,
  Decode, DecodeBuilder, Dependent, Encode, EncodeBuilder, Enum, Evaluate, Exclude, Extends, Extract, Generic, Identifier, Immutable, Index,
  Infer, InstanceType, Instantiate, Integer, Interface, Intersect, KeyOf, Literal, Lowercase, Mapped, Module, Never, NonNullable, Not, Null,
  Omit, Optional, Parameter, Parameters, Partial, Pick, Readonly, ReadonlyObject, ReadonlyOptional, ReadonlyType, Record, RecordKey,
  RecordPattern, RecordValue, Recursive, Ref, Refine, Required, Rest, ReturnType, TemplateLiteral, This, Transform, Tuple, Uncapitalize,
  Undefined, Union, Unknown, Unsafe, Uppercase, Void, With, IsAny, IsArgument, IsArray, IsAsyncIterator, IsBigInt, IsBoolean, IsCall,
  IsComputed, IsConstructor, IsCyclic, IsDate, IsDeferred, IsDependent, IsEnum, IsFunction, IsGeneric, IsIdentifier, IsImport, IsInfer,
  IsInteger, IsIntersect, IsIterator, IsLiteral, IsMappedKey, IsMappedResult, IsNever, IsNot, IsNull, IsNumber, IsObject, IsParameter,
  IsPromise, IsRecord, IsRef, IsRegExp, IsRest, IsString, IsSymbol, IsTemplateLiteral, IsThis, IsTuple, IsUint8Array, IsUndefined, IsUnion,
  IsUnknown, IsVoid, IsKind, IsKindOf, IsSchema, IsOptional, IsReadonly, IsImmutable, IsCodec, IsTransform, IsRefine, IsRefinement,
  IsUnsafe, IsEnumValue, IsTypeScriptEnumLike, IsLiteralValue, IsLiteralString, IsLiteralNumber, IsLiteralBoolean, IsLiteralBigInt,
  IsUnionLiteral, IsProperties, IsRecursive, IsTemplateLiteralFinite,
} = Type;
const {
  Array: ArrayType, Boolean: BooleanType, BigInt: BigIntType, Date: DateType, Function: FunctionType, Iterator: IteratorType,
  Number: NumberType, Object: ObjectType, Promise: PromiseType, RegExp: RegExpType, String: StringType, Symbol: SymbolType,
  Uint8Array: Uint8ArrayType,
} = Type;
export {
  ArrayType as Array, BooleanType as Boolean, BigIntType as BigInt, DateType as Date, FunctionType as Function, IteratorType as Iterator,
  NumberType as Number, ObjectType as Object, PromiseType as Promise, RegExpType as RegExp, StringType as String, SymbolType as Symbol,
  Uint8ArrayType as Uint8Array,
};
export { ArrayType as _Array_, FunctionType as _Function_, ObjectType as _Object_ };
