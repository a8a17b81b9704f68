// Writes a file over operations that an extension gives.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { resolveToCwd } from "../../paths.mjs";
import { withFileMutationQueue } from "../file_queue.mjs";
import { throwIfAborted } from "./abort.mjs";

const files = {
  writeFile: (path, content) => writeFile(path, content, "utf8"),
  mkdir: (folder) => mkdir(folder, { recursive: true }),
};

/** Creates or replaces a file. A cancelled call ends between two steps: the next change of the file must not overtake it. */
export function write({ path, content }, { cwd, options, signal }) {
  const operations = options.operations ?? files;
  const file = resolveToCwd(path, cwd);
  return withFileMutationQueue(file, async () => {
    throwIfAborted(signal);
    await operations.mkdir(dirname(file));
    throwIfAborted(signal);
    await operations.writeFile(file, content);
    throwIfAborted(signal);
    return { content: [{ type: "text", text: `Successfully wrote to ${path}` }], details: undefined };
  });
}
