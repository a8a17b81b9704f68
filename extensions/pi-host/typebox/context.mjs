// The types that references mean while a value is walked, and the orders in which callers pass them.

import { isObjectLike, isRecordLike, kindOf, put } from "./kind.mjs";

/** The context of a type that nothing was supplied for. */
export const EMPTY = Object.freeze({});

// Contexts that only come from types, each with those inside of it. What a caller supplies may change between two calls and is not kept.
const derived = new WeakMap([[EMPTY, new WeakMap()]]);

/** Returns whether a context stays as it is, so that results about it can be kept. */
export function isStable(context) {
  return derived.has(context);
}

/** Returns the context inside of `type`: a type with an identifier or with definitions can be referred to from within. */
export function enter(context, type) {
  const kind = kindOf(type);
  const defines = kind === "Cyclic" || kind === "Import";
  if (!defines && (typeof type.$id !== "string" || context[type.$id] === type)) return context;
  const known = derived.get(context)?.get(type);
  if (known !== undefined) return known;
  const inside = defines ? { ...context, ...type.$defs } : { ...context, [type.$id]: type };
  if (derived.has(context)) {
    derived.get(context).set(type, inside);
    derived.set(inside, new WeakMap());
  }
  return inside;
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
  if (parameters.length < 3) return [EMPTY, first, second];
  return Array.isArray(second) ? [byIdentifier(second), first, third] : [first, second, third];
}

/** Returns `[context, type]` of `(type)`, of 1.x' `(context, type)` or of 0.34's `(type, references)`. */
export function matchType(parameters) {
  const [first, second] = parameters;
  if (!isObjectLike(second)) return [EMPTY, first];
  if (Array.isArray(second)) return [byIdentifier(second), first];
  // 0.34 also passes options as the second parameter of `Compile`; they are no type.
  const isType = kindOf(second) !== undefined || kindOf(first) === undefined;
  return isType && isRecordLike(first) ? [first, second] : [EMPTY, first];
}
