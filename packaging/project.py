"""What every package needs to know of the project: its version, its targets and when it was last changed."""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DESCRIPTION = "A headless coding agent that any program drives over JSON lines"


@dataclass(frozen=True)
class Target:
    """A system that bowline is built for, and what packages call it."""

    triple: str
    npm_os: str
    npm_cpu: str
    wheel: str
    """The platform of the wheel; on Linux the architecture, because the rest depends on the binary."""
    debian: str = ""
    """The architecture of the Debian package; empty if there is none."""
    is_static: bool = False

    @property
    def is_linux(self):
        return self.npm_os == "linux"

    @property
    def program(self):
        return "bowline.exe" if self.npm_os == "win32" else "bowline"

    @property
    def npm_package(self):
        return f"bowline-agent-{self.npm_os}-{self.npm_cpu}"


TARGETS = {
    target.triple: target
    for target in [
        Target("x86_64-unknown-linux-gnu", "linux", "x64", "x86_64", debian="amd64"),
        Target("aarch64-unknown-linux-gnu", "linux", "arm64", "aarch64", debian="arm64"),
        Target("x86_64-unknown-linux-musl", "linux", "x64", "x86_64", is_static=True),
        Target("aarch64-unknown-linux-musl", "linux", "arm64", "aarch64", is_static=True),
        # The oldest systems that Rust's standard library supports.
        Target("x86_64-apple-darwin", "darwin", "x64", "macosx_10_12_x86_64"),
        Target("aarch64-apple-darwin", "darwin", "arm64", "macosx_11_0_arm64"),
        Target("x86_64-pc-windows-msvc", "win32", "x64", "win_amd64"),
        Target("aarch64-pc-windows-msvc", "win32", "arm64", "win_arm64"),
    ]
}


@cache
def version():
    """The version of the workspace: Cargo.toml is the only place that has it."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


@cache
def host():
    """The target of this machine."""
    lines = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))


@cache
def timestamp():
    """The time that files in packages have: that of the last commit, so that the same commit makes the same packages."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    # 1980 is the earliest time that a ZIP archive can have.
    return int(result.stdout) if result.returncode == 0 else 315532800
