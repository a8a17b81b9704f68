// Limits on what a tool returns: so many lines and so many bytes, whichever is reached first.

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
/** The most characters of a line that a search shows. */
export const LONGEST_MATCH = 500;

const KIBIBYTE = 1024;
const MEBIBYTE = KIBIBYTE * KIBIBYTE;

/** Returns a number of bytes as people read it. */
export function formatSize(bytes) {
  if (bytes < KIBIBYTE) return `${bytes}B`;
  return bytes < MEBIBYTE ? `${(bytes / KIBIBYTE).toFixed(1)}KB` : `${(bytes / MEBIBYTE).toFixed(1)}MB`;
}

/** Returns the lines of a text. A line feed at its end begins no further line. */
function linesOf(content) {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Measures a text and tells whether it is within the limits. */
function measure(content, options) {
  const maxLines = options?.maxLines ?? DEFAULT_MAX_LINES;
  const maxBytes = options?.maxBytes ?? DEFAULT_MAX_BYTES;
  const lines = linesOf(content);
  const totalBytes = Buffer.byteLength(content);
  const fits = lines.length <= maxLines && totalBytes <= maxBytes;
  return { lines, totalBytes, maxLines, maxBytes, fits };
}

function outcome(measured, content, fields) {
  return {
    content,
    truncated: true,
    truncatedBy: "lines",
    totalLines: measured.lines.length,
    totalBytes: measured.totalBytes,
    outputLines: 0,
    outputBytes: Buffer.byteLength(content),
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    maxLines: measured.maxLines,
    maxBytes: measured.maxBytes,
    ...fields,
  };
}

function whole(measured, content) {
  return outcome(measured, content, { truncated: false, truncatedBy: null, outputLines: measured.lines.length });
}

/** Counts how many of the lines fit, joined by line feeds. */
function countFitting(lines, { maxLines, maxBytes }) {
  let used = 0;
  let count = 0;
  for (const line of lines) {
    if (count === maxLines) return { count, by: "lines" };
    const size = Buffer.byteLength(line) + (count > 0 ? 1 : 0);
    if (used + size > maxBytes) return { count, by: "bytes" };
    used += size;
    count += 1;
  }
  return { count, by: "lines" };
}

/** Returns the beginning of a text, whole lines only. */
export function truncateHead(content, options) {
  const measured = measure(content, options);
  if (measured.fits) return whole(measured, content);
  if (Buffer.byteLength(measured.lines[0]) > measured.maxBytes) {
    return outcome(measured, "", { truncatedBy: "bytes", firstLineExceedsLimit: true });
  }
  const { count, by } = countFitting(measured.lines, measured);
  return outcome(measured, measured.lines.slice(0, count).join("\n"), { truncatedBy: by, outputLines: count });
}

/** Returns the last bytes of a text, without a torn character. */
function endOf(text, maxBytes) {
  const bytes = Buffer.from(text);
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start += 1;
  return bytes.toString("utf8", start);
}

/** Returns the end of a text, whole lines only, unless the last line alone is too long. */
export function truncateTail(content, options) {
  const measured = measure(content, options);
  if (measured.fits) return whole(measured, content);
  const { lines, maxBytes } = measured;
  const { count, by } = countFitting([...lines].reverse(), measured);
  if (count === 0 && by === "bytes") {
    // One line is then as many as are wanted, which counts as the limit that was reached.
    const truncatedBy = measured.maxLines > 1 ? "bytes" : "lines";
    const fields = { truncatedBy, outputLines: 1, lastLinePartial: true };
    return outcome(measured, endOf(lines.at(-1), maxBytes), fields);
  }
  const kept = lines.slice(lines.length - count);
  return outcome(measured, kept.join("\n"), { truncatedBy: by, outputLines: count });
}

/** Returns a line that is no longer than so many characters, with a mark if it was. */
export function truncateLine(line, maxChars = LONGEST_MATCH) {
  const wasTruncated = line.length > maxChars;
  return { text: wasTruncated ? `${line.slice(0, maxChars)}... [truncated]` : line, wasTruncated };
}
