// Replaces pieces of a text. A piece that is not there as it was written is looked for without regard to typography.

const QUOTES = [
  [/[\u2018-\u201b]/g, "'"],
  [/[\u201c-\u201f]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, "-"],
  [/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, " "],
];

/** Returns a text without differences that models do not reproduce: ends of lines, quotes, dashes, spaces. */
function simplified(text) {
  const trimmed = text.normalize("NFKC").split("\n").map((line) => line.trimEnd()).join("\n");
  return QUOTES.reduce((simple, [pattern, plain]) => simple.replace(pattern, plain), trimmed);
}

const withLineFeeds = (text) => text.replace(/\r\n?/g, "\n");

/** Returns the ending of the first line. */
function lineEnding(text) {
  return /\r?\n/.exec(text)?.[0] ?? "\n";
}

/** Returns the errors of a call. An edit is named by its number only if there are several. */
function errors(path, count) {
  const name = (index) => (count === 1 ? "oldText" : `oldText of edits[${index}]`);
  return {
    empty: (index) => new Error(`${name(index)} in ${path} is empty.`),
    missing: (index) => new Error(`${name(index)} is not in ${path}. Read the file again and copy the text exactly.`),
    several: (index, times) =>
      new Error(`${name(index)} occurs ${times} times in ${path}. Quote more lines, so that it is unique.`),
    overlap: (first, second) => new Error(`edits[${first}] and edits[${second}] overlap in ${path}. Make one edit of them.`),
    unchanged: () => new Error(`${path} would stay the same: newText is what is in the file already.`),
  };
}

/** Returns where each edit is in a text, in the order of the text. */
function locate(text, edits, fail) {
  const simple = simplified(text);
  const places = edits.map(({ oldText, newText }, index) => {
    let start = text.indexOf(oldText);
    let { length } = oldText;
    const plain = simplified(oldText);
    if (start < 0 && simple === text) {
      start = text.indexOf(plain);
      ({ length } = plain);
    }
    if (start < 0) throw fail.missing(index);
    const times = simple.split(plain).length - 1;
    if (times > 1) throw fail.several(index, times);
    return { index, start, end: start + length, newText };
  });
  places.sort((left, right) => left.start - right.start);
  places.forEach((place, at) => {
    const previous = places[at - 1];
    if (previous && previous.end > place.start) throw fail.overlap(previous.index, place.index);
  });
  return places;
}

function replaced(text, places) {
  let result = "";
  let at = 0;
  for (const { start, end, newText } of places) {
    result += text.slice(at, start) + newText;
    at = end;
  }
  return result + text.slice(at);
}

const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];

/** Replaces places of a simplified text, and takes the lines that none of them touches from the original. */
function replacedLines(original, simple, places) {
  const originalLines = linesOf(original);
  const simpleLines = linesOf(simple);
  let result = "";
  let next = 0;
  let offset = 0;
  for (let line = 0; line < simpleLines.length; ) {
    const begin = offset;
    const touched = [];
    let end = line;
    do {
      offset += simpleLines[end].length;
      end += 1;
      while (next < places.length && places[next].start < offset) touched.push(places[next++]);
    } while (touched.length > 0 && touched.at(-1).end > offset && end < simpleLines.length);
    if (touched.length === 0) result += originalLines[line];
    else {
      const inner = touched.map((place) => ({ ...place, start: place.start - begin, end: place.end - begin }));
      result += replaced(simple.slice(begin, offset), inner);
    }
    line = end;
  }
  return result;
}

/** Returns a text with line feeds before and after the edits. */
function applyEdits(text, edits, path) {
  const fail = errors(path, edits.length);
  const wanted = edits.map(({ oldText, newText }) => ({ oldText: withLineFeeds(oldText), newText: withLineFeeds(newText) }));
  wanted.forEach(({ oldText }, index) => {
    if (oldText === "") throw fail.empty(index);
  });
  const isLoose = wanted.some(({ oldText }) => !text.includes(oldText));
  const simple = isLoose ? simplified(text) : text;
  const places = locate(simple, wanted, fail);
  const result = isLoose ? replacedLines(text, simple, places) : replaced(text, places);
  if (result === text) throw fail.unchanged();
  return { before: text, after: result };
}

/** Returns the content of a file after edits, with its line endings and its byte order mark, and both texts to compare. */
export function editContent(content, edits, path) {
  const mark = content.startsWith("\ufeff") ? "\ufeff" : "";
  const text = content.slice(mark.length);
  const ending = lineEnding(text);
  const { before, after } = applyEdits(withLineFeeds(text), edits, path);
  const restored = ending === "\r\n" ? after.replaceAll("\n", "\r\n") : after;
  return { content: mark + restored, before, after };
}
