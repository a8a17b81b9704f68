"""Keeps the tools write and edit away from secrets, git's own files and installed packages.

The protected names are set with --protect, separated by commas:
bowline --mode rpc --extension examples/extensions/protected_paths.py --protect .env,secrets
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from bowline_extension import Context, Extension, ToolCallEvent, ToolCallResult

ext = Extension("protected-paths", "1.0.0")
protect = ext.flag("protect", "Names of files and folders that no tool may change", default=".env,.git,node_modules")


@ext.on("tool_call", tool=["write", "edit"])
def protect_paths(event: ToolCallEvent, ctx: Context) -> Optional[ToolCallResult]:
    path = event["input"].get("path", "")
    # A link or `..` must not lead around the check.
    target = (Path(ctx.cwd) / path).resolve()
    names = {name.strip() for name in protect.value.split(",")}
    protected = names.intersection(target.parts) | names.intersection(Path(path).parts)
    if not protected:
        return None
    ctx.ui.notify(f"Blocked {event['toolName']} to {path}", "warning")
    return {"block": True, "reason": f"{path} is protected by the user ({', '.join(sorted(protected))})."}


if __name__ == "__main__":
    ext.run()
