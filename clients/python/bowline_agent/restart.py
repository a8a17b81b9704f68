"""What is needed to go on in another process after a crash."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from .backlog import Record

# Commands whose effect lasts as long as the process, and is given to the next one.
LASTING = (
    "set_model",
    "set_thinking_level",
    "set_steering_mode",
    "set_follow_up_mode",
    "set_auto_compaction",
    "set_auto_retry",
    "set_sandbox",
    "set_approvals",
    "set_limits",
    "set_client_capabilities",
    "set_host_tools",
    "set_host_uri_schemes",
    "set_subagent_subscription",
)
# Commands after which another session, model or thinking level may be in use, and their responses do not say which.
STATE_CHANGES = ("new_session", "switch_session", "fork", "clone")
# Flags that choose a session. They are said once; after a crash, the session is named by its file.
SESSION_FLAGS = ("--session", "--session-id", "--resume", "--fork", "--continue", "-c", "--no-session")


@dataclass(frozen=True)
class Restart:
    """Starts bowline again after a crash, and continues the session.

    What was waited for fails with `ProcessDied` all the same: the run that was interrupted is not repeated, because the
    model may have done half of the work.
    """

    attempts: int = 3
    """How many restarts there may be `within` so many seconds; then the client gives up."""
    within: float = 60.0
    delay: float = 0.2
    """The seconds before the first restart; doubled with each one."""


class Memory:
    """What a client remembers for the next process."""

    def __init__(self, policy: Optional[Restart]) -> None:
        self._policy = policy
        self._restarts: List[float] = []
        self._lasting: Dict[str, Dict[str, Any]] = {}
        self.session_file: Optional[str] = None
        self.session_id: Optional[str] = None

    def next_delay(self) -> Optional[float]:
        """Returns how long to wait before the next restart, or `None` if there is to be none."""
        if self._policy is None:
            return None
        now = time.monotonic()
        self._restarts = [at for at in self._restarts if now - at < self._policy.within]
        if len(self._restarts) >= self._policy.attempts:
            return None
        self._restarts.append(now)
        return float(self._policy.delay * 2 ** (len(self._restarts) - 1))

    def succeeded(self, name: str, fields: Mapping[str, Any], data: Any) -> None:
        """Remembers a command that had success."""
        given = {key: value for key, value in fields.items() if value is not None}
        if name in LASTING:
            # What a command does not mention stays as it was.
            self._lasting[name] = merged(self._lasting.get(name, {}), given)
        elif name == "cycle_model" and data is not None:
            model = data["model"]
            self._lasting["set_model"] = {"provider": model["provider"], "modelId": model["id"]}
        elif name == "cycle_thinking_level" and data is not None:
            self._lasting["set_thinking_level"] = {"level": data["level"]}

    @property
    def is_needed(self) -> bool:
        """Whether there may be a next process."""
        return self._policy is not None

    def state(self, state: Mapping[str, Any]) -> None:
        """Remembers which session is open, with which model."""
        self.session_file = state.get("sessionFile")
        self.session_id = state.get("sessionId")
        model = state.get("model")
        if model is not None:
            self._lasting["set_model"] = {"provider": model["provider"], "modelId": model["id"]}
        if "thinkingLevel" in state:
            self._lasting["set_thinking_level"] = {"level": state["thinkingLevel"]}

    def arguments(self) -> List[str]:
        """Returns the flags that continue the session."""
        if self.session_file is None:
            return ["--no-session"]
        if os.path.exists(self.session_file) or self.session_id is None:
            return ["--session", self.session_file]
        # The file of a session that is still empty does not exist yet.
        return ["--session-id", self.session_id]

    def commands(self) -> Iterator[Tuple[str, Record]]:
        """Yields the commands that restore what lasted, the model before its thinking level."""
        for name in LASTING:
            if name in self._lasting:
                yield name, self._lasting[name]


def merged(before: Mapping[str, Any], later: Mapping[str, Any]) -> Dict[str, Any]:
    """Merges objects, also within fields, such as the scopes of limits. Lists are replaced."""
    result = dict(before)
    for key, value in later.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
