// Patterns for names of files: `*`, `**`, `?`, `[…]` and `{a,b}`.

const SPECIAL = /[.+^$()|\\{}[\]]/;

/** Returns the end of a set in brackets that begins at `at`, or -1. A bracket right after the first one is part of the set. */
function endOfSet(pattern, at) {
  const first = pattern[at + 1] === "!" || pattern[at + 1] === "^" ? at + 2 : at + 1;
  return pattern.indexOf("]", first + 1);
}

/** Returns the source of a regular expression for a pattern. */
function sourceOf(pattern) {
  let source = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const letter = pattern[at];
    const end = letter === "[" ? endOfSet(pattern, at) : -1;
    if (letter === "*" && pattern[at + 1] === "*") {
      const isFolder = (at === 0 || pattern[at - 1] === "/") && pattern[at + 2] === "/";
      source += isFolder ? "(?:.*/)?" : ".*";
      at += isFolder ? 2 : 1;
    } else if (letter === "*") source += "[^/]*";
    else if (letter === "?") source += "[^/]";
    else if (end > 0) {
      source += `[${pattern.slice(at + 1, end).replace(/^!/, "^").replace(/[\\[\]]/g, "\\$&")}]`;
      at = end;
    } else if (letter === "{") {
      source += "(?:";
      depth += 1;
    } else if (letter === "}" && depth > 0) {
      source += ")";
      depth -= 1;
    } else if (letter === "," && depth > 0) source += "|";
    else if (letter === "\\" && at + 1 < pattern.length) source += `\\${pattern[++at]}`.replace(/\\(\w)/, "$1");
    else source += SPECIAL.test(letter) ? `\\${letter}` : letter;
  }
  return source + ")".repeat(depth);
}

/** Returns a regular expression that matches the whole of a path with forward slashes. */
export function globExpression(pattern, flags = "") {
  return new RegExp(`^${sourceOf(pattern)}$`, flags);
}
