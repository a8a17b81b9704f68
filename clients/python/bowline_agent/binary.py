"""Finds the program."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, Optional, Union

from .errors import BinaryNotFound

NAME = "bowline.exe" if sys.platform == "win32" else "bowline"


def find_binary(binary: Union[str, "os.PathLike[str]", None] = None) -> str:
    """Returns the path of bowline: the one given, `BOWLINE`, the one installed with this package, or that in `PATH`."""
    if binary is not None:
        return named(os.fspath(binary), "binary=")
    from_environment = os.environ.get("BOWLINE")
    if from_environment:
        return named(from_environment, "the environment variable BOWLINE")
    for candidate in bundled():
        if runnable(candidate):
            return str(candidate)
    in_path = shutil.which("bowline")
    if in_path:
        return in_path
    raise BinaryNotFound(
        "There is no bowline beside this package and none in PATH. The wheel for this system has it, unless pip took the one "
        "for all systems. Build it in its repository with `cargo install --path crates/cli --locked`, set the environment variable BOWLINE to its path, "
        "or pass binary=PATH."
    )


def named(program: str, origin: str) -> str:
    """Returns the program that somebody named. One that is not there is an error: another one could be too old."""
    found = program if os.sep in program else shutil.which(program)
    if found is None or not runnable(Path(found)):
        raise BinaryNotFound(f"{origin} names {program!r}, which is no program that can be run")
    return os.path.abspath(found)


def bundled() -> Iterator[Path]:
    """Yields where pip may have put the program of the wheel."""
    for scheme in (None, f"{os.name}_user"):
        scripts: Optional[str] = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        if scripts:
            yield Path(scripts) / NAME
    packages = Path(__file__).resolve().parents[1]
    # With --target, it is beside the package; with --prefix, the package is in lib/python3.x/site-packages of the prefix.
    folder, levels = ("Scripts", 1) if sys.platform == "win32" else ("bin", 2)
    yield packages / folder / NAME
    if packages.name == "site-packages":
        yield packages.parents[levels] / folder / NAME


def runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
