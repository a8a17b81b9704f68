// The block between `---` lines that a Markdown file may begin with.

import { parseYaml } from "./yaml.mjs";

const FENCE = "---";

function split(content) {
  const text = content.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const end = text.startsWith(FENCE) ? text.indexOf(`\n${FENCE}`, FENCE.length) : -1;
  if (end < 0) return { yaml: "", body: text };
  return { yaml: text.slice(FENCE.length + 1, end), body: text.slice(end + 1 + FENCE.length).trim() };
}

/** Returns the fields of a file's front matter, and the text after it. */
export function parseFrontmatter(content) {
  const { yaml, body } = split(content);
  return { frontmatter: (yaml && parseYaml(yaml)) || {}, body };
}

/** Returns the text of a file without its front matter. */
export function stripFrontmatter(content) {
  return parseFrontmatter(content).body;
}
