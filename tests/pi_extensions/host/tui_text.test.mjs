// Measuring, wrapping and cutting of text, and fuzzy search.

import assert from "node:assert/strict";
import { test } from "node:test";

import * as tui from "../../../extensions/pi-host/shims/pi-tui.mjs";

const RED = "\x1b[31m";
const END = "\x1b[0m";
const plain = tui.stripTerminalSequences;

test("width counts columns, not characters", () => {
  const widths = [
    ["", 0], ["abc", 3], ["漢字", 4], ["한글", 4], ["ｆ", 2], ["é", 1], ["e\u0301", 1], ["👍🏽", 2], ["👨‍👩‍👧", 2],
    ["🇩🇪", 2], ["🇩", 2], ["❤️", 2], ["1️⃣", 2], ["\t", 3], ["\u200b", 0], ["กำ", 2], ["नि", 2], ["\x07", 0],
  ];
  for (const [text, width] of widths) assert.equal(tui.visibleWidth(text), width, JSON.stringify(text));
});

test("escape sequences take no columns", () => {
  const text = `${RED}red${END} ${tui.hyperlink("link", "http://a.b")}${tui.CURSOR_MARKER}`;
  assert.equal(tui.visibleWidth(text), 8);
  assert.equal(plain(text), "red link");
  // A sequence without an end is text, so that nothing after it is lost.
  assert.equal(plain("a\x1b[31"), "a\x1b[31");
  assert.equal(tui.getOsc8LinkAtColumn(text, 5), "http://a.b");
  assert.equal(tui.getOsc8LinkAtColumn(text, 1), undefined);
});

test("wrapping breaks at spaces, long words anywhere, ideographs between each other", () => {
  assert.deepEqual(tui.wrapTextWithAnsi("the quick brown fox", 10), ["the quick", "brown fox"]);
  assert.deepEqual(tui.wrapTextWithAnsi("abcdefghij", 4), ["abcd", "efgh", "ij"]);
  assert.deepEqual(tui.wrapTextWithAnsi("漢字漢字", 5), ["漢字", "漢字"]);
  assert.deepEqual(tui.wrapTextWithAnsi("a\n\nb\r\nc", 9), ["a", "", "b", "c"]);
  assert.deepEqual(tui.wrapTextWithAnsi("", 9), [""]);
});

test("a style goes on in the next line, and underline ends at the edge", () => {
  assert.deepEqual(tui.wrapTextWithAnsi(`${RED}one two${END}`, 4), [`${RED}one`, `${RED}two${END}`]);
  const [first, second] = tui.wrapTextWithAnsi("\x1b[4mone two\x1b[24m", 4);
  assert.equal(first, "\x1b[4mone\x1b[24m");
  assert.equal(second, "\x1b[4mtwo\x1b[24m");
});

test("no wrapped line is wider than asked, whatever the text", () => {
  const parts = ["word", " ", "漢", "👍🏽", RED, END, "\t", "averyveryverylongword", "é", "\n"];
  let seed = 7;
  const next = (count) => (seed = (seed * 48271) % 2147483647) % count;
  for (let round = 0; round < 500; round += 1) {
    const text = Array.from({ length: 12 }, () => parts[next(parts.length)]).join("");
    const width = 4 + next(20);
    for (const line of tui.wrapTextWithAnsi(text, width)) assert.ok(tui.visibleWidth(line) <= width, JSON.stringify([text, width, line]));
    assert.ok(tui.visibleWidth(tui.truncateToWidth(text, width)) <= width);
    assert.equal(tui.visibleWidth(tui.truncateToWidth(text.replaceAll("\n", ""), width, "…", true)), width);
    assert.ok(tui.visibleWidth(tui.sliceByColumn(text, 2, width, true)) <= width);
  }
});

test("truncation keeps what fits and ends styles", () => {
  assert.equal(tui.truncateToWidth("short", 10), "short");
  assert.equal(tui.truncateToWidth("short", 8, "...", true), "short   ");
  assert.equal(plain(tui.truncateToWidth("a longer text", 8)), "a lon...");
  assert.equal(plain(tui.truncateToWidth("a longer text", 8, "")), "a longer");
  assert.equal(tui.truncateToWidth(`${RED}longer`, 4, ""), `${RED}long${END}`);
  assert.equal(plain(tui.truncateToWidth("漢字漢字", 5, "")), "漢字");
  assert.equal(tui.truncateToWidth("text", 0), "");
});

test("columns are cut out with their style", () => {
  assert.equal(tui.sliceByColumn("0123456789", 3, 4), "3456");
  assert.equal(tui.sliceByColumn(`${RED}abcdef${END}`, 2, 2), `${RED}cd`);
  assert.equal(tui.sliceByColumn("a漢b", 0, 2, true), "a");
  assert.equal(tui.sliceByColumn("a漢b", 0, 2), "a漢");
});

test("one line is laid over another", () => {
  assert.equal(plain(tui.compositeTuiLine("0123456789", "XY", 3, 4, 12)), "012XY  789  ");
  assert.equal(plain(tui.compositeTuiLine("", "XY", 3, 2, 6)), "   XY ");
  assert.equal(plain(tui.compositeTuiLine("漢漢漢", "X", 1, 1, 6)), " X漢漢");
});

test("fuzzy search ranks whole names over scattered letters", () => {
  assert.equal(tui.fuzzyMatch("xyz", "abc").matches, false);
  assert.ok(tui.fuzzyMatch("read", "read").score < tui.fuzzyMatch("read", "re-a-d").score);
  assert.ok(tui.fuzzyMatch("v2", "2v").matches);
  const files = ["src/main.rs", "docs/main.md", "src/lib.rs"];
  assert.deepEqual(tui.fuzzyFilter(files, "src main", (file) => file), ["src/main.rs"]);
  assert.deepEqual(tui.fuzzyFilter(files, " ", (file) => file), files);
});
