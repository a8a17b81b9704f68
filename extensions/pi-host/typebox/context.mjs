// The types that references mean while a value is walked, and the orders in which callers pass them.

import { isObjectLike, isRecordLike, kindOf, put } from "./kind.mjs";

/** Returns the context inside of `type`: a type with an identifier or with definitions can be referred to from within. */
export function enter(context, type) {
  const kind = kindOf(type);
  if (kind === "Cyclic" || kind === "Import") return { ...context, ...type.$defs };
  if (typeof type.$id === "string" && context[type.$id] !== type) return { ...context, [type.$id]: type };
  return context;
}

/** Returns the type that a type with `$ref` means, or undefined. */
export function target(context, type) {
  return typeof type.$ref === "string" && Object.hasOwn(context, type.$ref) ? context[type.$ref] : undefined;
}

/** Returns whether a type only stands for another one. */
export function isReference(type) {
  return ["Ref", "This", "Cyclic", "Import"].includes(kindOf(type));
}

function byIdentifier(references) {
  const context = {};
  for (const type of references) if (isObjectLike(type) && typeof type.$id === "string") put(context, type.$id, type);
  return context;
}

/** Returns `[context, type, value]` of `(type, value)`, of 1.x' `(context, type, value)` or of 0.34's `(type, references, value)`. */
export function matchValue(parameters) {
  const [first, second, third] = parameters;
  if (parameters.length < 3) return [{}, first, second];
  return Array.isArray(second) ? [byIdentifier(second), first, third] : [first, second, third];
}

/** Returns `[context, type]` of `(type)`, of 1.x' `(context, type)` or of 0.34's `(type, references)`. */
export function matchType(parameters) {
  const [first, second] = parameters;
  if (!isObjectLike(second)) return [{}, first];
  if (Array.isArray(second)) return [byIdentifier(second), first];
  // 0.34 also passes options as the second parameter of `Compile`; they are no type.
  const isType = kindOf(second) !== undefined || kindOf(first) === undefined;
  return isType && isRecordLike(first) ? [first, second] : [{}, first];
}
