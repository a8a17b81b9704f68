#!/usr/bin/env python3
"""Plays the example extensions of pi's package with the real pi and with bowline, and compares what clients see.

  run_examples.py             fails if an example behaves differently and accepted.py does not say why
  run_examples.py --update    also writes the table into docs/pi-extensions.md
  --only NAME...              only these examples
  --show NAME                 prints both runs of an example
  --pi-only                   checks that the scenarios themselves work with the real pi
  --reuse                     takes the real pi's side from the run before, if the scenario is the same

Installs Node and pi below target/ if they are missing. BOWLINE names the program to test.
"""
import pickle
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import accepted
import agents
import wire
from examples import all_examples

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "target" / "pi-extensions"
DOCUMENT = ROOT / "docs" / "pi-extensions.md"
BEGIN, END = "<!-- generated: examples -->\n", "<!-- end of generated -->\n"
LINE = 600  # Characters shown of a differing line.
SAME, DETAILS, DIFFERS = "same", "same but for details", "differs"


class Outcome:
    """What came of an example. `lines` are those of each agent, `differing` the ones that nothing accepts."""

    def __init__(self, example):
        self.example, self.lines, self.stderr, self.differing, self.seconds = example, {}, {}, [], 0

    @property
    def status(self):
        if self.differing:
            return DIFFERS
        return DETAILS if self.reasons else SAME

    @property
    def notes(self):
        notes = []
        if self.example.terminal:
            notes.append(f"needs a terminal ({self.example.terminal}); what it does without one is compared")
        if self.example.limit:
            notes.append(f"needs {self.example.limit}")
        return notes + self.reasons

    @property
    def reasons(self):
        """Why the agents may behave differently."""
        return accepted.reasons(self.example.name) + [script.differs for script in self.example.scripts if script.differs]


def main():
    options = parse()
    installation = agents.Installation(CACHE)
    installation.install()
    examples = all_examples()
    check_complete(examples, installation)
    names = options.only or ([options.show] if options.show else list(examples))
    played = ["pi"] if options.pi_only else ["pi", "bowline"]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda name: outcome_of(installation, examples[name], played, options), names))
    if options.show:
        return show(outcomes[0])
    report(outcomes, options)
    if options.update and names == list(examples):
        update(outcomes)
    return 1 if any(outcome.status == DIFFERS for outcome in outcomes) else 0


def parse():
    parser = agents.options(__doc__)
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def check_complete(examples, installation):
    shipped = {path.stem for path in installation.examples.iterdir() if path.name != "README.md"}
    if shipped != set(examples):
        raise SystemExit(f"scenarios and shipped examples differ: {sorted(shipped ^ set(examples))}")


def outcome_of(installation, example, played, options):
    """Plays an example with the agents, one after the other: some use fixed names."""
    outcome, begin = Outcome(example), time.time()
    for name in played:
        outcome.lines[name], outcome.stderr[name] = lines_of(installation, example, name, options.reuse)
    outcome.differing = stuck(outcome)
    if len(played) == 2:
        judge(outcome)
    outcome.seconds = time.time() - begin
    if not options.show:
        print(f"{example.name:28} {outcome.seconds:5.1f} s  {outcome.status}", flush=True)
    return outcome


def lines_of(installation, example, name, is_reused):
    """Returns the comparable lines of each of an example's runs, and what the agent wrote to stderr."""
    extension = installation.examples / example.name / "index.ts"
    if not extension.exists():
        extension = installation.examples / f"{example.name}.ts"
    replacements = [(str(installation.examples), "<examples>"), (str(installation.prefix), "<prefix>")]
    runs, errors = [], ""
    for number, script in enumerate(example.scripts):
        played = None
        store = CACHE / "played" / f"{example.name}-{number}-{script.digest()}"
        if name == "pi" and is_reused and store.exists():
            played = pickle.loads(store.read_bytes())
        if played is None:
            played = agents.play(agents.agent(installation, name, [extension, *script.companions]), script)
        if name == "pi":
            store.parent.mkdir(exist_ok=True)
            store.write_bytes(pickle.dumps(played))
        runs.append(wire.normalise(played, script, replacements))
        errors += played[4]
    return runs, errors


def stuck(outcome):
    """Returns the lines that show that a scenario does not work with the real pi."""
    return [f"pi: {line}" for lines in outcome.lines["pi"] for line in lines if line.startswith('{"stuck"')]


def judge(outcome):
    for script, *runs in zip(outcome.example.scripts, outcome.lines["pi"], outcome.lines["bowline"]):
        differing = wire.differences(*runs)
        if script.differs:
            outcome.differing += [] if differing else ["pi: is not different any more: " + script.differs]
        else:
            outcome.differing += [line for line in differing if not accepted.is_accepted(outcome.example.name, line)]


def show(outcome):
    for name, runs in outcome.lines.items():
        for number, lines in enumerate(runs):
            print(f"════ {name}, run {number + 1}", *lines, sep="\n")
        print("──── stderr", outcome.stderr[name], sep="\n")
    print("════ differences", *wire.explained(outcome.differing), sep="\n")
    return 0


def report(outcomes, options):
    for outcome in outcomes:
        for line in wire.explained(outcome.differing):
            print(f"{outcome.example.name}: {line[:LINE]}")
    counts = {status: sum(outcome.status == status for outcome in outcomes) for status in (SAME, DETAILS, DIFFERS)}
    if not options.only and not options.show and not options.pi_only:
        for example, pattern in accepted.unused():
            print(f"accepted.py: {pattern} of {example} is no difference any more")
    print(", ".join(f"{count} {status}" for status, count in counts.items()))


def update(outcomes):
    """Writes the table between the markers of the document, and creates the document if there is none."""
    table = BEGIN + table_of(outcomes) + END
    text = DOCUMENT.read_text() if DOCUMENT.exists() else f"# Extensions written for pi\n\n## Examples\n\n{BEGIN}{END}"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(before + table + after)


def table_of(outcomes):
    rows = [f"| {outcome.example.name} | {outcome.status} | {'; '.join(outcome.notes)} |\n" for outcome in outcomes]
    return "| example | result | notes |\n|---|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    sys.exit(main())
