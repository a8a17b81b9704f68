#!/usr/bin/env python3
"""Draws docs/pictures/demo.svg from a real run of `bowline demo` in a terminal.

    docs/pictures/draw_demo.py           writes the picture
    docs/pictures/draw_demo.py --check   fails if the demo shows something else than the picture, figures aside

The program is target/debug/bowline, or the one that BOWLINE names.
"""

import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/pictures/demo.svg"
COLUMNS = 100
LINES_PER_STEP = 6
TRIES = 5
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN, BAR = 7.8, 18, 16, 30
COLOURS = {"1": "#f0f6fc", "2": "#8b949e", "31": "#ff7b72", "32": "#7ee787", "33": "#d29922", "36": "#79c0ff"}
DEFAULT_COLOUR = "#c9d1d9"
STYLE = re.compile("\x1b\\[([0-9;]*)m")


def run_demo():
    """Returns what the demo writes to a terminal, line by line, with its escape sequences."""
    program = os.environ.get("BOWLINE", str(ROOT / "target/debug/bowline"))
    child, terminal = pty.fork()
    if child == 0:
        # Before the demo looks at it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        os.environ.update(TERM="xterm-256color")
        for name in ("NO_COLOR", "COLUMNS"):
            os.environ.pop(name, None)
        os.execv(program, ["bowline", "demo"])
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # The end of a terminal is an error on Linux.
            break
        if not piece:
            break
        written += piece
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"{program} demo ended with {status}:\n{written.decode(errors='replace')}")
    return written.decode().replace("\r\n", "\n").split("\n")


def plain(line):
    return STYLE.sub("", line)


def chosen(lines):
    """Returns the command, and of each step its heading and its first records."""
    start = next(index for index, line in enumerate(lines) if plain(line).startswith("$ "))
    shown = [lines[start]]
    for heading, records in steps(lines[start + 1 :]):
        shown.extend(["", heading])
        room = LINES_PER_STEP
        for index, record in enumerate(records):
            if len(record) > room:
                hidden = sum(len(later) for later in records[index:])
                shown.append(f"\x1b[2m            ⋮ {hidden} more lines\x1b[0m")
                break
            shown.extend(record)
            room -= len(record)
    return shown


def steps(lines):
    """Returns the steps of the demo: a heading, and the lines of each record after it."""
    found = []
    for line in filter(plain, lines):
        if plain(line).startswith("# "):
            found.append((line, []))
        elif found and plain(line).startswith(" " * 12):
            found[-1][1][-1].append(line)
        elif found:
            found[-1][1].append([line])
    return found


def spans(line):
    """Splits a line into pieces of one colour."""
    position, codes, pieces = 0, "", []
    for match in STYLE.finditer(line):
        if match.start() > position:
            pieces.append((codes, line[position : match.start()]))
        codes, position = match.group(1), match.end()
    if position < len(line):
        pieces.append((codes, line[position:]))
    return pieces


def draw_line(line, top):
    drawn = []
    for codes, text in spans(line):
        names = codes.split(";")
        colour = next((COLOURS[name] for name in names if name in COLOURS), DEFAULT_COLOUR)
        bold = ' font-weight="bold"' if "1" in names else ""
        drawn.append(f'<tspan fill="{colour}"{bold}>{html.escape(text, quote=False)}</tspan>')
    return f'<text x="{MARGIN}" y="{top}" xml:space="preserve">{"".join(drawn)}</text>'


def draw(lines):
    width = round(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
    height = BAR + MARGIN + len(lines) * LINE_HEIGHT + MARGIN
    rows = [draw_line(line, BAR + MARGIN + (index + 0.7) * LINE_HEIGHT) for index, line in enumerate(lines) if line]
    dots = "".join(
        f'<circle cx="{20 + 18 * index}" cy="{BAR / 2 + 2}" r="5.5" fill="{colour}"/>'
        for index, colour in enumerate(["#ff5f56", "#ffbd2e", "#27c93f"])
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-label="A recorded run of bowline demo in a terminal">',
            f'<rect width="{width}" height="{height}" rx="10" fill="#0d1117"/>',
            dots,
            '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace"'
            ' font-size="13" text-rendering="geometricPrecision">',
            *rows,
            "</g>",
            "</svg>",
            "",
        ]
    )


def without_figures(picture):
    """Returns the text of a picture without what differs from run to run: times, and where lines are wrapped."""
    text = "".join(re.findall(r"<tspan[^>]*>([^<]*)", picture))
    text = re.sub("⋮ [0-9]+ more lines", "⋮", text)
    return re.sub(r"[0-9\s]", "", text)


def is_up_to_date():
    """Tells whether the demo shows what the picture shows. What happens at the same time is in another order in some runs."""
    shown = without_figures(PICTURE.read_text(encoding="utf-8"))
    return any(without_figures(draw(chosen(run_demo()))) == shown for _ in range(TRIES))


def main():
    if sys.argv[1:] == ["--check"]:
        if not is_up_to_date():
            sys.exit("docs/pictures/demo.svg does not show what the demo writes: run docs/pictures/draw_demo.py")
        print("docs/pictures/demo.svg shows what the demo writes")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        picture = draw(chosen(run_demo()))
        PICTURE.write_text(picture, encoding="utf-8")
        print(f"docs/pictures/demo.svg: {len(picture)} bytes")


main()
