"""A provider of models in 40 lines: parrot/grey repeats what you say, and runs `!command` with the tool bash.

bowline --mode rpc --extension examples/extensions/parrot_provider.py --model parrot/grey
"""

from __future__ import annotations

from typing import Iterator

from bowline_extension import Context, Extension, Piece, ProviderRequest, ToolUse, Usage, text_of

ext = Extension("parrot-provider", "1.0.0")

MODELS = [
    {"id": "grey", "name": "African grey", "contextWindow": 32000, "maxTokens": 4096, "input": ["text"]},
    {"id": "macaw", "name": "Loud macaw", "contextWindow": 32000, "maxTokens": 4096, "input": ["text"]},
]


@ext.provider("parrot", MODELS)
def parrot(request: ProviderRequest, ctx: Context) -> Iterator[Piece]:
    last = request["messages"][-1]
    said = text_of(last)
    if last["role"] == "toolResult":
        answer = f"It printed: {said}"
    elif said.startswith("!"):
        yield ToolUse(f"call-{len(request['messages'])}", "bash", {"command": said[1:]})
        return
    else:
        answer = f"You said: {said}"
    if request["model"]["id"] == "macaw":
        answer = answer.upper()
    for word in answer.split(" "):
        yield word + " "
    yield Usage(input=len(said) // 4, output=len(answer) // 4)


if __name__ == "__main__":
    ext.run()
