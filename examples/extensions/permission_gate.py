"""Asks the user before commands that can do damage. Without a user to ask, it blocks them.

bowline --mode rpc --extension examples/extensions/permission_gate.py
"""

from __future__ import annotations

import re
from typing import Optional, Set

from bowline_extension import Context, Extension, ToolCallEvent, ToolCallResult

ext = Extension("permission-gate", "1.0.0")

DANGEROUS = {
    "deletes folders": re.compile(r"\brm\s+(-\w+\s+)*-\w*[rR]"),
    "acts as root": re.compile(r"\b(sudo|doas)\b"),
    "opens files to everybody": re.compile(r"\bchmod\b.*\b(777|a\+w)\b"),
    "overwrites what was pushed": re.compile(r"\bgit\s+push\b.*(--force|-f)\b"),
    "runs what it downloads": re.compile(r"\b(curl|wget)\b.*\|\s*(ba|z)?sh\b"),
}

ONCE, ALWAYS, NEVER = "Allow", "Allow for this session", "Block"
allowed: Set[str] = set()


@ext.on("tool_call", tool="bash")
def gate(event: ToolCallEvent, ctx: Context) -> Optional[ToolCallResult]:
    command = event["input"].get("command", "")
    reasons = [reason for reason, pattern in DANGEROUS.items() if pattern.search(command) and reason not in allowed]
    if not reasons:
        return None
    choice = ctx.ui.select(f"This command {' and '.join(reasons)}:\n\n  {command}\n", [ONCE, ALWAYS, NEVER])
    if choice == ALWAYS:
        allowed.update(reasons)
    if choice in (ONCE, ALWAYS):
        return None
    return {"block": True, "reason": f"Blocked: the command {' and '.join(reasons)}, and the user did not allow it."}


@ext.on("session_start")
def forget(event: object, ctx: Context) -> None:
    allowed.clear()


if __name__ == "__main__":
    ext.run()
