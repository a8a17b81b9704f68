// `typebox/value` and `@sinclair/typebox/value` for pi's extensions.

import { CreateError } from "../typebox/defaults.mjs";
import { ValueMutateError } from "../typebox/delta.mjs";
import { RepairError } from "../typebox/repair.mjs";
import { Type, ValueGuard } from "../typebox/type.mjs";
import { Value } from "../typebox/value.mjs";

export { Value };
export default Value;

export { CreateError, RepairError, ValueMutateError };
export {
  AssertError, DecodeError, DecodeError as TransformDecodeCheckError, EncodeError, EncodeError as TransformEncodeCheckError, ParseError,
} from "../typebox/value.mjs";
export { ValueErrorType } from "../typebox/messages.mjs";
export const ValueCastError = RepairError;
export const ValueCreateError = CreateError;
export const {
  Assert, Cast, Check, Clean, Clone, Convert, Create, Decode, DecodeUnsafe, Default, Diff, Encode, EncodeUnsafe, Equal, Errors, HasCodec, Hash,
  Mutate, Parse, Parser, Patch, Pipeline, Pointer, Repair,
} = Value;
export const HasTransform = Value.HasCodec;
export const ValuePointer = Value.Pointer;
export const TransformDecode = Value.DecodeUnsafe;
export const TransformEncode = Value.EncodeUnsafe;
export const {
  HasPropertyKey, IsArray, IsAsyncIterator, IsBigInt, IsBigInt64Array, IsBigUint64Array, IsBoolean, IsDate, IsFloat32Array, IsFloat64Array,
  IsFunction, IsInstanceObject, IsInt16Array, IsInt32Array, IsInt8Array, IsInteger, IsIterator, IsMap, IsNull, IsNumber, IsObject, IsPromise,
  IsRegExp, IsSet, IsStandardObject, IsString, IsSymbol, IsTypedArray, IsUint16Array, IsUint32Array, IsUint8Array, IsUint8ClampedArray,
  IsUndefined, IsValueType,
} = ValueGuard;

/** The types of the edits that `Diff` returns. */
export const Insert = Type.Object({ type: Type.Literal("insert"), path: Type.String(), value: Type.Unknown() });
export const Update = Type.Object({ type: Type.Literal("update"), path: Type.String(), value: Type.Unknown() });
export const Delete = Type.Object({ type: Type.Literal("delete"), path: Type.String() });
export const Edit = Type.Union([Insert, Update, Delete]);
