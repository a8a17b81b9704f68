"""Generates the types and commands of the clients from schema/pi.json.

    python3 clients/generator [--check] [python] [typescript] [rust]

Without a language, all. `--check` writes nothing and fails if a file differs from what would be written. Each
language is one module here, named after it, with a function `emit(model)` that returns the text of each file by its
path in the repository.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import sys
from pathlib import Path

import schema

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("python", "typescript", "rust")


def main() -> int:
    parser = argparse.ArgumentParser(prog="clients/generator", description="Generates the clients from schema/pi.json.")
    parser.add_argument("--check", action="store_true", help="fail if a file is not up to date, and write none")
    parser.add_argument("languages", nargs="*", metavar="language", help=f"one of: {', '.join(available())}; default: all")
    arguments = parser.parse_args()
    unknown = [language for language in arguments.languages if language not in available()]
    if unknown:
        parser.error(f"unknown language {unknown[0]!r}; there are: {', '.join(available())}")
    model = schema.read(ROOT / "schema" / "pi.json")
    files: dict[str, str] = {}
    for language in arguments.languages or available():
        files.update(importlib.import_module(language).emit(model))
    return check(files) if arguments.check else write(files)


def available() -> list[str]:
    return [language for language in LANGUAGES if importlib.util.find_spec(language)]


def write(files: dict[str, str]) -> int:
    for path, text in files.items():
        target = ROOT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
    return 0


def check(files: dict[str, str]) -> int:
    outdated = 0
    for path, text in files.items():
        target = ROOT / path
        present = target.read_text(encoding="utf-8") if target.exists() else ""
        if present != text:
            outdated += 1
            print(f"{path} is not up to date; run: python3 clients/generator", file=sys.stderr)
            lines = difflib.unified_diff(present.splitlines(), text.splitlines(), "committed", "generated", lineterm="", n=1)
            for line, _ in zip(lines, range(20)):
                print(f"  {line}", file=sys.stderr)
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
