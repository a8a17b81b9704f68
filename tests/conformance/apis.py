#!/usr/bin/env python3
"""Plays the scenarios of the dialect pi over the other provider APIs. The results must match the recordings, which were
made over anthropic-messages.

  apis.py [--api NAME ...] [SCENARIO ...]

Both sides drop what depends on the API: its name, the form of call ids, signatures, and how the arguments of a tool call
are split into deltas and spaced. BOWLINE in the environment selects the binary (default: target/debug/bowline).
"""
import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import comparison
from conform import JOBS, load_recording, load_scenario, normalised_run, scenarios_of
from scenario import load_agents

APIS = ["openai-completions", "openai-responses", "google-generative-ai"]
SIGNATURES = {"thinkingSignature", "textSignature", "thoughtSignature", "responseId"}


def neutral(value):
    """Replaces what depends on the API."""
    if isinstance(value, dict):
        value = {key: neutral(part) for key, part in value.items() if key not in SIGNATURES}
        for key, placeholder in (("api", "<api>"), ("toolCallId", "<call>")):
            if key in value:
                value[key] = placeholder
        return value
    return [neutral(part) for part in value] if isinstance(value, list) else value


def is_call_delta(entry):
    update = entry.get("out", {}).get("assistantMessageEvent", {})
    # "toolcall_delta" after normalisation, which takes "call_delta" for a call id.
    return update.get("type") == "tool<call>" and "delta" in update


def join_calls(entries):
    """Joins the deltas of each tool call and parses them, so that their values are compared and not their spacing."""
    result = []
    for entry in entries:
        if is_call_delta(entry) and result and is_call_delta(result[-1]):
            update, last = entry["out"]["assistantMessageEvent"], result[-1]["out"]["assistantMessageEvent"]
            if update["contentIndex"] == last["contentIndex"]:
                last["delta"] += update["delta"]
                continue
        result.append(entry)
    for entry in filter(is_call_delta, result):
        update = entry["out"]["assistantMessageEvent"]
        update["delta"] = json.loads(update["delta"] or "{}")
    return [e for e in result if not (is_call_delta(e) and e["out"]["assistantMessageEvent"]["delta"] == {})]


def difference(agent, name):
    received = normalised_run(agent, load_scenario("pi", name))
    return comparison.compare(join_calls(neutral(load_recording("pi", name))), join_calls(neutral(received)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--api", action="append", choices=APIS)
    arguments = parser.parse_args()
    names = arguments.scenarios or scenarios_of("pi")
    failures = 0
    for api in arguments.api or APIS:
        agent = {**load_agents()["pi"], "api": api}
        with ThreadPoolExecutor(JOBS) as pool:
            problems = list(pool.map(lambda name: difference(agent, name), names))
        for name, problem in zip(names, problems):
            if problem:
                print(f"FAIL {api} {name}: {problem}")
        failed = sum(map(bool, problems))
        print(f"{api}: {len(names) - failed} passed, {failed} failed", flush=True)
        failures += failed
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
