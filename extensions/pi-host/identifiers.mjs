// Identifiers: UUIDs that sort by time, and the short ids of session entries.

import { randomBytes, randomUUID } from "node:crypto";

const LAST_TIMESTAMP = 2 ** 48 - 1;
let latest = -1;
let counter = randomBytes(4).readUInt32BE() & 0x3ffffff;

/** Returns a UUID of version 7. Those of one process rise strictly, also within a millisecond. */
export function uuidv7(timestamp) {
  let time = timestamp ?? Date.now();
  if (!Number.isInteger(time) || time < 0 || time > LAST_TIMESTAMP) {
    throw new RangeError(`The timestamp of a UUIDv7 is an integer between 0 and ${LAST_TIMESTAMP}`);
  }
  if (timestamp === undefined) {
    // The 26 bits of the counter may run over; the time then moves on so that the order holds.
    time = Math.max(time, latest);
    counter += 1;
    if (counter > 0x3ffffff) {
      counter = 0;
      time += 1;
    }
    latest = time;
  }
  const bytes = randomBytes(16);
  bytes.writeUIntBE(time, 0, 6);
  const sequence = timestamp === undefined ? counter : bytes.readUInt32BE(6) & 0x3ffffff;
  bytes[6] = 0x70 | (sequence >>> 22);
  bytes[7] = (sequence >>> 14) & 0xff;
  bytes[8] = 0x80 | ((sequence >>> 8) & 0x3f);
  bytes[9] = sequence & 0xff;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Returns eight hexadecimal digits that `taken` does not have. */
export function entryId(taken) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const id = randomBytes(4).toString("hex");
    if (!taken.has(id)) return id;
  }
  return randomUUID();
}
