"""The wheels: the Python client, with the binary or without.

hatchling builds them, by clients/python/pyproject.toml; `hatch_build.py` beside it adds the binary that is named here. It is
not maturin because that one compiles the program itself, and so cannot take the one of ./package, whose functions are in
the order of its start, or the one that all other packages of a release contain.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from linkage import inspect
from project import ROOT, timestamp


def platforms(binary, target):
    """Returns the platforms of the wheel, by what the binary needs."""
    if not target.is_linux:
        return target.wheel
    linkage = inspect(binary)
    if linkage.is_static:
        # pip compares with the C library of the system, and this one needs none. The oldest that pip knows are named.
        return f"manylinux_2_17_{target.wheel}.manylinux2014_{target.wheel}.musllinux_1_1_{target.wheel}"
    if linkage.glibc is None or not linkage.interpreter.startswith(("/lib64/ld-linux", "/lib/ld-linux")):
        sys.exit(f"{binary}: linked with another C library than glibc, and not statically: no wheel can say so")
    major, minor = linkage.glibc
    return f"manylinux_{major}_{minor}_{target.wheel}"


def build(out, binary=None, target=None, extras=None):
    """Builds a wheel, pure Python if there is no binary, and returns its path."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(timestamp())}
    with tempfile.TemporaryDirectory(prefix="bowline-wheel-") as folder:
        if binary is not None:
            # The name of the binary is that of the command.
            program = shutil.copy(binary, Path(folder, target.program))
            environment |= {
                "BOWLINE_WHEEL_BINARY": str(program),
                "BOWLINE_WHEEL_TAG": f"py3-none-{platforms(binary, target)}",
                "BOWLINE_WHEEL_EXTRAS": str(extras),
            }
        built = Path(folder, "built")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, ROOT / "clients/python"]
        subprocess.run(command, check=True, env=environment)
        (wheel,) = built.iterdir()
        return Path(shutil.copy(wheel, out))
