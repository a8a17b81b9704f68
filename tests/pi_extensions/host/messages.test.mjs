// Messages that extensions leave incomplete, as pi lets them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { messageChanges } from "../../../extensions/pi-host/host/message_changes.mjs";
import { completeMessage } from "../../../extensions/pi-host/session/messages.mjs";

test("what bowline requires of a message is filled in", () => {
  const { timestamp, ...user } = completeMessage({ role: "user", content: "x" });
  assert.deepEqual(user, { role: "user", content: [{ type: "text", text: "x" }] });
  assert.ok(Math.abs(timestamp - Date.now()) < 5000);
  assert.deepEqual(completeMessage({ role: "assistant", content: [], timestamp: 1.6 }), { role: "assistant", content: [], timestamp: 2 });
  const { toolName, isError } = completeMessage({ role: "toolResult", toolCallId: "t", content: [] });
  assert.deepEqual([toolName, isError], ["", false]);
  assert.deepEqual(completeMessage({ role: "custom", customType: "c", content: "stays", timestamp: 1 }).content, "stays");
});

test("messages that are no part of a conversation are left out of a changed context", () => {
  const user = { role: "user", content: [], timestamp: 1 };
  const before = [JSON.stringify(user)];
  assert.equal(messageChanges(before, [user, { role: "system", content: "s" }, null, { role: "other" }]), null);
  const added = { role: "user", content: "new", timestamp: 2 };
  const { patch } = messageChanges(before, [user, added]);
  assert.deepEqual(patch, [{ op: "insert", index: 1, message: { ...added, content: [{ type: "text", text: "new" }] } }]);
});
