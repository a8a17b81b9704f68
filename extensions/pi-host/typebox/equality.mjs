// Compares, copies and hashes plain values. Cycles and deep values do no harm.

import { isObjectLike, put } from "./kind.mjs";

/** Returns whether two values have the same structure. */
export function deepEqual(left, right, active = new Map()) {
  if (left === right) return true;
  if (!isObjectLike(left) || !isObjectLike(right)) return Number.isNaN(left) && Number.isNaN(right);
  if (active.get(left) === right) return true;
  active.set(left, right);
  try {
    return equalObjects(left, right, active);
  } finally {
    active.delete(left);
  }
}

function equalObjects(left, right, active) {
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  if (left instanceof Date || right instanceof Date) {
    return left instanceof Date && right instanceof Date && left.getTime() === right.getTime();
  }
  if (left instanceof Set || left instanceof Map) {
    if (left.constructor !== right.constructor || left.size !== right.size) return false;
    return deepEqual([...left], [...right], active);
  }
  if (ArrayBuffer.isView(left) && left.constructor !== right.constructor) return false;
  const keys = Reflect.ownKeys(left).filter((key) => Object.prototype.propertyIsEnumerable.call(left, key));
  const others = Reflect.ownKeys(right).filter((key) => Object.prototype.propertyIsEnumerable.call(right, key));
  if (keys.length !== others.length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && deepEqual(left[key], right[key], active));
}

/** Returns a copy that shares no object or array with `value`. Objects of classes are kept as they are. */
export function deepClone(value, copies = new Map()) {
  if (!isObjectLike(value)) return value;
  if (copies.has(value)) return copies.get(value);
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof Map || value instanceof Set) return cloneCollection(value, copies);
  if (ArrayBuffer.isView(value)) return value instanceof DataView ? value : value.slice();
  if (Array.isArray(value)) {
    const result = [];
    copies.set(value, result);
    for (const element of value) result.push(deepClone(element, copies));
    return result;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const result = {};
  copies.set(value, result);
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor.enumerable) put(result, key, deepClone(value[key], copies));
    // The marks of a schema are not enumerable, and are to survive.
    else if ("value" in descriptor) Object.defineProperty(result, key, { ...descriptor, configurable: true });
  }
  return result;
}

function cloneCollection(value, copies) {
  const result = new value.constructor();
  copies.set(value, result);
  for (const element of value) {
    if (value instanceof Map) result.set(deepClone(element[0], copies), deepClone(element[1], copies));
    else result.add(deepClone(element, copies));
  }
  return result;
}

/** Returns a text that is the same for values of the same structure. */
export function canonical(value, active = []) {
  if (!isObjectLike(value)) {
    if (typeof value === "string") return JSON.stringify(value);
    return `${typeof value}:${String(Object.is(value, -0) ? 0 : value)}`;
  }
  if (active.includes(value)) return `cycle:${active.length - active.indexOf(value)}`;
  const inner = [...active, value];
  if (value instanceof Date) return `Date:${value.getTime()}`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}:${Array.from(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))}`;
  if (value instanceof Map || value instanceof Set) return `${value.constructor.name}${canonical([...value], inner)}`;
  if (Array.isArray(value)) return `[${value.map((element) => canonical(element, inner)).join(",")}]`;
  const entries = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key], inner)}`);
  return `{${entries.join(",")}}`;
}

const FNV_PRIME = 0x100000001b3n;
const FNV_OFFSET = 0xcbf29ce484222325n;

/** Returns a 64-bit hash of a value's structure as 16 hexadecimal digits. */
export function hash(value) {
  let result = FNV_OFFSET;
  for (const byte of new TextEncoder().encode(canonical(value))) {
    result = BigInt.asUintN(64, (result ^ BigInt(byte)) * FNV_PRIME);
  }
  return result.toString(16).padStart(16, "0");
}
