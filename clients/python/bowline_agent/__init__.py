"""A client of bowline, the headless coding agent.

`AsyncBowline` is for asyncio, `Bowline` for everything else; they have the same methods.
"""

from .addresses import Scheme
from .binary import find_binary
from .client import AsyncBowline, Options, Subscription
from .errors import (
    BinaryNotFound,
    BowlineError,
    CommandFailed,
    CommandTimedOut,
    NotRunning,
    ProcessDied,
    RunTimedOut,
    ToolDefinitionError,
)
from .requests import Decision
from .restart import Restart
from .runs import Run, RunResult
from .sync import Bowline, SyncRun, SyncSubscription
from .tools import Image, Tool, ToolContext, ToolOutput
from .ui import Ui

__all__ = [
    "AsyncBowline",
    "BinaryNotFound",
    "Bowline",
    "BowlineError",
    "CommandFailed",
    "CommandTimedOut",
    "Decision",
    "Image",
    "NotRunning",
    "Options",
    "ProcessDied",
    "Restart",
    "Run",
    "RunResult",
    "RunTimedOut",
    "Scheme",
    "Subscription",
    "SyncRun",
    "SyncSubscription",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolOutput",
    "Ui",
    "find_binary",
]
