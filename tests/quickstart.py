#!/usr/bin/env python3
"""Follows docs/quickstart.md as a new user would: every command of its console blocks, in one shell, in an empty folder and
with an empty home folder. What the page shows of the output has to come; … stands for anything.

    quickstart.py PYTHON   PYTHON runs the page's programs; it needs no packages

The program is target/debug/bowline, or the one that BOWLINE names. A block after `<!-- not run: why -->` is left out.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/quickstart.md"
SECONDS_PER_STEP = 120


class Command:
    def __init__(self, line):
        self.text = line
        self.expected = []


def steps(page=PAGE):
    """Returns the headings of a page, each with the commands below it and the output that is shown."""
    found, block, is_left_out, end_of_input = [("", [])], None, False, None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            block = None if block is not None else line[3:]
            is_left_out = is_left_out and block is not None
        elif block is None:
            is_left_out = line.startswith("<!-- not run: ") or (is_left_out and not line.strip())
            if line.startswith("## "):
                found.append((line[3:], []))
        elif block == "console" and not is_left_out:
            commands = found[-1][1]
            if end_of_input is not None:
                commands[-1].text += "\n" + line
                end_of_input = None if line == end_of_input else end_of_input
            elif line.startswith("$ "):
                commands.append(Command(line[2:]))
                here = re.search("<<'(\\w+)'", line)
                end_of_input = here and here.group(1)
            else:
                commands[-1].expected.append(line)
    return [(heading, commands) for heading, commands in found if commands]


def matches(expected, output):
    """Tells whether the output is as shown, where … stands for any text, over several lines too."""
    if not expected:
        return True
    pattern = ".*".join(re.escape(part) for part in "\n".join(expected).split("…"))
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def run(command, folder, environment, seconds=SECONDS_PER_STEP):
    """Runs one command, and returns its output and the folder in which the shell is afterwards."""
    script = f'cd "$1" || exit\n{command.text}\ncode=$?\npwd >"$2"\nexit $code'
    with tempfile.NamedTemporaryFile("r") as place:
        ended = subprocess.run(
            ["bash", "-c", script, "bash", folder, place.name],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )
        return ended, place.read().strip() or folder


def prepare(home, python):
    """Makes an empty home folder with the program and Python in PATH, and the library as it is in the checkout."""
    programs = home / "bin"
    programs.mkdir()
    binary = os.path.realpath(os.environ.get("BOWLINE", ROOT / "target/debug/bowline"))
    (programs / "bowline").symlink_to(binary)
    (programs / "python3").symlink_to(os.path.abspath(python))
    return {
        "HOME": str(home),
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "clients/python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }


def main():
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    with tempfile.TemporaryDirectory(prefix="quickstart-") as place:
        home = Path(os.path.realpath(place), "home")
        home.mkdir()
        environment = prepare(home, python)
        folder = str(home)
        for heading, commands in steps():
            started = time.monotonic()
            for command in commands:
                ended, folder = run(command, folder, environment)
                # A command whose refusal is the point of the step shows what it wrote.
                is_refusal = command.text.startswith(("bowline sandbox run", "bowline doctor"))
                if (ended.returncode != 0) != is_refusal or not matches(command.expected, ended.stdout):
                    sys.exit(f"{heading}: $ {command.text}\nexit code {ended.returncode}\n{ended.stdout}")
            took = time.monotonic() - started
            print(f"{heading}: {len(commands)} commands, {took:.1f} s")
            if took > SECONDS_PER_STEP:
                sys.exit(f"{heading}: longer than {SECONDS_PER_STEP} s")


if __name__ == "__main__":
    main()
