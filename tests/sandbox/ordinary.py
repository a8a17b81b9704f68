#!/usr/bin/env python3
"""Does ordinary work inside the sandbox, by the real binary in its RPC mode, and shows what works.

  ordinary.py [--level full|landlock] [--home read-only|overlay] [--only TEXT]

The tasks are in tasks.py. BOWLINE in the environment selects the binary (default: target/debug/bowline). The exit code is 1
if a task fails that should work, and 2 if no sandbox is available. A task whose programs are missing is listed as
skipped. One task is also run by a model, as a tool; the model is a script.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tasks import TASKS, Task

ROOT = Path(__file__).resolve().parents[2]

# A task may build something on a busy machine.
LONGEST = 240

# How a user keeps package managers working where the home folder is read-only.
READ_ONLY_HOME = {
    "CARGO_HOME": "{work}/.cache/cargo",
    "npm_config_cache": "{work}/.cache/npm",
    "PIP_CACHE_DIR": "{work}/.cache/pip",
    "XDG_CACHE_HOME": "{work}/.cache",
}

# Without namespaces, as on systems that have none.
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "/bin/sh", "-c",
                 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"']


class Session:
    """A session of bowline, in which commands are run."""

    def __init__(self, program, level, home, work, environment):
        script = home / "script.json"
        call = {"name": "bash", "arguments": {"command": "echo by a tool > by_tool && cat by_tool"}}
        script.write_text(json.dumps({"steps": [{"toolCalls": [call]}, {"text": "Done."}]}))
        command = [*(NO_NAMESPACES if level == "landlock" else []), program, "--mode", "rpc", "--model", f"scripted/{script}",
                   "--sandbox", "workspace-write"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, cwd=work, env=environment)
        self.count = 0

    def ask(self, command):
        """Sends a command and returns the records up to its response."""
        self.count += 1
        name = str(self.count)
        try:
            print(json.dumps({"id": name, **command}), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        for line in self.process.stdout:
            record = json.loads(line)
            yield record
            if record.get("type") == "response" and record.get("id") == name:
                return
        raise SystemExit(self.process.stderr.read() or "bowline ended")

    def response(self, command):
        *_, last = self.ask(command)
        return last

    def run(self, command):
        """Runs a command and returns its exit code and output."""
        response = self.response({"type": "bash", "command": command})
        if not response["success"]:
            return None, response.get("error", "")
        return response["data"].get("exitCode"), response["data"]["output"]

    def prompt(self):
        """Has the model run its command as a tool, and returns the text of the result."""
        self.response({"type": "prompt", "message": "go"})
        for line in self.process.stdout:
            record = json.loads(line)
            if record["type"] == "tool_execution_end":
                return json.dumps(record)
        return ""

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def missing(task, path):
    """Returns what a task lacks."""
    for need in task.needs:
        program, _, modules = need.partition(":")
        found = shutil.which(program, path=path)
        if not found:
            return f"no {program}"
        works = subprocess.run([found, "-c", f"import {modules}"] if modules else [found, "--version"], capture_output=True,
                               env={"PATH": path, **kept()})
        if works.returncode != 0 and (modules or b"rustup" in works.stderr or b"pyenv" in works.stderr):
            return f"no {modules or program} that works"
    return None


def kept():
    """Returns the variables that tools of this machine may need to find their own files."""
    home = Path.home()
    variables = {name: os.environ[name] for name in ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "PYENV_VERSION", "JAVA_HOME") if name in os.environ}
    for name, folder in (("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")):
        if os.access(home / folder, os.R_OK):
            variables.setdefault(name, str(home / folder))
    return variables


def perform(session, task, level):
    """Does a task and returns the result and what is wrong."""
    if level == "landlock" and task.only_full:
        return "not possible", task.only_full
    folder = "." if task.in_workspace else f"task-{TASKS.index(task)}"
    output = ""
    for command in task.commands:
        code, text = session.run(f"mkdir -p {folder} && cd {folder} || exit 99\n{command}")
        output += f"$ {command}\n{text}"
        if code != 0:
            return "FAILED", f"{output}\nexit code {code}"
        last = text
    return ("works", "") if task.expect in last else ("FAILED", f"{output}\nexpected: {task.expect}")


def prepare(root, arguments):
    """Makes a home folder and a repository in it, as a user has them; returns both and the environment."""
    home, work = root / "home", root / "home" / "project"
    (home / ".bowline").mkdir(parents=True)
    settings = {"sandbox": {"home": arguments.home, "minimum": arguments.level}}
    (home / ".bowline" / "settings.json").write_text(json.dumps(settings))
    work.mkdir()
    identity = ["-c", "user.name=U", "-c", "user.email=u@example.org"]
    (work / ".gitignore").write_text("task-*\n.cache\ntrees\n")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=work, check=True, env={"PATH": os.environ["PATH"], "HOME": str(home)})
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **kept()}
    if arguments.home == "read-only":
        environment |= {name: value.format(work=work) for name, value in READ_ONLY_HOME.items()}
    return home, work, environment


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--level", choices=["full", "landlock"], default="full")
    parser.add_argument("--home", choices=["read-only", "overlay"], default="read-only")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    program = str(Path(os.environ.get("BOWLINE", ROOT / "target/debug/bowline")).resolve())
    failures, rows = 0, []
    # What an overlay keeps of a home folder is kept for its next session; these have none.
    stores = Path(f"/var/tmp/bowline-home-{os.geteuid()}")
    known = set(stores.glob("*"))
    with tempfile.TemporaryDirectory(prefix="bowline-ordinary-", dir="/var/tmp") as root:
        home, work, environment = prepare(Path(root), arguments)
        session = Session(program, arguments.level, home, work, environment)
        sandbox = session.response({"type": "get_sandbox"})
        level = sandbox.get("data", {}).get("level")
        if level != arguments.level:
            print(f"there is no sandbox of level {arguments.level}: {sandbox}", file=sys.stderr)
            return 2
        for task in (task for task in TASKS if arguments.only in task.name):
            lacking = missing(task, environment["PATH"])
            began = time.monotonic()
            result, detail = ("skipped", lacking) if lacking else perform(session, task, arguments.level)
            rows.append((task.name, result, f"{time.monotonic() - began:.1f} s", detail))
            failures += result == "FAILED"
        if not arguments.only:
            began = time.monotonic()
            worked = "by a tool" in session.prompt() and (work / "by_tool").exists()
            rows.append(("bash as a tool of the model", "works" if worked else "FAILED", f"{time.monotonic() - began:.1f} s", ""))
            failures += not worked
        session.end()
    for store in set(stores.glob("*")) - known:
        shutil.rmtree(store, ignore_errors=True)
    for name, result, took, detail in rows:
        if result == "FAILED":
            print(f"--- {name}\n{detail}\n")
    user = "root" if os.geteuid() == 0 else f"user {os.geteuid()}"
    print(f"Ordinary work at level {arguments.level}, home {arguments.home}, {user}")
    for name, result, took, detail in rows:
        print(f"  {name:<55} {result:<13} {detail if result in ('skipped', 'not possible') else took}")
    counts = {result: sum(row[1] == result for row in rows) for result in ("works", "FAILED", "not possible", "skipped")}
    print(", ".join(f"{count} {result}" for result, count in counts.items() if count))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
