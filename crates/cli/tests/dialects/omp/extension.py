"""An extension for tests: /dialog asks and shows the answer, /display shows something, and so on."""

import json

from bowline_extension import Context, Extension

ext = Extension("tested", "1.0.0")


@ext.command("dialog")
def dialog(arguments: str, ctx: Context) -> None:
    method, given = arguments.split(" ", 1)
    answer = getattr(ctx.ui, method)(**json.loads(given))
    ctx.ui.notify(json.dumps(answer), "warning")


@ext.command("display")
def display(arguments: str, ctx: Context) -> None:
    method, given = arguments.split(" ", 1)
    getattr(ctx.ui, method)(*json.loads(given))


@ext.command("explode")
def explode(arguments: str, ctx: Context) -> None:
    raise ValueError("the command exploded")


@ext.on("input")
def refuse(event, ctx: Context) -> None:
    if event["text"] == "boom":
        raise ValueError("the hook exploded")


@ext.command("quit")
def leave(arguments: str, ctx: Context) -> None:
    ctx.shutdown()


ext.run()
