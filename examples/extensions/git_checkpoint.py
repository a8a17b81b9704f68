"""Keeps a checkpoint of the working tree before each turn, with untracked files. /checkpoints lists them, and
/restore N brings one back. Nothing of yours moves: no branch, no index, no stash.

bowline --mode rpc --extension examples/extensions/git_checkpoint.py
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import List

from bowline_extension import Context, Extension, TurnStartEvent

ext = Extension("git-checkpoint", "1.0.0")


def git(ctx: Context, *arguments: str, index: str = "") -> str:
    """Runs git in the session's folder, with an index of its own if one is named."""
    environment = {**os.environ, **({"GIT_INDEX_FILE": index} if index else {})}
    done = subprocess.run(["git", *arguments], cwd=ctx.cwd, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def checkpoints(ctx: Context) -> List[str]:
    prefix = f"refs/bowline/{ctx.session.id}"
    return git(ctx, "for-each-ref", "--sort=refname", "--format=%(refname)", prefix).split()


@ext.on("turn_start")
def save(event: TurnStartEvent, ctx: Context) -> None:
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ctx.cwd, capture_output=True).returncode != 0:
        return  # Not a repository, or one without a commit.
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        git(ctx, "add", "--all", ":/", index=index)
        tree = git(ctx, "write-tree", index=index)
    saved = checkpoints(ctx)
    if saved and git(ctx, "rev-parse", f"{saved[-1]}^{{tree}}") == tree:
        return  # Nothing has changed since the last one.
    author = ["-c", "user.name=bowline", "-c", "user.email=bowline@localhost"]
    commit = git(ctx, *author, "commit-tree", tree, "-p", "HEAD", "-m", f"Before turn {event['turnIndex']}")
    git(ctx, "update-ref", f"refs/bowline/{ctx.session.id}/{len(saved) + 1:06}", commit)
    ctx.session.append_entry("git-checkpoint", {"commit": commit, "number": len(saved) + 1})
    ctx.ui.set_status("git-checkpoint", f"checkpoint {len(saved) + 1}")


@ext.command("checkpoints")
def show(arguments: str, ctx: Context) -> None:
    """Lists the checkpoints of this session"""
    saved = enumerate(checkpoints(ctx), 1)
    lines = [git(ctx, "log", "-1", f"--format={number} %h %s (%ar)", ref) for number, ref in saved]
    ctx.ui.notify("\n".join(lines) or "There are no checkpoints yet.")


@ext.command("restore")
def restore(arguments: str, ctx: Context) -> None:
    """Brings a checkpoint back: /restore N"""
    saved = checkpoints(ctx)
    if not arguments.isdigit() or not 1 <= int(arguments) <= len(saved):
        ctx.ui.notify(f"Which one? /restore N, with N from 1 to {len(saved)}", "error")
        return
    git(ctx, "restore", "--source", saved[int(arguments) - 1], "--worktree", "--", ":/")
    ctx.ui.notify(f"The files are as in checkpoint {arguments}. Files that were added since then are still there.")


if __name__ == "__main__":
    ext.run()
