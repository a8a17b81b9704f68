// The results of searches: lines, and notes about what was left out.

import { DEFAULT_MAX_BYTES, formatSize, truncateHead } from "../truncate.mjs";

/** Returns the result with these lines. The number of lines is limited already, their bytes are limited here. */
export function limited(lines, emptyText, notices, details, lastNotices = []) {
  if (lines.length === 0) return { content: [{ type: "text", text: emptyText }], details: undefined };
  const truncation = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  const allDetails = truncation.truncated ? { ...details, truncation } : details;
  const byBytes = truncation.truncated ? [`Limited to ${formatSize(DEFAULT_MAX_BYTES)}`] : [];
  const allNotices = [...notices, ...byBytes, ...lastNotices];
  const text = allNotices.length > 0 ? `${truncation.content}\n\n[${allNotices.join(". ")}]` : truncation.content;
  return { content: [{ type: "text", text }], details: Object.keys(allDetails).length > 0 ? allDetails : undefined };
}
