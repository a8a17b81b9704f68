// Which characters take two columns: East Asian Width "Wide" and "Fullwidth" of the Unicode standard.
//
// A range is its distance from the end of the range before, and after "+" how many more characters
// it has, both in base 36.

const RANGES =
  "3cw+2n 3i3+1 e+1 5b+3 4 3 ei+1 m+1 r+7 h+b 18 b+5 4 e 9+1 i+1 6+1 9 6 m 8+1 2 5 3 8 5+1 t 10 2 " +
  "5+2 2 1q+2 p f nw+1 1g 5 mj+p 2+2g d+5x r+26 3+2d 3+2u 6+16 2+2l 2+2d a+1b 2+13 9+mkc 4+1i wq+s " +
  "hw+8mb 6l9+e7 lt+9 n+y 2+i 2+3 46+2n 3k+6 m4a+4 c+6 a+5p1 16+v 2q+36 6pq+3 2+6 2+1 2+82 g u+2 3 " +
  "f+3 9+az 6bp+2e a+m 5n2 5n 5b 3+9 2u+2 e+17 5+8 8+1 f+5 4b+w d+8 2+1x 2+l d+16 5+4 d+g 4 4+1y 2 " +
  "2+56 3+1q e+3 2+n j r+1 e 2f+2c 1d+1x 7 4+2 3+3 4+3 c+1 8+8 6c+b 5 7w+1a 2+9 2+54 35+c 4+a 4+1k " +
  "2 5+f 3+b 5+9 zs+1ekd 3+1ekd";

let starts;
let ends;

function decode() {
  starts = [];
  ends = [];
  let position = 0;
  for (const range of RANGES.split(" ")) {
    const [distance, more = "0"] = range.split("+");
    position += parseInt(distance, 36);
    starts.push(position);
    position += parseInt(more, 36);
    ends.push(position);
  }
}

/** Returns whether the character takes two columns. */
export function isWide(codePoint) {
  // The first wide character is U+1100; nearly all text lies before it.
  if (codePoint < 0x1100) return false;
  if (!starts) decode();
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= codePoint) low = middle;
    else high = middle - 1;
  }
  return codePoint >= starts[low] && codePoint <= ends[low];
}
