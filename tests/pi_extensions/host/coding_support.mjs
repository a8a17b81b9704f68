// A host that the modules of `coding/` can be tested with, and folders for their files.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bridge } from "../../../extensions/pi-host/bridge.mjs";

/** Puts values into the bridge for the time of a test. */
export function withBridge(test, values) {
  const before = { ...bridge };
  Object.assign(bridge, values);
  test.after(() => {
    for (const key of Object.keys(bridge)) delete bridge[key];
    Object.assign(bridge, before);
  });
}

/** Returns a new folder with these files, which is removed after the test. */
export function folder(test, files = {}) {
  const root = mkdtempSync(join(tmpdir(), "pi-host-"));
  test.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

export const textOf = (result) => result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
