"""my-extension: asks before dangerous commands, counts words, and greets.

Try it out:  bowline extension check .
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

from bowline_extension import Context, Extension, ToolCallEvent, ToolCallResult

ext = Extension("my-extension", "0.1.0")


@ext.on("tool_call", tool=["bash"])
def ask_before_deleting(event: ToolCallEvent, ctx: Context) -> Optional[ToolCallResult]:
    """Runs before each call of the tool bash. What it returns decides what happens to the call."""
    command = event["input"].get("command", "")
    if "rm -rf" in command and not ctx.ui.confirm("Run this command?", command):
        return {"block": True, "reason": "The user refused this command."}
    return None


@ext.tool()
def count_words(path: Annotated[str, "A text file, relative to the working directory"], ctx: Context) -> str:
    """Counts the words of a text file."""
    words = (Path(ctx.cwd) / path).read_text(encoding="utf-8").split()
    return f"{len(words)} words"


@ext.command()
def hello(arguments: str, ctx: Context) -> None:
    """Greets: /hello NAME"""
    ctx.ui.notify(f"Hello, {arguments or 'you'}!")


if __name__ == "__main__":
    ext.run()
