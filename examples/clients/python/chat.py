"""A chat in the terminal.

python3 examples/clients/python/chat.py --model scripted/demo
"""

import sys
from contextlib import suppress
from typing import Iterator

from bowline_agent import Bowline, CommandFailed, Ui
from bowline_agent.protocol import ConfirmExtensionUiRequestRecord


class Terminal(Ui):
    def confirm(self, request: ConfirmExtensionUiRequestRecord) -> bool:
        return input(f"{request['title']} {request['message']} [y/N] ").lower().startswith("y")


def lines() -> Iterator[str]:
    with suppress(EOFError):
        while True:
            yield input("\n> ")


with Bowline(arguments=sys.argv[1:], ui=Terminal()) as agent:
    for line in lines():
        try:
            for event in agent.prompt(line):
                if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta":
                    print(event["assistantMessageEvent"]["delta"], end="", flush=True)
                elif event["type"] == "tool_execution_start":
                    print(f"\n[{event['toolName']}]", flush=True)
                elif event["type"] == "agent_settled" and "error" in event:
                    print(f"\nfailed: {event['error']}")
        except CommandFailed as failure:
            print(failure.error)
        except KeyboardInterrupt:
            agent.abort()
    print()
