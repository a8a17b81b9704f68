"""A model whose answers a program writes: it reads the conversation and prints the answer.

bowline --mode rpc --extension examples/extensions/command_model.py --answer-with 'tr a-z A-Z' --model command/default
"""

from __future__ import annotations

import asyncio
import codecs
from asyncio.subprocess import PIPE
from typing import AsyncIterator

from bowline_extension import AsyncContext, Extension, Piece, ProviderError, ProviderRequest

ext = Extension("command-model", "1.0.0")
program = ext.flag("answer-with", "the shell command that writes the answers", default="cat")


@ext.provider("command", [{"id": "default", "name": "A program", "contextWindow": 32_000}])
async def answer(request: ProviderRequest, ctx: AsyncContext) -> AsyncIterator[Piece]:
    process = await asyncio.create_subprocess_shell(program.value, stdin=PIPE, stdout=PIPE)
    assert process.stdin and process.stdout
    try:
        process.stdin.write(conversation(request).encode())
        process.stdin.write_eof()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        while piece := await process.stdout.read(4096):
            yield decode(piece)
        if code := await process.wait():
            raise ProviderError(f"{program.value!r} exited with code {code}", kind="refused")
    finally:
        if process.returncode is None:
            process.kill()


def conversation(request: ProviderRequest) -> str:
    """Returns what the user and the model have said so far."""
    lines = []
    for message in request["messages"]:
        lines += [block["text"] for block in message["content"] if block["type"] == "text"]
    return "\n".join(lines)


ext.run()
