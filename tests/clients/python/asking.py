"""An extension that asks everything there is to ask, for the tests of dialogs."""

import os
import sys

sys.path.insert(0, os.environ["SDK"])

from bowline_extension import Context, Extension  # noqa: E402

ext = Extension("asking", "1.0.0")


@ext.command("ask")
def ask(arguments: str, ctx: Context) -> None:
    """Asks the user."""
    answers = [
        ctx.ui.select("Which?", ["a", "b"]),
        ctx.ui.confirm("Sure?", "really"),
        ctx.ui.input("Name?"),
        ctx.ui.editor("Text?", "before"),
    ]
    ctx.ui.notify(f"answers: {answers}")


if __name__ == "__main__":
    ext.run()
