"""What can go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

if TYPE_CHECKING:
    from .runs import RunResult


class BowlineError(Exception):
    """Any error of this package."""


class BinaryNotFound(BowlineError):
    """There is no program to start."""


class NotRunning(BowlineError):
    """The client was not started, or it was stopped."""


class CommandFailed(BowlineError):
    """bowline refused a command. Decide by `code`; the text is for people and may change."""

    def __init__(self, response: Mapping[str, Any]) -> None:
        self.response = dict(response)
        self.command: Optional[str] = response.get("command")
        self.code: str = str(response.get("code", "internal"))
        self.error: str = str(response.get("error", "the response has no error text"))
        super().__init__(f"{self.command}: {self.error} ({self.code})")


class CommandTimedOut(BowlineError, TimeoutError):
    """No response came in time. bowline may still carry the command out."""

    def __init__(self, command: str, seconds: float) -> None:
        self.command = command
        self.seconds = seconds
        super().__init__(f"{command}: no response within {seconds:g} seconds; timeout= sets another limit")


class RunTimedOut(BowlineError, TimeoutError):
    """A run took longer than its caller allowed, and was aborted. `result` has what there was by then."""

    def __init__(self, seconds: float, result: RunResult) -> None:
        self.seconds = seconds
        self.result = result
        super().__init__(f"the run was aborted after {seconds:g} seconds")


class ProcessDied(BowlineError):
    """The process ended while something was waited for.

    `exit_code` is negative if a signal ended it, as in `subprocess`. `stderr` has the last lines it wrote there, and
    `reason` what it gave as the reason if it could not start.
    """

    def __init__(self, exit_code: Optional[int], stderr: Sequence[str] = (), reason: Optional[str] = None) -> None:
        self.exit_code = exit_code
        self.stderr = list(stderr)
        self.reason = reason
        how = "bowline ended"
        if exit_code is not None:
            how += f" by signal {-exit_code}" if exit_code < 0 else f" with exit code {exit_code}"
        details = [reason] if reason else self.stderr[-20:]
        super().__init__(": ".join([how, "\n".join(details)]) if details else how)


class ToolDefinitionError(BowlineError):
    """A function cannot be offered to the model as it is."""
