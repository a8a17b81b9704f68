#!/usr/bin/env python3
"""Plays scripted scenarios against bowline and compares its records with recordings of the real agents.

  conform.py check  AGENT [SCENARIO ...]            compares with golden/AGENT/SCENARIO.jsonl; exit code 1 on a difference
  conform.py show   AGENT SCENARIO                  prints the raw exchange
  conform.py record AGENT [SCENARIO ...] --agents FILE --out FOLDER    writes recordings of another agent

AGENT is a key of agents.json. BOWLINE in the environment selects the binary (default: target/debug/bowline).
See README.md for the format of the files.
"""
import argparse
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import comparison
from scenario import HERE, TIMEOUT, load_agents, play

# A scenario mostly waits, for the mock model and for tools.
JOBS = 2 * (os.cpu_count() or 1)


def scenarios_of(family):
    """Returns the names of all scenarios for agents of a family."""
    return sorted(path.stem for path in (HERE / "scenarios" / family).glob("*.json"))


def load_scenario(family, name):
    return json.loads((HERE / "scenarios" / family / f"{name}.json").read_text())


def load_recording(agent, name):
    path = HERE / "golden" / agent / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().rstrip("\n").split("\n")]


def normalised_run(agent, scenario, timeout=TIMEOUT):
    """Plays a scenario and returns the comparable form of what was received."""
    log, home, _ = play(agent, scenario, timeout)
    return comparison.normalise(log, home, set(agent.get("ignore", [])), agent.get("tool_details", False))


def check(name, agent, scenarios, timeout):
    def difference(scenario):
        received = normalised_run(agent, load_scenario(agent["family"], scenario), timeout)
        return comparison.compare(load_recording(name, scenario), received)

    failures = 0
    with ThreadPoolExecutor(JOBS) as pool:
        for scenario, problem in zip(scenarios, pool.map(difference, scenarios)):
            failures += bool(problem)
            print(f"FAIL {scenario}: {problem}" if problem else f"ok   {scenario}", flush=True)
    print(f"{len(scenarios) - failures} passed, {failures} failed")
    return failures


def record(agent, scenarios, folder, timeout):
    folder.mkdir(parents=True, exist_ok=True)
    for scenario in scenarios:
        entries = normalised_run(agent, load_scenario(agent["family"], scenario), timeout)
        lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
        (folder / f"{scenario}.jsonl").write_text("".join(lines))
        print(scenario, len(entries), "records", "STUCK" if any("stuck" in entry for entry in entries) else "")


def show(agent, scenario, timeout):
    log, _, stderr = play(agent, load_scenario(agent["family"], scenario), timeout)
    for entry in log:
        print(json.dumps(entry)[:2000])
    print(stderr[-2000:], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["check", "show", "record"])
    parser.add_argument("agent")
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--agents", type=Path, default=HERE / "agents.json")
    parser.add_argument("--out", type=Path, help="the folder for recordings")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds that each wait may take")
    arguments = parser.parse_args()
    agents = load_agents(arguments.agents)
    if arguments.agent not in agents:
        parser.error(f"unknown agent {arguments.agent}; known: {', '.join(agents)}")
    agent = agents[arguments.agent]
    scenarios = arguments.scenarios or scenarios_of(agent["family"])
    if arguments.verb == "check":
        sys.exit(check(arguments.agent, agent, scenarios, arguments.timeout) > 0)
    if arguments.verb == "record":
        if not arguments.out:
            parser.error("record needs --out")
        record(agent, scenarios, arguments.out, arguments.timeout)
    else:
        for scenario in scenarios:
            show(agent, scenario, arguments.timeout)


if __name__ == "__main__":
    main()
