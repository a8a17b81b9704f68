// `typebox/guard` for pi's extensions: guards over plain values.

import { deepEqual } from "../typebox/equality.mjs";
import { has, isRecordLike } from "../typebox/kind.mjs";
import { isMultipleOf } from "../typebox/keywords.mjs";
import { textLength } from "../typebox/text_length.mjs";
import { ValueGuard } from "../typebox/type.mjs";

export const GlobalsGuard = { ...ValueGuard, IsTypeArray: ValueGuard.IsTypedArray };
export const Guard = {
  ...ValueGuard,
  Entries: (value) => Object.entries(value),
  HasPropertyKey: has,
  IsDeepEqual: (left, right) => deepEqual(left, right),
  IsEqual: (left, right) => left === right,
  IsMaxLength: (text, length) => textLength(text) <= length,
  IsMinLength: (text, length) => textLength(text) >= length,
  IsMultipleOf: isMultipleOf,
  IsNumber: Number.isFinite,
  IsObjectNotArray: isRecordLike,
  Keys: (value) => Object.getOwnPropertyNames(value),
  Symbols: (value) => Object.getOwnPropertySymbols(value),
  Values: (value) => Object.values(value),
};
export default Guard;
