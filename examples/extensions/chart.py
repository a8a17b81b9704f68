"""A tool that draws a bar chart and shows its progress. The picture is made here, without any package.

bowline --mode rpc --extension examples/extensions/chart.py
"""

from __future__ import annotations

import struct
import zlib
from typing import Annotated, List

from bowline_extension import Context, Extension, ToolResult, image, text

ext = Extension("chart", "1.0.0")

BAR, GAP, HEIGHT = 24, 8, 120
PAPER, INK = (255, 255, 255), (40, 90, 200)


@ext.tool(prompt_snippet="chart: draws numbers as bars", prompt_guidelines=["Draw a chart when numbers are compared."])
def chart(values: Annotated[List[float], "The numbers, at most 100, none negative"], ctx: Context) -> ToolResult:
    """Draws numbers as a bar chart and returns the picture."""
    if not 1 <= len(values) <= 100 or min(values) < 0:
        raise ValueError("a chart has 1 to 100 numbers, none of them negative")
    highest = max(values) or 1
    width = GAP + len(values) * (BAR + GAP)
    rows = [[PAPER] * width for _ in range(HEIGHT)]
    for number, value in enumerate(values):
        ctx.raise_if_cancelled()
        left = GAP + number * (BAR + GAP)
        for row in rows[HEIGHT - round(value / highest * HEIGHT) :]:
            row[left : left + BAR] = [INK] * BAR
        ctx.update(f"{number + 1} of {len(values)} bars", {"percent": round(100 * (number + 1) / len(values))})
    picture = image(png(rows))
    return ToolResult([text(f"A chart of {len(values)} bars."), picture], details={"width": width, "height": HEIGHT})


def png(rows: List[List[tuple[int, int, int]]]) -> bytes:
    """Returns an image in the format PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(channel for pixel in row for channel in pixel) for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    ext.run()
