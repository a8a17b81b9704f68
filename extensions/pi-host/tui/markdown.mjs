// Markdown on the screen.

import { hyperlink } from "./escapes.mjs";
import { getCapabilities } from "./image.mjs";
import { KeptLines } from "./kept_lines.mjs";
import { parseBlocks } from "./markdown_blocks.mjs";
import { parseInline } from "./markdown_inline.mjs";
import { fillLine } from "./text.mjs";
import { visibleWidth } from "./width.mjs";
import { wrapTextWithAnsi } from "./wrap.mjs";

const WIDEST_RULE = 80;
const NESTING = "    ";
// Words longer than this may be broken to make a column narrower.
const LONGEST_UNBROKEN_WORD = 30;
const END_OF_CELL_STYLE = "\x1b[22;23;24;25;27;28;29;39m";

/** Shows Markdown in the styles of a theme. */
export class Markdown {
  #rendered = new KeptLines();
  #definitions;

  constructor(text, paddingX, paddingY, theme, defaultTextStyle, options) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.theme = theme;
    this.defaultTextStyle = defaultTextStyle;
    this.options = { ...options };
  }

  setText(text) {
    this.text = text;
    this.invalidate();
  }

  invalidate() {
    this.#rendered.forget();
  }

  render(width) {
    return this.#rendered.of(this.text, width, () => this.#lines(width));
  }

  #lines(width) {
    const contentWidth = Math.max(1, width - this.paddingX * 2);
    const source = this.options.transform?.(this.text, contentWidth) ?? this.text;
    if (!source || source.trim() === "") return [];
    this.#definitions = new Map();
    const blocks = parseBlocks(source.replaceAll("\t", "   "), this.#definitions);
    const style = this.#defaultStyle();
    const margin = " ".repeat(this.paddingX);
    const wrapped = this.#blocks(blocks, contentWidth, style).flatMap((line) => wrapTextWithAnsi(line, contentWidth));
    const around = Array(this.paddingY).fill("");
    return [...around, ...wrapped.map((line) => margin + line + margin), ...around].map((line) =>
      fillLine(line, width, this.defaultTextStyle?.bgColor),
    );
  }

  // A style is how plain text is written, and what brings it back after a styled part has ended.
  #style(apply) {
    const [resume, end] = apply("\u0000").split("\u0000");
    return { apply, resume: end === undefined ? "" : resume };
  }

  #defaultStyle() {
    const style = this.defaultTextStyle;
    if (!style) return { apply: (text) => text, resume: "" };
    const wanted = ["bold", "italic", "strikethrough", "underline"].filter((name) => style[name]);
    return this.#style((text) => wanted.reduce((styled, name) => this.theme[name](styled), style.color ? style.color(text) : text));
  }

  // One empty line between blocks, but none between a paragraph and the list right under it.
  #blocks(blocks, width, style) {
    return blocks.flatMap((block, index) => {
      const before = blocks[index - 1];
      const attached = !block.gap && (before?.type === "list" || before?.type === "html" || (before?.type === "paragraph" && block.type === "list"));
      return [...(before && !attached ? [""] : []), ...this.#block(block, width, style)];
    });
  }

  #block(block, width, style) {
    const { theme } = this;
    switch (block.type) {
      case "heading":
        return this.#heading(block);
      case "paragraph":
        return [this.#inline(block.text, style)];
      case "html":
        return [style.apply(block.text.trim())];
      case "code":
        return this.#code(block);
      case "quote":
        return this.#quote(block, width);
      case "list":
        return this.#list(block, width, style);
      case "table":
        return this.#table(block, width, style);
      default:
        return [theme.hr("─".repeat(Math.min(width, WIDEST_RULE)))];
    }
  }

  #heading({ depth, text }) {
    const { theme } = this;
    const style = this.#style((part) => theme.heading(theme.bold(depth === 1 ? theme.underline(part) : part)));
    // The first two levels are told by their style, the others by their marks.
    return [(depth >= 3 ? style.apply(`${"#".repeat(depth)} `) : "") + this.#inline(text, style)];
  }

  #code({ language, text }) {
    const { theme } = this;
    const indent = theme.codeBlockIndent ?? "  ";
    const lines = theme.highlightCode?.(text, language || undefined) ?? text.split("\n").map((line) => theme.codeBlock(line));
    return [theme.codeBlockBorder(`\`\`\`${language}`), ...lines.map((line) => indent + line), theme.codeBlockBorder("```")];
  }

  #quote({ blocks }, width) {
    const { theme } = this;
    const style = this.#style((text) => theme.quote(theme.italic(text)));
    const inner = Math.max(1, width - 2);
    // The whole line gets the style, so the text inside must not get it a second time.
    const lines = this.#blocks(blocks, inner, { apply: (text) => text, resume: style.resume });
    return lines.flatMap((line) =>
      wrapTextWithAnsi(style.apply(line.replaceAll("\x1b[0m", `\x1b[0m${style.resume}`)), inner).map((part) => theme.quoteBorder("│ ") + part),
    );
  }

  #list(list, width, style, depth = 0) {
    const lines = [];
    list.items.forEach((item, index) => {
      if (list.loose && index > 0) lines.push("");
      lines.push(...this.#item(list, item, index, width, style, depth));
    });
    return lines;
  }

  #item(list, item, index, width, style, depth) {
    const number = list.ordered ? `${list.start + index}.` : "-";
    const task = item.checked === undefined ? "" : `[${item.checked ? "x" : " "}] `;
    const marker = `${this.options.preserveOrderedListMarkers ? item.marker : number} ${task}`;
    const indent = NESTING.repeat(depth);
    const first = indent + this.theme.listBullet(marker);
    const others = indent + " ".repeat(visibleWidth(marker));
    const room = Math.max(1, width - visibleWidth(first));
    const lines = [];
    for (const block of item.blocks) {
      if (block.type === "list") {
        lines.push(...this.#list(block, width, style, depth + 1));
        continue;
      }
      if (block.gap && lines.length > 0) lines.push(others);
      for (const line of this.#block(block, room, style).flatMap((part) => wrapTextWithAnsi(part, room))) {
        lines.push((lines.length === 0 ? first : others) + line);
      }
    }
    return lines.length > 0 ? lines : [first];
  }

  #table({ header, rows, source }, width, style) {
    const columns = header.length;
    const room = width - (3 * columns + 1);
    if (room < columns) return wrapTextWithAnsi(source, width);
    const cells = [header, ...rows].map((row) => row.map((cell) => this.#inline(cell, style)));
    const widths = columnWidths(cells, room);
    const edge = (left, middle, right) => `${left}─${widths.map((size) => "─".repeat(size)).join(`─${middle}─`)}─${right}`;
    const drawn = cells.map((row, index) => tableRow(row, widths, style.resume, index === 0 ? (cell) => this.theme.bold(cell) : undefined));
    const rule = edge("├", "┼", "┤");
    const body = drawn.flatMap((lines, index) => (index === 0 ? lines : [rule, ...lines]));
    if (rows.length === 0) body.push(rule);
    return [edge("┌", "┬", "┐"), ...body, edge("└", "┴", "┘")];
  }

  #inline(text, style) {
    let result = this.#parts(parseInline(text, this.#definitions), style);
    while (style.resume && result.endsWith(style.resume)) result = result.slice(0, -style.resume.length);
    return result;
  }

  #parts(parts, style) {
    return parts.map((part) => this.#part(part, style)).join("");
  }

  #part(part, style) {
    const { theme } = this;
    const inside = () => this.#parts(part.parts, style);
    switch (part.type) {
      case "break":
        return "\n";
      case "escape":
        return style.apply(this.options.preserveBackslashEscapes ? part.source : part.text);
      case "code":
        return theme.code(part.text) + style.resume;
      case "strong":
        return theme.bold(inside()) + style.resume;
      case "emphasis":
        return theme.italic(inside()) + style.resume;
      case "strike":
        return theme.strikethrough(inside()) + style.resume;
      case "link":
        return this.#link(part, inside()) + style.resume;
      default:
        // Each line is styled by itself: a style that runs over a line end would be lost in wrapping.
        return part.text.split("\n").map((line) => (line ? style.apply(line) : "")).join("\n");
    }
  }

  #link({ address, text }, label) {
    const shown = this.theme.link(this.theme.underline(label));
    if (getCapabilities().hyperlinks) return hyperlink(shown, address);
    const same = text === address || `mailto:${text}` === address;
    return same ? shown : shown + this.theme.linkUrl(` (${address})`);
  }
}

function tableRow(row, widths, resume, emphasize = (cell) => cell) {
  const cells = row.map((cell, column) => {
    const lines = wrapTextWithAnsi(cell, Math.max(1, widths[column]));
    // A style must not run on into the border.
    return lines.map((line, index) => line + (index < lines.length - 1 && line.includes("\x1b") ? END_OF_CELL_STYLE : "") + resume);
  });
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, index) => {
    const parts = cells.map((lines, column) => {
      const line = lines[index] ?? "";
      return emphasize(line + " ".repeat(Math.max(0, widths[column] - visibleWidth(line))));
    });
    return `│ ${parts.join(" │ ")} │`;
  });
}

// Columns as wide as their text if that fits; else every column gets what its longest word needs, and the
// rest of the room in proportion to what is missing.
function columnWidths(cells, room) {
  const columns = cells[0].map((_, column) => cells.map((row) => row[column]));
  const natural = columns.map((texts) => Math.max(...texts.map((text) => visibleWidth(text))));
  const total = natural.reduce((sum, size) => sum + size, 0);
  const sizeOf = (word) => Math.min(LONGEST_UNBROKEN_WORD, visibleWidth(word));
  const words = columns.map((texts) => Math.max(1, ...texts.flatMap((text) => text.split(/\s+/)).map(sizeOf)));
  if (total <= room) return natural.map((size, index) => Math.max(size, words[index]));
  const needed = words.reduce((sum, size) => sum + size, 0);
  const least = needed <= room ? words : spread(words.map(() => 1), words.map((size) => size - 1), room - columns.length);
  const used = least.reduce((sum, size) => sum + size, 0);
  return spread(least, natural.map((size, index) => Math.max(0, size - least[index])), room - used);
}

// Adds the extra columns to the sizes in proportion to the weights, rounding so that all are used.
function spread(sizes, weights, extra) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0 || extra <= 0) return [...sizes];
  const shares = weights.map((weight) => Math.min(weight, Math.floor((weight / total) * extra)));
  let left = extra - shares.reduce((sum, share) => sum + share, 0);
  let grew = true;
  while (left > 0 && grew) {
    grew = false;
    for (let index = 0; index < shares.length && left > 0; index += 1) {
      if (shares[index] >= weights[index]) continue;
      shares[index] += 1;
      left -= 1;
      grew = true;
    }
  }
  return sizes.map((size, index) => size + shares[index]);
}
