// `typebox/system` and `@sinclair/typebox/system` for pi's extensions.

import { hash } from "../typebox/equality.mjs";
import { englishMessage, getErrorFunction, setErrorFunction } from "../typebox/messages.mjs";
import { FormatRegistry, Settings, TypeRegistry } from "../typebox/settings.mjs";
import { Type } from "../typebox/type.mjs";
import { Kind } from "../typebox/kind.mjs";

export { Settings };
export const Hashing = { Hash: hash, HashCode: (value) => BigInt(`0x${hash(value)}`) };
export const Environment = { CanAccelerate: () => false };
export const Locale = { en_US: englishMessage, Get: getErrorFunction, Set: setErrorFunction, Reset: () => setErrorFunction(englishMessage) };
export class TypeSystemDuplicateTypeKind extends Error {}
export class TypeSystemDuplicateFormat extends Error {}

/** The policy of 0.34. Only `ExactOptionalPropertyTypes` has an effect. */
export const TypeSystemPolicy = {
  InstanceMode: "default",
  AllowArrayObject: false,
  AllowNaN: false,
  AllowNullVoid: false,
  get ExactOptionalPropertyTypes() {
    return Settings.Get().exactOptionalPropertyTypes;
  },
  set ExactOptionalPropertyTypes(value) {
    Settings.Set({ exactOptionalPropertyTypes: value });
  },
};

/** Registers kinds and formats (0.34). */
export const TypeSystem = {
  Type(kind, check) {
    if (TypeRegistry.Has(kind)) throw new TypeSystemDuplicateTypeKind(`Duplicate type kind '${kind}' detected`);
    TypeRegistry.Set(kind, check);
    return (options = {}) => Type.Unsafe({ ...options, [Kind]: kind });
  },
  Format(format, check) {
    if (FormatRegistry.Has(format)) throw new TypeSystemDuplicateFormat(`Duplicate string format '${format}' detected`);
    FormatRegistry.Set(format, check);
    return format;
  },
};

export const System = { Environment, Hashing, Locale, Settings };
export default System;
