#!/usr/bin/env python3
"""Builds packages. Usage:

    packaging/pack.py BINARY KIND...  [--target TRIPLE] [--out FOLDER] [--maintainer "NAME <ADDRESS>"]
    packaging/pack.py KIND...         [--out FOLDER]
    packaging/pack.py --version

Kinds with a binary: archive, wheel, npm, deb. Kinds without: pure-wheel, npm-client. The target is this machine's unless
--target names another one, and the packages go to target/packages. The binary has to run here, since it prints its manual
pages and completions itself.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import archive
import deb
import extras
import npm
import wheel
from project import ROOT, TARGETS, host, version

WITH_BINARY = {"archive": archive.build, "wheel": None, "npm": npm.build_platform, "deb": None}
WITHOUT_BINARY = {"pure-wheel": wheel.build, "npm-client": npm.build_client}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage:\n\n")[1], add_help=True)
    parser.add_argument("words", nargs="+")
    parser.add_argument("--target", default=None)
    parser.add_argument("--out", type=Path, default=ROOT / "target/packages")
    parser.add_argument("--maintainer", default=deb.MAINTAINER)
    parser.add_argument("--version", action="version", version=version())
    given = parser.parse_args()
    kinds = [*WITH_BINARY, *WITHOUT_BINARY]
    binary = None if given.words[0] in kinds else Path(given.words.pop(0)).resolve()
    if unknown := [word for word in given.words if word not in kinds]:
        parser.error(f"unknown kind {unknown[0]}; there are {', '.join(kinds)}")
    if binary is None and any(kind in WITH_BINARY for kind in given.words):
        parser.error("which binary?")
    if binary is not None and not binary.is_file():
        parser.error(f"there is no binary {binary}")
    if given.target not in (None, *TARGETS):
        parser.error(f"unknown target {given.target}; there are {', '.join(TARGETS)}")
    return given, binary


def main():
    given, binary = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    target = TARGETS[given.target or host()]
    with tempfile.TemporaryDirectory(prefix="bowline-packages-") as folder:
        extra = Path(folder, "extras")
        if binary is not None:
            extras.write(binary, target, extra)
        for kind in given.words:
            print(f"pack: {kind} …", end="", file=sys.stderr, flush=True)
            if kind in WITHOUT_BINARY:
                package = WITHOUT_BINARY[kind](given.out)
            elif kind == "wheel":
                package = wheel.build(given.out, binary, target, extra)
            elif kind == "deb":
                package = deb.build(binary, target, extra, given.out, given.maintainer)
            else:
                package = WITH_BINARY[kind](binary, target, extra, given.out)
            print(f"\rpack: {kind}: {package.name}, {package.stat().st_size / 1e6:.2f} MB", file=sys.stderr)
            print(package)


main()
