"""How long the client waits for the response to a command."""

import enum
from typing import Union


class _Default(enum.Enum):
    DEFAULT = "the limit of the command"


DEFAULT = _Default.DEFAULT
"""The limit of the command: see `LIMITS`."""

Timeout = Union[float, None, _Default]
"""Seconds, `None` to wait forever, or `DEFAULT`."""

USUAL = 30.0

LIMITS = {
    # As long as a model, a command of the user or a compaction takes.
    "prompt": 1800.0,
    "compact": 1800.0,
    "navigate_tree": 1800.0,
    "bash": None,
    # As long as the user takes.
    "login": None,
    # Until a run has ended. A tool that does not stop is abandoned after two seconds.
    "abort": 60.0,
    "new_session": 60.0,
    # As long as it takes to read and write files.
    "switch_session": 300.0,
    "fork": 300.0,
    "clone": 300.0,
    "list_sessions": 300.0,
    "delete_session": 300.0,
    "export_html": 300.0,
    "get_changes": 300.0,
    "undo": 300.0,
    "redo": 300.0,
    "get_pending_changes": 300.0,
    "accept_changes": 300.0,
    "discard_changes": 300.0,
    # The sandbox is made first.
    "get_sandbox": 60.0,
    "set_sandbox": 60.0,
}
"""The limits of commands that may take longer than `USUAL`, in seconds."""


def seconds(command: str, timeout: Timeout) -> Union[float, None]:
    """Returns how long to wait for the response to this command."""
    if isinstance(timeout, _Default):
        return LIMITS.get(command, USUAL)
    return timeout
