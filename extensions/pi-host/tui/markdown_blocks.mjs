// Markdown into blocks: paragraphs, headings, lists, code, quotes, tables, rules.

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}>/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])(?:([ \t]+)(.*))?$/;
const HTML = /^ {0,3}<(?:[a-zA-Z/!?])/;
const DEFINITION = /^ {0,3}\[([^\]]+)\]:[ \t]*<?([^\s>]+)>?(?:[ \t]+["'(].*["')])?[ \t]*$/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const INDENTED = /^(?: {4}|\t)/;

const blank = (line) => line.trim() === "";

/**
 * Returns the blocks of the text as `{type, …, gap}`; `gap` tells that empty lines come before. Link
 * definitions are added to `definitions`.
 */
export function parseBlocks(text, definitions = new Map()) {
  return blocksOf(text.replace(/\r\n?/g, "\n").split("\n"), definitions);
}

function blocksOf(lines, definitions) {
  const blocks = [];
  let position = 0;
  let gap = false;
  while (position < lines.length) {
    const line = lines[position];
    if (blank(line)) {
      gap = true;
      position += 1;
      continue;
    }
    const definition = DEFINITION.exec(line);
    if (definition) {
      definitions.set(definition[1].toLowerCase(), definition[2]);
      position += 1;
      continue;
    }
    const [block, next] = readBlock(lines, position, definitions);
    blocks.push({ ...block, gap });
    gap = false;
    position = next;
  }
  return blocks;
}

function readBlock(lines, position, definitions) {
  const line = lines[position];
  if (INDENTED.test(line)) return readIndented(lines, position);
  const fence = FENCE.exec(line);
  if (fence && !(fence[2][0] === "`" && fence[3].includes("`"))) return readFence(lines, position, fence);
  const heading = HEADING.exec(line);
  if (heading) return [{ type: "heading", depth: heading[1].length, text: heading[2] ?? "" }, position + 1];
  if (RULE.test(line)) return [{ type: "rule" }, position + 1];
  if (QUOTE.test(line)) return readQuote(lines, position, definitions);
  if (ITEM.test(line)) return readList(lines, position, definitions);
  if (isTable(lines, position)) return readTable(lines, position);
  if (HTML.test(line) && !/^ {0,3}<(?:https?:|mailto:|[^\s>]+@)/.test(line)) return readHtml(lines, position);
  return readParagraph(lines, position);
}

function readIndented(lines, position) {
  let end = position;
  while (end < lines.length && (INDENTED.test(lines[end]) || blank(lines[end]))) end += 1;
  const next = end;
  while (blank(lines[end - 1])) end -= 1;
  const code = lines.slice(position, end).map((line) => line.replace(INDENTED, ""));
  // Empty lines after the code are a gap again.
  return [{ type: "code", language: "", text: code.join("\n") }, next > end ? end : next];
}

function readFence(lines, position, [, indent, mark, info]) {
  const closing = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}[ \\t]*$`);
  // A fence that is being streamed may be there in part; it is not code yet.
  const partial = new RegExp(`^\\${mark[0]}{1,${mark.length - 1}}$`);
  const inner = new RegExp(`^ {0,${indent.length}}`);
  const code = [];
  let next = position + 1;
  while (next < lines.length && !closing.test(lines[next])) {
    if (next < lines.length - 1 || !partial.test(lines[next])) code.push(lines[next].replace(inner, ""));
    next += 1;
  }
  // The end of the text is no empty line of code.
  if (next >= lines.length && code.at(-1) === "") code.pop();
  return [{ type: "code", language: info, text: code.join("\n") }, next + 1];
}

function readQuote(lines, position, definitions) {
  const inner = [];
  let next = position;
  while (next < lines.length && !blank(lines[next])) {
    const quoted = QUOTE.test(lines[next]);
    if (!quoted && (startsBlock(lines, next) || !endsInParagraph(inner))) break;
    inner.push(lines[next].replace(/^ {0,3}> ?/, ""));
    next += 1;
  }
  return [{ type: "quote", blocks: blocksOf(inner, definitions) }, next];
}

// Only a paragraph goes on in lines without the mark of its block.
function endsInParagraph(lines) {
  const last = lines.at(-1) ?? "";
  return !blank(last) && !FENCE.test(last) && !HEADING.test(last) && !RULE.test(last) && !INDENTED.test(last);
}

function startsBlock(lines, position) {
  const line = lines[position];
  const item = ITEM.exec(line);
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    QUOTE.test(line) ||
    // A number in running text is no list unless it is the first of one.
    (item !== null && Boolean(item[4]) && (!/\d/.test(item[2]) || Number.parseInt(item[2], 10) === 1)) ||
    isTable(lines, position)
  );
}

function readList(lines, position, definitions) {
  const first = ITEM.exec(lines[position]);
  const ordered = /\d/.test(first[2]);
  const sameKind = (item) => item !== null && (ordered ? item[2].at(-1) === first[2].at(-1) && /\d/.test(item[2]) : item[2] === first[2]);
  const items = [];
  let next = position;
  let loose = false;
  let emptyBefore = false;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next]);
    if (!sameKind(item) || RULE.test(lines[next])) break;
    loose ||= emptyBefore;
    const [inner, end] = readItem(lines, next, item);
    const task = /^\[([ xX])\][ \t]+/.exec(inner[0]);
    if (task) inner[0] = inner[0].slice(task[0].length);
    const blocks = blocksOf(inner, definitions);
    loose ||= blocks.some((block, index) => index > 0 && block.gap);
    items.push({ marker: item[2], blocks, checked: task ? task[1] !== " " : undefined });
    next = end;
    emptyBefore = false;
    let after = next;
    while (after < lines.length && blank(lines[after])) after += 1;
    if (after > next && after < lines.length && sameKind(ITEM.exec(lines[after]))) {
      emptyBefore = true;
      next = after;
    }
  }
  return [{ type: "list", ordered, start: ordered ? Number.parseInt(first[2], 10) : undefined, loose, items }, next];
}

function readItem(lines, position, [, indent, marker, spaces = " ", text = ""]) {
  // Far-off text is code inside the item: then one space belongs to the marker.
  const width = indent.length + marker.length + (spaces.length > 4 ? 1 : spaces.length);
  const inner = [spaces.length > 4 ? spaces.slice(1) + text : text];
  let next = position + 1;
  while (next < lines.length) {
    const line = lines[next];
    if (blank(line)) {
      let after = next;
      while (after < lines.length && blank(lines[after])) after += 1;
      if (after >= lines.length || indentOf(lines[after]) < width) break;
      inner.push("");
    } else if (indentOf(line) >= width) {
      inner.push(line.slice(width));
    } else if (ITEM.test(line) || startsBlock(lines, next) || !endsInParagraph(inner)) {
      break;
    } else {
      inner.push(line.trimStart());
    }
    next += 1;
  }
  return [inner, next];
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function isTable(lines, position) {
  const [header, delimiters] = [lines[position], lines[position + 1]];
  if (!header?.includes("|") || delimiters === undefined || !DELIMITERS.test(delimiters)) return false;
  return cellsOf(header).length === cellsOf(delimiters).length;
}

function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function readTable(lines, position) {
  const header = cellsOf(lines[position]);
  const rows = [];
  let next = position + 2;
  while (next < lines.length && !blank(lines[next]) && !(startsBlock(lines, next) && !lines[next].includes("|"))) {
    const cells = cellsOf(lines[next]);
    rows.push(header.map((_, column) => cells[column] ?? ""));
    next += 1;
  }
  return [{ type: "table", header, rows, source: lines.slice(position, next).join("\n") }, next];
}

function readHtml(lines, position) {
  let next = position;
  while (next < lines.length && !blank(lines[next])) next += 1;
  return [{ type: "html", text: lines.slice(position, next).join("\n") }, next];
}

function readParagraph(lines, position) {
  const text = [lines[position].trimStart()];
  let next = position + 1;
  while (next < lines.length && !blank(lines[next])) {
    const underline = /^ {0,3}(=+|-+)[ \t]*$/.exec(lines[next]);
    if (underline) return [{ type: "heading", depth: underline[1][0] === "=" ? 1 : 2, text: text.join("\n").trim() }, next + 1];
    if (startsBlock(lines, next)) break;
    text.push(lines[next].trimStart());
    next += 1;
  }
  return [{ type: "paragraph", text: text.join("\n").trimEnd() }, next];
}
