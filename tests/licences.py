#!/usr/bin/env python3
"""Checks that the licence of every crate in Cargo.lock allows what bowline's own licence promises.

A licence is an SPDX expression. It is fine if some way of reading it needs only licences from the list below. Advisories
are not checked here: their database is not part of this repository (see .github/workflows/advisories.yml).
"""
import json
import re
import subprocess
import sys
from pathlib import Path

# Permissive licences: they ask for a notice, and for nothing else of those who build on the code.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "IJG",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


class Malformed(Exception):
    """A licence that is not an SPDX expression."""


def tokens(expression):
    # Before SPDX expressions, crates wrote a slash for OR.
    words = re.findall(r"[()]|[A-Za-z0-9.+:-]+", expression.replace("/", " OR "))
    if "".join(words) != re.sub(r"\s", "", expression.replace("/", " OR ")):
        raise Malformed(expression)
    return words


def is_allowed(expression):
    """Evaluates an expression: OR binds weaker than AND, and AND weaker than WITH."""
    words = tokens(expression)
    position = 0

    def peek():
        return words[position] if position < len(words) else None

    def take():
        nonlocal position
        if position == len(words):
            raise Malformed(expression)
        position += 1
        return words[position - 1]

    def any_of():
        result = all_of()
        while peek() == "OR":
            take()
            result = all_of() or result
        return result

    def all_of():
        result = one()
        while peek() == "AND":
            take()
            result = one() and result
        return result

    def one():
        word = take()
        if word == "(":
            result = any_of()
            if take() != ")":
                raise Malformed(expression)
            return result
        if word in (")", "OR", "AND", "WITH"):
            raise Malformed(expression)
        if peek() == "WITH":
            take()
            word = f"{word} WITH {take()}"
        return word in ALLOWED

    result = any_of()
    if position != len(words):
        raise Malformed(expression)
    return result


def check_evaluation():
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT/Apache-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT AND ISC", True),
        ("(GPL-3.0-only OR MIT) AND AGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT OR", None),
        ("(MIT", None),
        ("see LICENSE, page 2", None),
        ("", None),
    ]:
        try:
            found = is_allowed(expression)
        except Malformed:
            found = None
        assert found == expected, f"{expression}: {found}"


def main():
    check_evaluation()
    root = Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    packages = json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    refused = []
    for package in packages:
        licence = package["license"]
        try:
            is_fine = licence is not None and is_allowed(licence)
        except Malformed:
            is_fine = False
        if not is_fine:
            refused.append(f"{package['name']} {package['version']}: {licence or 'no licence'}")
    if refused:
        print("\n".join(refused))
        sys.exit(f"{len(refused)} of {len(packages)} crates have a licence that is not in the list of {Path(__file__).name}")
    print(f"the licences of {len(packages)} crates are in the list")


main()
