// Escape sequences inside text: where they begin and end, and links in them.
//
// Sequences without an end are not sequences: their characters count as text, so that a stray escape
// cannot swallow a whole line.

const SEQUENCE =
  "\\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]_P^X](?:[^\\x07\\x1b]|\\x1b(?!\\\\))*(?:\\x07|\\x1b\\\\))";
const ALL = new RegExp(SEQUENCE, "g");
const LINK = /^\x1b\]8;([^;]*);(.*?)(\x07|\x1b\\)$/s;

/** Returns the text without escape sequences. */
export function stripTerminalSequences(text) {
  return text.includes("\x1b") ? text.replace(ALL, "") : text;
}

/**
 * Returns the text as runs: `{text, escape}` where `escape` tells a sequence from plain text.
 * No run is empty.
 */
export function splitAtEscapes(text) {
  if (!text.includes("\x1b")) return text ? [{ text, escape: false }] : [];
  const runs = [];
  let end = 0;
  for (const match of text.matchAll(ALL)) {
    if (match.index > end) runs.push({ text: text.slice(end, match.index), escape: false });
    runs.push({ text: match[0], escape: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) runs.push({ text: text.slice(end), escape: false });
  return runs;
}

/**
 * Returns the link that an OSC 8 sequence opens as `{parameters, address, terminator}`, with an empty
 * address when it closes one, or undefined for any other sequence.
 */
export function parseLink(sequence) {
  const match = LINK.exec(sequence);
  return match ? { parameters: match[1], address: match[2], terminator: match[3] } : undefined;
}

/** Returns the sequence that opens the link. */
export function openLink(link) {
  return `\x1b]8;${link.parameters};${link.address}${link.terminator}`;
}

/** Returns the sequence that closes the link, ended as the link itself was: some terminals insist on it. */
export function closeLink(link) {
  return `\x1b]8;;${link.terminator}`;
}

/** Returns the text as a link that terminals with OSC 8 can open. */
export function hyperlink(text, url) {
  const end = "\x1b\\";
  return `\x1b]8;;${url}${end}${text}\x1b]8;;${end}`;
}
