// Differences between values, and changes by JSON pointers. Names that would reach a prototype are refused.

import { pointerTarget } from "./references.mjs";
import { deepClone, deepEqual } from "./equality.mjs";
import { isObjectLike, isRecordLike, put } from "./kind.mjs";

const UNSAFE = new Set(["__proto__", "constructor", "prototype"]);

function indices(pointer) {
  if (pointer === "") return [];
  const parts = pointer.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return parts[0] === "" ? parts.slice(1) : parts;
}

function parentOf(value, pointer) {
  const path = indices(pointer);
  if (path.length === 0) throw new Error("Cannot set root");
  if (path.some((part) => UNSAFE.has(part))) throw new Error("Pointer contains unsafe property key");
  let parent = value;
  for (const part of path.slice(0, -1)) parent = isObjectLike(parent) ? parent[part] : undefined;
  if (!isObjectLike(parent)) throw new Error("Cannot set value");
  return { parent, key: path.at(-1) };
}

function normalized(pointer) {
  return pointer === "" || pointer.startsWith("/") ? pointer : `/${pointer}`;
}

/** Reads and changes values at JSON pointers. */
export const Pointer = {
  Indices: indices,
  *Format(pointer) {
    yield* indices(pointer);
  },
  Get: (value, pointer) => pointerTarget(value, normalized(pointer)),
  Has(value, pointer) {
    let current = value;
    for (const part of indices(pointer)) {
      if (!isObjectLike(current) || !Object.hasOwn(current, part)) return false;
      current = current[part];
    }
    return true;
  },
  Set(value, pointer, next) {
    const { parent, key } = parentOf(value, pointer);
    parent[key] = next;
    return value;
  },
  Delete(value, pointer) {
    const { parent, key } = parentOf(value, pointer);
    if (Array.isArray(parent) && /^(0|[1-9]\d*)$/.test(key)) parent.splice(Number(key), 1);
    else delete parent[key];
    return value;
  },
};

const escape = (key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

function assertNoSymbols(value) {
  if (Object.getOwnPropertySymbols(value).length > 0) throw new Error("Cannot create diffs for objects with symbols keys");
}

function* differences(path, left, right) {
  if (Array.isArray(left) && Array.isArray(right)) yield* arrayDifferences(path, left, right);
  else if (isRecordLike(left) && isRecordLike(right) && !ArrayBuffer.isView(left)) yield* objectDifferences(path, left, right);
  else if (!deepEqual(left, right)) yield { type: "update", path, value: right };
}

function* objectDifferences(path, left, right) {
  assertNoSymbols(left);
  assertNoSymbols(right);
  const safeKeys = (value) => Object.keys(value).filter((key) => !UNSAFE.has(key));
  for (const key of safeKeys(right)) {
    if (!Object.hasOwn(left, key)) yield { type: "insert", path: `${path}/${escape(key)}`, value: right[key] };
  }
  for (const key of safeKeys(left)) {
    if (Object.hasOwn(right, key)) yield* differences(`${path}/${escape(key)}`, left[key], right[key]);
  }
  for (const key of safeKeys(left)) {
    if (!Object.hasOwn(right, key)) yield { type: "delete", path: `${path}/${escape(key)}` };
  }
}

function* arrayDifferences(path, left, right) {
  const common = Math.min(left.length, right.length);
  for (let index = 0; index < common; index += 1) yield* differences(`${path}/${index}`, left[index], right[index]);
  for (let index = common; index < right.length; index += 1) yield { type: "insert", path: `${path}/${index}`, value: right[index] };
  for (let index = left.length - 1; index >= common; index -= 1) yield { type: "delete", path: `${path}/${index}` };
}

/** Returns the edits that turn `current` into `next`. */
export function diff(current, next) {
  return [...differences("", current, next)];
}

/** Returns a copy of `current` with the edits applied. */
export function patch(current, edits) {
  if (edits[0]?.path === "" && edits[0].type === "update") return deepClone(edits[0].value);
  const result = deepClone(current);
  for (const edit of edits) {
    if (edit.type === "delete") Pointer.Delete(result, edit.path);
    else Pointer.Set(result, edit.path, deepClone(edit.value));
  }
  return result;
}

export class ValueMutateError extends Error {}

/** Changes `current` in place so that it equals `next`, keeping its objects where it can. */
export function mutate(current, next) {
  const matching = (isRecordLike(current) && isRecordLike(next)) || (Array.isArray(current) && Array.isArray(next));
  if (!matching) throw new ValueMutateError("Only object and array types can be mutated at the root level");
  if (Array.isArray(next)) current.length = next.length;
  else for (const key of Object.keys(current)) if (!Object.hasOwn(next, key)) delete current[key];
  for (const key of Object.keys(next)) {
    const [before, after] = [Object.hasOwn(current, key) ? current[key] : undefined, next[key]];
    const inPlace = (isRecordLike(before) && isRecordLike(after)) || (Array.isArray(before) && Array.isArray(after));
    if (inPlace) mutate(before, after);
    else put(current, key, deepClone(after));
  }
}
