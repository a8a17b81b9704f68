// Reads a file over operations that an extension gives.

import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { resolveToCwd } from "../../paths.mjs";
import { detectSupportedImageMimeTypeFromFile, prepareImage } from "../images.mjs";
import { DEFAULT_MAX_BYTES, formatSize, truncateHead } from "../truncate.mjs";
import { untilAborted } from "./abort.mjs";

const files = {
  readFile: (path) => readFile(path),
  access: (path) => access(path, constants.R_OK),
  detectImageMimeType: detectSupportedImageMimeTypeFromFile,
};

/** Names that differ from what people type only in ways that macOS makes up for screenshots. */
const SPELLINGS = [
  (path) => path.replace(/ ([AP]M)\./gi, "\u202f$1."),
  (path) => path.normalize("NFD"),
  (path) => path.replaceAll("'", "\u2019"),
  (path) => path.normalize("NFD").replaceAll("'", "\u2019"),
];

async function existingPath(path, cwd) {
  const plain = resolveToCwd(path, cwd);
  const candidates = [plain, ...SPELLINGS.map((respell) => respell(plain)).filter((other) => other !== plain)];
  for (const candidate of candidates) {
    try {
      await access(candidate);
      return candidate;
    } catch {
      // The next spelling may exist.
    }
  }
  return plain;
}

function imageResult(bytes, mimeType, model) {
  const image = prepareImage(bytes, mimeType);
  const isBlind = model?.input && !model.input.includes("image");
  const lines = [`Read image file [${mimeType}]`];
  if (!image) lines.push("The image is too large to be shown.");
  if (isBlind) lines.push("This model does not accept images, so it is not shown.");
  const content = [{ type: "text", text: lines.join("\n") }];
  return { content: image ? [...content, { type: "image", ...image }] : content, details: undefined };
}

function textResult(text, { path, offset, limit }) {
  const lines = text.split("\n");
  const start = offset ? Math.max(0, offset - 1) : 0;
  if (start >= lines.length) throw new Error(`The file has ${lines.length} lines; there is none at offset ${offset}`);
  const end = limit === undefined ? lines.length : Math.min(start + limit, lines.length);
  const truncation = truncateHead(lines.slice(start, end).join("\n"));
  const first = start + 1;
  const result = (shown, details) => ({ content: [{ type: "text", text: shown }], details });
  if (truncation.firstLineExceedsLimit) {
    const size = formatSize(Buffer.byteLength(lines[start]));
    const command = `sed -n '${first}p' ${path} | head -c ${DEFAULT_MAX_BYTES}`;
    const note = `Line ${first} has ${size}, more than the ${formatSize(DEFAULT_MAX_BYTES)} that fit.`;
    return result(`[${note} See a part of it with bash: ${command}]`, { truncation });
  }
  if (truncation.truncated) {
    const last = start + truncation.outputLines;
    const by = truncation.truncatedBy === "bytes" ? `, limited to ${formatSize(DEFAULT_MAX_BYTES)}` : "";
    const note = `[Lines ${first}-${last} of ${lines.length}${by}. Continue with offset=${last + 1}.]`;
    return result(`${truncation.content}\n\n${note}`, { truncation });
  }
  if (end < lines.length) {
    const note = `[Lines ${first}-${end} of ${lines.length}. Continue with offset=${end + 1}.]`;
    return result(`${truncation.content}\n\n${note}`);
  }
  return result(truncation.content);
}

/** Reads a text file or an image. */
export function read(args, { cwd, options, signal, ctx }) {
  const operations = options.operations ?? files;
  return untilAborted(signal, async () => {
    const path = await existingPath(args.path, cwd);
    await operations.access(path);
    const mimeType = await operations.detectImageMimeType?.(path);
    const bytes = await operations.readFile(path);
    return mimeType ? imageResult(bytes, mimeType, ctx?.model) : textResult(bytes.toString("utf8"), args);
  });
}
