// Fuzzy search: the letters of a query in their order, not necessarily side by side. Lower scores are better.

const WORD_START = /[\s\-_./:]/;
const EXACT_MATCH = -100;
const AT_WORD_START = -10;
const CONSECUTIVE = -5;
const PER_SKIPPED_LETTER = 2;
const PER_LETTER_BEFORE = 0.1;
const SWAPPED = 5;

/** Returns `{matches, score}` of the query in the text, without regard to case. */
export function fuzzyMatch(query, text) {
  const wanted = query.toLowerCase();
  const searched = text.toLowerCase();
  const score = scoreOf(wanted, searched);
  if (score !== undefined) return { matches: true, score };
  // "v2" also finds "2v": names often have a number on either side.
  const halves = /^(?:([a-z]+)([0-9]+)|([0-9]+)([a-z]+))$/.exec(wanted);
  if (halves) {
    const swapped = halves[1] ? halves[2] + halves[1] : halves[4] + halves[3];
    const swappedScore = scoreOf(swapped, searched);
    if (swappedScore !== undefined) return { matches: true, score: swappedScore + SWAPPED };
  }
  return { matches: false, score: 0 };
}

function scoreOf(wanted, searched) {
  let score = 0;
  let last = -1;
  let together = 0;
  for (let index = 0; index < wanted.length; index += 1) {
    const found = searched.indexOf(wanted[index], last + 1);
    if (found < 0) return undefined;
    // The first letter counts as consecutive only at the very start of the text.
    if (found === last + 1) {
      together += 1;
      score += together * CONSECUTIVE;
    } else {
      together = 0;
      if (last >= 0) score += (found - last - 1) * PER_SKIPPED_LETTER;
    }
    if (found === 0 || WORD_START.test(searched[found - 1])) score += AT_WORD_START;
    score += found * PER_LETTER_BEFORE;
    last = found;
  }
  return wanted.length > 0 && wanted === searched ? score + EXACT_MATCH : score;
}

/** Returns the items whose text has every part of the query (parts end at spaces and slashes), best first. */
export function fuzzyFilter(items, query, getText) {
  const parts = query.split(/[\s/]+/).filter(Boolean);
  if (parts.length === 0) return items;
  const found = [];
  for (const item of items) {
    const matches = parts.map((part) => fuzzyMatch(part, getText(item)));
    if (matches.every((match) => match.matches)) {
      found.push({ item, score: matches.reduce((sum, match) => sum + match.score, 0) });
    }
  }
  return found.sort((one, other) => one.score - other.score).map(({ item }) => item);
}
