// Differences between two texts, line by line.

/** Beyond so many changed lines the search for the fewest changes takes too long; then everything between is replaced. */
const MOST_CHANGES = 4000;
const CONTEXT = 4;

/** Returns the lines of a text, each with its line feed. */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** A point that a search has reached: so many old lines are used, and the last step removed or added a line. */
class Point {
  constructor(used, from, isRemoval) {
    this.used = used;
    this.from = from;
    this.isRemoval = isRemoval;
  }
}

/** Follows equal lines from a point. A diagonal is the number of old lines less that of new lines. */
function slide(point, diagonal, before, after) {
  const isEqual = () => before[point.used] === after[point.used - diagonal];
  while (point.used < before.length && point.used - diagonal < after.length && isEqual()) point.used += 1;
}

/** Returns the last point of the shortest way from one text to the other (Myers' algorithm), or undefined. */
function shortest(before, after) {
  const target = before.length - after.length;
  const start = new Point(0);
  slide(start, 0, before, after);
  let reached = new Map([[0, start]]);
  if (target === 0 && start.used >= before.length) return start;
  let lowest = -Infinity;
  let highest = Infinity;
  for (let changes = 1; changes <= Math.min(before.length + after.length, MOST_CHANGES); changes += 1) {
    const next = new Map();
    const first = Math.max(-changes, lowest + ((((changes + lowest) % 2) + 2) % 2 || 0));
    for (let diagonal = lowest === -Infinity ? -changes : first; diagonal <= Math.min(changes, highest); diagonal += 2) {
      const removing = reached.get(diagonal - 1);
      const adding = reached.get(diagonal + 1);
      const canRemove = removing !== undefined && removing.used < before.length;
      const canAdd = adding !== undefined && adding.used - diagonal - 1 < after.length;
      if (!canRemove && !canAdd) continue;
      const adds = !canRemove || (canAdd && removing.used < adding.used);
      const point = adds ? new Point(adding.used, adding, false) : new Point(removing.used + 1, removing, true);
      slide(point, diagonal, before, after);
      if (point.used >= before.length && point.used - diagonal >= after.length) return point;
      next.set(diagonal, point);
      if (point.used >= before.length) highest = Math.min(highest, diagonal - 1);
      if (point.used - diagonal >= after.length) lowest = Math.max(lowest, diagonal + 1);
    }
    reached = next;
  }
  return undefined;
}

/** Returns the steps of a way as marks: ` `, `-` or `+` for each line. */
function marksOf(last) {
  const points = [];
  for (let point = last; point; point = point.from) points.push(point);
  const marks = [];
  let used = 0;
  for (const point of points.reverse()) {
    if (point.from) {
      marks.push(point.isRemoval ? "-" : "+");
      used += point.isRemoval ? 1 : 0;
    }
    for (; used < point.used; used += 1) marks.push(" ");
  }
  return marks;
}

/**
 * Returns the runs of lines that are kept (` `), removed (`-`) and added (`+`). What is removed comes before what is added
 * in its place.
 */
export function diffLines(oldText, newText) {
  const before = linesOf(oldText);
  const after = linesOf(newText);
  const last = shortest(before, after);
  const marks = last ? marksOf(last) : [...before.map(() => "-"), ...after.map(() => "+")];
  const runs = [];
  let oldAt = 0;
  let newAt = 0;
  const add = (mark, line) => {
    if (runs.at(-1)?.mark === mark) runs.at(-1).lines.push(line);
    else runs.push({ mark, lines: [line] });
  };
  for (let at = 0; at < marks.length; ) {
    if (marks[at] === " ") {
      add(" ", before[oldAt]);
      oldAt += 1;
      newAt += 1;
      at += 1;
      continue;
    }
    let end = at;
    while (end < marks.length && marks[end] !== " ") end += 1;
    const changed = marks.slice(at, end);
    for (const mark of changed) if (mark === "-") add("-", before[oldAt++]);
    for (const mark of changed) if (mark === "+") add("+", after[newAt++]);
    at = end;
  }
  return runs;
}

/** Returns what of a run of kept lines is shown: the first and the last few. */
function visible(lines, context, isAfterChange, isBeforeChange) {
  const head = isAfterChange ? context : 0;
  const tail = isBeforeChange ? context : 0;
  if (lines.length <= head + tail) return { head: lines.length, tail: 0 };
  return { head, tail };
}

/** Returns a diff with line numbers for people, and the number of the first line that changed. */
export function generateDiffString(oldContent, newContent, contextLines = CONTEXT) {
  const count = Math.max(oldContent.split("\n").length, newContent.split("\n").length);
  const width = String(count).length;
  const runs = diffLines(oldContent, newContent);
  const rows = [];
  let oldNumber = 1;
  let newNumber = 1;
  let firstChangedLine;
  const row = (mark, number, line) => rows.push(`${mark}${String(number).padStart(width)} ${line.replace(/\n$/, "")}`);
  for (const [index, { mark, lines }] of runs.entries()) {
    if (mark !== " ") {
      firstChangedLine ??= newNumber;
      for (const line of lines) row(mark, mark === "+" ? newNumber++ : oldNumber++, line);
      continue;
    }
    const { head, tail } = visible(lines, contextLines, index > 0, index + 1 < runs.length);
    lines.forEach((line, at) => {
      if (at < head || at >= lines.length - tail) row(" ", oldNumber + at, line);
      else if (at === head) rows.push(` ${" ".repeat(width)} ...`);
    });
    // Without any change there is nothing to show the lines for.
    if (runs.length === 1) rows.length = 0;
    oldNumber += lines.length;
    newNumber += lines.length;
  }
  return { diff: rows.join("\n"), firstChangedLine };
}

const NO_LINE_FEED = "\\ No newline at end of file";

/** Returns a patch in the unified format. */
export function generateUnifiedPatch(path, oldContent, newContent, contextLines = CONTEXT) {
  const hunks = [];
  let hunk;
  let oldAt = 0;
  let newAt = 0;
  const runs = diffLines(oldContent, newContent);
  const begin = (before) => {
    hunk = { oldStart: oldAt - before.length, newStart: newAt - before.length, oldCount: before.length, newCount: before.length };
    hunk.rows = before.map((line) => ` ${line}`);
    hunks.push(hunk);
  };
  for (const [index, { mark, lines }] of runs.entries()) {
    if (mark === " ") {
      const isLast = index + 1 === runs.length;
      if (hunk && !isLast && lines.length <= 2 * contextLines) keep(hunk, lines);
      else {
        if (hunk) keep(hunk, lines.slice(0, contextLines));
        hunk = undefined;
      }
      oldAt += lines.length;
      newAt += lines.length;
      continue;
    }
    if (!hunk) begin(runs[index - 1] ? lastOf(runs[index - 1].lines, contextLines) : []);
    hunk.rows.push(...lines.map((line) => mark + line));
    if (mark === "-") {
      hunk.oldCount += lines.length;
      oldAt += lines.length;
    } else {
      hunk.newCount += lines.length;
      newAt += lines.length;
    }
  }
  return `--- ${path}\n+++ ${path}\n${hunks.map(hunkText).join("")}`;
}

const lastOf = (lines, count) => (count > 0 ? lines.slice(-count) : []);

function keep(hunk, lines) {
  hunk.rows.push(...lines.map((line) => ` ${line}`));
  hunk.oldCount += lines.length;
  hunk.newCount += lines.length;
}

/** Returns a hunk as text. A range without lines is named by the line before it. */
function hunkText({ oldStart, oldCount, newStart, newCount, rows }) {
  const range = (start, count) => `${count > 0 ? start + 1 : start},${count}`;
  const text = rows.map((line) => (line.endsWith("\n") ? line : `${line}\n${NO_LINE_FEED}\n`)).join("");
  return `@@ -${range(oldStart, oldCount)} +${range(newStart, newCount)} @@\n${text}`;
}
