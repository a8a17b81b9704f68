"""What a Linux binary needs of the system that it runs on. `readelf` comes with every linker that could build it."""

import re
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Linkage:
    interpreter: str | None
    libraries: tuple[str, ...]
    glibc: tuple[int, int] | None
    """The oldest version of the GNU C library that has every symbol."""

    @property
    def is_static(self):
        return self.interpreter is None and not self.libraries


def inspect(binary):
    command = ["readelf", "--wide", "--program-headers", "--dynamic", "--version-info", str(binary)]
    text = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8", env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    ).stdout
    interpreter = re.search(r"\[Requesting program interpreter: (.+)\]", text)
    versions = [tuple(map(int, found)) for found in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)]
    return Linkage(
        interpreter=interpreter and interpreter[1],
        libraries=tuple(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", text)),
        glibc=max(versions, default=None),
    )
