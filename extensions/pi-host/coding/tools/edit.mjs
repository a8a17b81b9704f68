// Edits a file over operations that an extension gives.

import { constants } from "node:fs";
import { access, readFile, writeFile } from "node:fs/promises";
import { resolveToCwd } from "../../paths.mjs";
import { editContent } from "../edit_text.mjs";
import { withFileMutationQueue } from "../file_queue.mjs";
import { generateDiffString, generateUnifiedPatch } from "../line_diff.mjs";
import { throwIfAborted } from "./abort.mjs";

const files = {
  readFile: (path) => readFile(path),
  writeFile: (path, content) => writeFile(path, content, "utf8"),
  access: (path) => access(path, constants.R_OK | constants.W_OK),
};

const isEdit = (value) => typeof value?.oldText === "string" && typeof value.newText === "string";

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns arguments in the right form: models also send one edit without a list, a list as text, or the fields of old. */
export function prepareEdits(args) {
  if (args === null || typeof args !== "object") return args;
  const { oldText, newText, ...rest } = args;
  const given = typeof args.edits === "string" ? parsed(args.edits) : args.edits;
  const edits = isEdit(given) ? [given] : given;
  const known = Array.isArray(edits) ? edits : undefined;
  if (isEdit(args)) return { ...rest, edits: [...(known ?? []), { oldText, newText }] };
  return known ? { ...args, edits: known } : args;
}

/** Replaces pieces of a file. A cancelled call ends between two steps: the next change of the file must not overtake it. */
export function edit(args, { cwd, options, signal }) {
  const { path, edits } = args;
  if (!Array.isArray(edits) || edits.length === 0) {
    throw new Error("edits has to have at least one replacement");
  }
  const operations = options.operations ?? files;
  const file = resolveToCwd(path, cwd);
  return withFileMutationQueue(file, async () => {
    throwIfAborted(signal);
    await operations.access(file).catch((error) => {
      throwIfAborted(signal);
      const reason = error instanceof Error && "code" in error ? error.code : String(error);
      throw new Error(`${path} cannot be edited: ${reason}`);
    });
    throwIfAborted(signal);
    const bytes = await operations.readFile(file);
    throwIfAborted(signal);
    const { content, before, after } = editContent(bytes.toString("utf8"), edits, path);
    await operations.writeFile(file, content);
    throwIfAborted(signal);
    const { diff, firstChangedLine } = generateDiffString(before, after);
    return {
      content: [{ type: "text", text: `Successfully replaced ${edits.length} block(s) in ${path}.` }],
      details: { diff, patch: generateUnifiedPatch(path, before, after), firstChangedLine },
    };
  });
}
