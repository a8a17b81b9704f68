// How messages differ from what they were.

import { completeMessage } from "../session/messages.mjs";

/** Tells whether a value is still what it was as JSON. */
export function sameJson(before, value) {
  return before === JSON.stringify(value);
}

/** Returns how to get from messages (as JSON) to others: a patch, or all of them if that is shorter; `null` if they are the same. */
export function messageChanges(before, after) {
  const kept = after.filter((message) => completeMessage(message) !== undefined);
  const messages = kept.map(completeMessage);
  const texts = kept.map((message) => JSON.stringify(message));
  const shorter = Math.min(before.length, texts.length);
  let start = 0;
  while (start < shorter && before[start] === texts[start]) start += 1;
  if (start === before.length && start === texts.length) return null;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === texts.at(-1 - end)) end += 1;

  const patch = [];
  const removed = before.length - start - end;
  const added = texts.length - start - end;
  for (let offset = 0; offset < Math.min(removed, added); offset += 1) {
    const index = start + offset;
    if (before[index] !== texts[index]) patch.push({ op: "replace", index, message: messages[index] });
  }
  for (let index = start + added; index < start + removed; index += 1) patch.push({ op: "remove", index: start + added });
  for (let index = start + removed; index < start + added; index += 1) {
    patch.push({ op: "insert", index, message: messages[index] });
  }
  // A patch that carries nearly everything is no shorter.
  return patch.filter(({ op }) => op !== "remove").length < texts.length ? { patch } : { messages };
}
