// The length of a text as `minLength` and `maxLength` count it: what a reader sees as one character counts once.

const ASCII = /^[\x00-\x7f]*$/;
const between = (point, first, last) => point >= first && point <= last;

function isJoined(point) {
  return (
    between(point, 0x0300, 0x036f) || between(point, 0x1ab0, 0x1aff) || between(point, 0x1dc0, 0x1dff) ||
    between(point, 0xfe20, 0xfe2f) || between(point, 0xfe00, 0xfe0f)
  );
}

/** Returns the number of characters of a text. */
export function textLength(text) {
  if (ASCII.test(text)) return text.length;
  let count = 0;
  let joining = false;
  let flagOpen = false;
  for (const character of text) {
    const point = character.codePointAt(0);
    const flag = between(point, 0x1f1e6, 0x1f1ff);
    if (count > 0 && (isJoined(point) || joining || point === 0x200d)) {
      joining = point === 0x200d || (joining && isJoined(point));
      continue;
    }
    // Two letters of a flag are one character.
    if (flag && flagOpen) {
      flagOpen = false;
      continue;
    }
    flagOpen = flag;
    count += 1;
  }
  return count;
}
