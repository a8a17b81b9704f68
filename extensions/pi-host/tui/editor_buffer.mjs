// The text of an editor: lines, cursor, undo, deleted text, pastes kept aside.
//
// Long pastes are shown as a marker and put back when the text is taken out. A marker moves and is
// deleted as one character.

import { KillRing, wordAfter, wordBefore } from "./editing.mjs";
import { graphemeSegmenter } from "./width.mjs";

const MARKER = /\[paste #(\d+)(?: (?:\+\d+ lines|\d+ chars))?\]/g;
const LINES_TO_KEEP_ASIDE = 10;
const CHARACTERS_TO_KEEP_ASIDE = 1000;

/** Returns the text as editors hold it: LF as line end, tabs as four spaces. */
export function normalized(text) {
  return text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ");
}

/** Lines of text with a cursor. Positions are UTF-16 units. */
export class EditorBuffer {
  lines = [""];
  line = 0;
  column = 0;
  /** What the last change was: "type", "kill", "yank" or undefined. Changes of one kind belong together. */
  last;
  #pastes = new Map();
  #undo = [];
  #killed = new KillRing();

  text() {
    return this.lines.join("\n");
  }

  /** Returns the text with pastes in the place of their markers. */
  expandedText() {
    return this.text().replace(MARKER, (marker, id) => this.#pastes.get(Number(id)) ?? marker);
  }

  current() {
    return this.lines[this.line] ?? "";
  }

  beforeCursor() {
    return this.current().slice(0, this.column);
  }

  isEmpty() {
    return this.lines.length === 1 && this.lines[0] === "";
  }

  /** Replaces everything; the cursor goes to the end, or to the start. */
  replace(text, atStart = false) {
    this.lines = text.split("\n");
    this.line = atStart ? 0 : this.lines.length - 1;
    this.column = atStart ? 0 : this.current().length;
  }

  clear() {
    this.replace("");
    this.forgetPastes();
    this.#undo = [];
    this.last = undefined;
  }

  forgetPastes() {
    this.#pastes.clear();
  }

  remember() {
    const { lines, line, column } = this;
    this.#undo.push({ lines: [...lines], line, column, pastes: new Map(this.#pastes) });
  }

  undo() {
    const earlier = this.#undo.pop();
    this.last = undefined;
    if (!earlier) return false;
    const { pastes, ...state } = earlier;
    Object.assign(this, state);
    this.#pastes = pastes;
    return true;
  }

  /** Puts text at the cursor, without an undo step. */
  insert(text) {
    const added = text.split("\n");
    const before = this.beforeCursor();
    const after = this.current().slice(this.column);
    const first = before + added[0];
    if (added.length === 1) {
      this.lines[this.line] = first + after;
      this.column = first.length;
      return;
    }
    const last = added.at(-1);
    this.lines.splice(this.line, 1, first, ...added.slice(1, -1), last + after);
    this.line += added.length - 1;
    this.column = last.length;
  }

  /** Puts typed text at the cursor; letters in a row are one undo step. */
  type(text) {
    if (/\s/.test(text) || this.last !== "type") this.remember();
    this.last = "type";
    this.insert(text);
  }

  paste(text) {
    this.last = undefined;
    this.remember();
    // Some terminals write control keys inside a paste as sequences; line ends must survive.
    const decoded = text.replace(/\x1b\[(\d+);5u/g, (sequence, code) => {
      const letter = Number(code) & ~32;
      return letter >= 65 && letter <= 90 ? String.fromCharCode(letter - 64) : sequence;
    });
    let pasted = normalized(decoded).replace(/[\u0000-\u0009\u000b-\u001f]/g, "");
    // A path right after a word would become part of it.
    if (/^[/~.]/.test(pasted) && /\w$/.test(this.beforeCursor())) pasted = ` ${pasted}`;
    const lines = pasted.split("\n").length;
    if (lines > LINES_TO_KEEP_ASIDE || pasted.length > CHARACTERS_TO_KEEP_ASIDE) {
      const id = this.#pastes.size + 1;
      this.#pastes.set(id, pasted);
      pasted = `[paste #${id} ${lines > LINES_TO_KEEP_ASIDE ? `+${lines} lines` : `${pasted.length} chars`}]`;
    }
    this.insert(pasted);
  }

  /** Returns the segments of a line that move as one, `{text, index, marker?}`. */
  segments(line) {
    const segments = [];
    const markers = this.#pastes.size === 0 ? [] : [...line.matchAll(MARKER)].filter((match) => this.#pastes.has(Number(match[1])));
    for (const { segment, index } of graphemeSegmenter().segment(line)) {
      const marker = markers.find((match) => index >= match.index && index < match.index + match[0].length);
      if (!marker) segments.push({ text: segment, index });
      else if (index === marker.index) segments.push({ text: marker[0], index, id: Number(marker[1]) });
    }
    return segments;
  }

  #before() {
    return this.segments(this.current()).findLast((segment) => segment.index < this.column);
  }

  #at() {
    return this.segments(this.current()).find((segment) => segment.index + segment.text.length > this.column);
  }

  moveLeft() {
    this.last = undefined;
    const segment = this.column > 0 ? this.#before() : undefined;
    if (segment) this.column = segment.index;
    else if (this.line > 0) {
      this.line -= 1;
      this.column = this.current().length;
    }
  }

  moveRight() {
    this.last = undefined;
    const segment = this.#at();
    if (segment) this.column = segment.index + segment.text.length;
    else if (this.line < this.lines.length - 1) {
      this.line += 1;
      this.column = 0;
    }
  }

  moveWordLeft() {
    this.last = undefined;
    const segment = this.#before();
    if (this.column === 0) this.moveLeft();
    else this.column = segment?.id ? segment.index : wordBefore(this.current(), this.column);
  }

  moveWordRight() {
    this.last = undefined;
    const segment = this.#at();
    if (!segment) this.moveRight();
    else this.column = segment.id ? segment.index + segment.text.length : wordAfter(this.current(), this.column);
  }

  moveToLineStart() {
    this.last = undefined;
    this.column = 0;
  }

  moveToLineEnd() {
    this.last = undefined;
    this.column = this.current().length;
  }

  /** Moves to the next place of the character in the direction, if there is one. */
  jumpTo(character, forward) {
    this.last = undefined;
    for (let line = this.line; line >= 0 && line < this.lines.length; line += forward ? 1 : -1) {
      const here = line === this.line;
      const column = forward
        ? this.lines[line].indexOf(character, here ? this.column + 1 : 0)
        : here && this.column === 0
          ? -1
          : this.lines[line].lastIndexOf(character, here ? this.column - 1 : Infinity);
      if (column >= 0) {
        this.line = line;
        this.column = column;
        return;
      }
    }
  }

  newLine() {
    this.last = undefined;
    this.remember();
    this.insert("\n");
  }

  deleteBackward() {
    const segment = this.column > 0 ? this.#before() : undefined;
    this.last = undefined;
    if (!segment && this.line === 0) return;
    this.remember();
    if (segment) {
      this.#cut(this.line, segment.index, this.line, this.column);
      if (segment.id) this.#dropPaste(segment.id);
    } else {
      this.#cut(this.line - 1, this.lines[this.line - 1].length, this.line, 0);
    }
  }

  // Pastes are numbered without gaps, so those after a deleted one move down.
  #dropPaste(dropped) {
    const kept = [...this.#pastes].filter(([id]) => id !== dropped);
    this.#pastes = new Map(kept.map(([id, text]) => [id > dropped ? id - 1 : id, text]));
    const column = this.beforeCursor().length;
    this.lines = this.lines.map((line) =>
      line.replace(MARKER, (marker, id) => (Number(id) > dropped ? marker.replace(`#${id}`, `#${Number(id) - 1}`) : marker)),
    );
    this.column = Math.min(column, this.current().length);
  }

  deleteForward() {
    const segment = this.#at();
    this.last = undefined;
    if (!segment && this.line === this.lines.length - 1) return;
    this.remember();
    if (segment) this.#cut(this.line, this.column, this.line, segment.index + segment.text.length);
    else this.#cut(this.line, this.column, this.line + 1, 0);
  }

  /** Deletes from the cursor to where the move goes and keeps the text for yanking. */
  kill(target) {
    const from = { line: this.line, column: this.column };
    const before = target === "lineStart" || target === "wordLeft";
    const last = this.last;
    if (target === "lineStart") this.column > 0 ? this.moveToLineStart() : this.moveLeft();
    else if (target === "lineEnd") this.column < this.current().length ? this.moveToLineEnd() : this.moveRight();
    else if (target === "wordLeft") this.moveWordLeft();
    else this.moveWordRight();
    const to = { line: this.line, column: this.column };
    Object.assign(this, from);
    this.last = last;
    const [start, end] = before ? [to, from] : [from, to];
    if (start.line === end.line && start.column === end.column) return;
    this.remember();
    this.#killed.add(this.#cut(start.line, start.column, end.line, end.column), { before, append: last === "kill" });
    this.last = "kill";
  }

  // Removes a range, moves the cursor to its start, and returns what was there.
  #cut(startLine, startColumn, endLine, endColumn) {
    const lines = this.lines.slice(startLine, endLine + 1);
    const before = lines[0].slice(0, startColumn);
    const after = lines.at(-1).slice(endColumn);
    lines[lines.length - 1] = lines.at(-1).slice(0, endColumn);
    lines[0] = lines[0].slice(startColumn);
    this.lines.splice(startLine, endLine - startLine + 1, before + after);
    this.line = startLine;
    this.column = startColumn;
    return lines.join("\n");
  }

  yank() {
    if (this.#killed.size === 0) return;
    this.remember();
    this.insert(this.#killed.latest());
    this.last = "yank";
  }

  /** Replaces what was just yanked by the deletion before it. */
  yankPop() {
    if (this.last !== "yank" || this.#killed.size < 2) return;
    this.remember();
    const yanked = this.#killed.latest().split("\n");
    const startLine = this.line - (yanked.length - 1);
    const startColumn = yanked.length === 1 ? this.column - yanked[0].length : this.lines[startLine].length - yanked[0].length;
    this.#cut(startLine, startColumn, this.line, this.column);
    this.#killed.rotate();
    this.insert(this.#killed.latest());
    this.last = "yank";
  }
}
