#!/usr/bin/env python3
"""Runs packages from npm that extend pi in bowline, unchanged, and lets each do its work with a scripted model.

  packages.py                 fails if a package that npm has does not load, or does not do its work
  packages.py --update        also writes the table into docs/pi-extensions.md
  --only NAME...              only these packages
  --show NAME                 prints the run of a package
  --pi-only                   checks that the packages do their work in the real pi
  --again                     asks npm again for what it did not have

Installs the packages below target/ if they are missing, without their install scripts. BOWLINE names the program to
test.
"""
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import agents
from package_table import LEAST, all_packages
from run_examples import CACHE, DOCUMENT
from script import Script

BEGIN, END = "<!-- generated: packages -->\n", "<!-- end of generated packages -->\n"
TIMEOUT = 20
INSTALL_TIMEOUT = 240
SETTINGS = {"extensionStartTimeoutMs": 30_000}

WORKS, LOADS, NOT_LOADED, FAILS, MISSING = "works", "loads", "does not load", "fails", "not installed"


KINDS = ("tools", "commands", "providers")


class Outcome:
    """What came of a package."""

    def __init__(self, package):
        self.package, self.problems, self.extensions, self.log, self.stderr = package, [], [], [], ""
        self.missing, self.seconds, self.seen = "", 0, []

    @property
    def status(self):
        if self.missing:
            return MISSING
        if not self.package.loads:
            return NOT_LOADED
        if self.problems:
            return FAILS
        return WORKS if self.package.script else LOADS

    def names(self, kind):
        return [name for extension in self.extensions for name in extension.get(kind) or []]

    @property
    def why(self):
        return self.missing or ("; ".join(self.problems) if self.status == FAILS else self.package.unserved)

    @property
    def registered(self):
        counts = [(len(self.names(kind)), kind) for kind in KINDS]
        return ", ".join(f"{count} {kind[:-1] if count == 1 else kind}" for count, kind in counts if count)


def main():
    options = parse()
    installation = agents.Installation(CACHE)
    installation.install()
    packages = {package.name: package for package in all_packages()}
    names = options.only or ([options.show] if options.show else list(packages))
    begin = time.time()
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda name: outcome_of(installation, packages[name], options), names))
    if options.show:
        return show(outcomes[0])
    statuses = [outcome.status for outcome in outcomes]
    counts = {status: statuses.count(status) for status in (WORKS, LOADS, NOT_LOADED, FAILS, MISSING)}
    print(", ".join(f"{count} {status}" for status, count in counts.items()), f"({time.time() - begin:.0f} s)")
    if options.update:
        update(outcomes)
    if not options.only and counts[WORKS] < LEAST:
        print(f"at least {LEAST} have to work")
        return 1
    return 1 if counts[FAILS] else 0


def parse():
    parser = agents.options(__doc__)
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def outcome_of(installation, package, options):
    outcome, begin = Outcome(package), time.time()
    outcome.missing = install(package, options.again)
    if options.pi_only and package.component:
        outcome.missing = "pi shows it in a terminal only"
    if not outcome.missing:
        run(installation, outcome, "pi" if options.pi_only else "bowline")
    outcome.seconds = time.time() - begin
    if not options.show:
        sys.stdout.write(line_of(outcome) + "\n")
        sys.stdout.flush()
    return outcome


def folder_of(package):
    return CACHE / "packages" / package.name.replace("@", "").replace("/", "_")


def places_of(package):
    return [folder_of(package) / "node_modules" / name for name in (package.name, *package.beside)]


def install(package, is_asked_again):
    """Installs a package if it is missing. Returns why that is not possible."""
    folder = folder_of(package)
    manifest, *others = [place / "package.json" for place in places_of(package)]
    note = folder / "not-installed"
    if manifest.exists():
        found = json.loads(manifest.read_text())["version"]
        if found == package.version and all(path.exists() for path in others):
            return ""
        shutil.rmtree(folder)
    if note.exists() and not is_asked_again:
        return note.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "overrides": package.overrides}))
    why = npm_install(folder, f"{package.name}@{package.version}", *package.companions)
    if why:
        note.write_text(why)
    else:
        note.unlink(missing_ok=True)
    return why


def npm_install(folder, *names):
    """Installs packages as `pi install` does, without their install scripts. Returns what npm says if it cannot."""
    options = ["--prefix", str(folder), "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund",
               "--loglevel=error"]
    done = subprocess.run(
        ["npm", "install", *options, *names], text=True, capture_output=True, timeout=INSTALL_TIMEOUT)
    if done.returncode == 0:
        return ""
    if "E404" in done.stderr:
        return "npm does not have it"
    if "ETARGET" in done.stderr:
        wanted = done.stderr.partition("No matching version found for ")[2].split(". ")[0].split()
        return f"npm does not have {wanted[0].rstrip('.')}" if wanted else "npm does not have this version"
    return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"npm ended with {done.returncode}"


def run(installation, outcome, agent):
    """Starts an agent with a package, lets it do its work, and notes what is wrong."""
    package = outcome.package
    script = package.script() if package.script else Script()
    script.ask("get_state")
    started = agents.agent(installation, agent, places_of(package))
    started["files"][f"{agents.AGENT_FOLDER}/settings.json"] = json.dumps(SETTINGS)
    if agent == "pi":
        started["env"]["PATH"] += f"{os.pathsep}{installation.prefix}/node_modules/.bin"
    try:
        outcome.log, requests, outputs, _, outcome.stderr = agents.play(started, script, TIMEOUT)
    except (AttributeError, TypeError, KeyError) as error:
        outcome.problems = [f"a step refers to a field that is not there: {error}"]
        return
    outcome.extensions = extensions_of(outcome.log)
    outcome.seen = seen(outcome.log) + [output for _, output in outputs]
    if agent == "bowline":
        outcome.problems += problems_of_listing(outcome)
    outcome.problems += problems_of_work(outcome, script, requests)


def extensions_of(log):
    """Returns what get_state tells of the extensions at the end, without their paths."""
    states = [entry["out"] for entry in log if entry.get("out", {}).get("command") == "get_state"]
    return states[-1]["data"].get("extensions", []) if states else []


def seen(log):
    """Returns the texts of everything that only the package can have caused: results of its tools, what it shows,
    its messages and commands."""
    texts = []
    for entry in log:
        record = entry.get("out", {})
        kind = record.get("type")
        if kind == "tool_execution_end":
            texts.append(f"{record['toolName']}: " + text_of(record.get("result")))
        elif kind == "extension_ui_request":
            texts.append(text_of(record))
        elif kind == "message_end" and record["message"].get("role") == "custom":
            texts.append(text_of(record["message"]))
        elif kind == "message_end" and record["message"].get("role") == "user":
            texts.append(text_of(record["message"]).partition("PLAN")[0])
        elif kind == "response" and record.get("command") in ("get_commands", "get_available_models"):
            texts.append(text_of(record.get("data")))
    return texts


def text_of(value):
    """Returns all texts inside a value, one after the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(filter(None, map(text_of, value.values())))
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_of, value)))
    return ""


def problems_of_listing(outcome):
    package = outcome.package
    if not outcome.extensions:
        yield "bowline gives no state"
    for extension in outcome.extensions:
        if extension["status"] != "running":
            yield f"is {extension['status']}: {extension.get('reason', '')}"
    for kind in KINDS:
        listed = outcome.names(kind)
        if lacking := [name for name in getattr(package, kind).split() if name not in listed]:
            yield f"does not list {kind} {' '.join(lacking)}"


def problems_of_work(outcome, script, requests):
    for entry in outcome.log:
        record = entry.get("out", {})
        if record.get("type") == "extension_error":
            yield f"error in {record.get('event')}: {record.get('error')}"
        elif record.get("type") == "response" and not record.get("success"):
            yield f"{record.get('command')}: {record.get('error')}"
        elif record.get("type") == "tool_execution_end" and record.get("isError") and not outcome.package.refuses:
            yield f"tool {record['toolName']}: {text_of(record.get('result'))[:300]}"
        elif "stuck" in entry:
            yield f"waits for {json.dumps(entry['stuck'])}"
        elif entry.get("exit"):
            yield f"ends with {entry['exit']}"
    everything = "\n".join(outcome.seen)
    for text in outcome.package.shows:
        if text not in everything:
            yield f"does not show {text!r}"
    sent = json.dumps(requests, ensure_ascii=False)
    for text in script.sent:
        if json.dumps(text, ensure_ascii=False)[1:-1] not in sent:
            yield f"the model does not see {text!r}"


def line_of(outcome):
    about = outcome.why or outcome.package.work
    result = f"{outcome.package.name:36} {outcome.status:13} {outcome.seconds:5.1f} s"
    return f"{result}  {outcome.registered:22}  {about[:600]}"


def show(outcome):
    for entry in outcome.log:
        print(json.dumps(entry, ensure_ascii=False)[:3000])
    print("──── seen", *outcome.seen, "──── stderr", outcome.stderr, sep="\n")
    print("──── problems", *outcome.problems, sep="\n")
    print(line_of(outcome))
    return 0


def update(outcomes):
    """Writes the table between the markers of the document."""
    text = DOCUMENT.read_text()
    before, marker, rest = text.partition(BEGIN)
    if not marker:
        raise SystemExit(f"{DOCUMENT} lacks the line {BEGIN.strip()}")
    DOCUMENT.write_text(before + BEGIN + table_of(outcomes) + END + rest.partition(END)[2])


def table_of(outcomes):
    lines = ["| package | version | registers | result | what it did, or why not |", "|---|---|---|---|---|"]
    for outcome in outcomes:
        package = outcome.package
        if not outcome.missing:
            about = outcome.why or package.work
            lines.append(f"| {package.name} | {package.version} | {outcome.registered} | {outcome.status} | {about} |")
    missing = [outcome.package.name for outcome in outcomes if outcome.missing]
    if missing:
        lines += ["", f"Not tried, as npm could not install them when this ran: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
