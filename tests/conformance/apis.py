#!/usr/bin/env python3
"""Plays the scenarios of the dialect `pi` over the other provider APIs and compares with the recordings, which were
made over anthropic-messages.

  BOWLINE=target/release/bowline apis.py PATH/TO/conform.py [--api NAME ...] [SCENARIO ...]

What may differ is taken out on both sides: the name of the API, the form of call ids, signatures, and how the arguments
of a tool call are cut into deltas and spaced.
"""
import argparse, importlib.util, json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
APIS = ["openai-completions", "openai-responses", "google-generative-ai"]
SIGNATURES = {"thinkingSignature", "textSignature", "thoughtSignature", "responseId"}


def load(path):
    spec = importlib.util.spec_from_file_location("conform", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def neutral(value):
    if isinstance(value, dict):
        value = {k: neutral(v) for k, v in value.items() if k not in SIGNATURES}
        for key, blur in (("api", "<api>"), ("toolCallId", "<call>")):
            if key in value:
                value[key] = blur
        return value
    return [neutral(v) for v in value] if isinstance(value, list) else value


def is_call_delta(record):
    event = record.get("out", {}).get("assistantMessageEvent", {})
    return event.get("type") == "tool<call>" and "delta" in event


def join_calls(records):
    """Joins the deltas of each tool call, and compares what they say instead of how it is spaced."""
    out = []
    for record in records:
        if is_call_delta(record) and out and is_call_delta(out[-1]):
            mine, last = record["out"]["assistantMessageEvent"], out[-1]["out"]["assistantMessageEvent"]
            if mine["contentIndex"] == last["contentIndex"]:
                last["delta"] += mine["delta"]
                continue
        out.append(record)
    for record in filter(is_call_delta, out):
        event = record["out"]["assistantMessageEvent"]
        event["delta"] = json.loads(event["delta"] or "{}")
    return [r for r in out if not (is_call_delta(r) and r["out"]["assistantMessageEvent"]["delta"] == {})]


def play(conform, kit, spec, name):
    scenario = json.load(open(f"{kit}/scenarios/pi/{name}.json"))
    mock = subprocess.Popen([sys.executable, kit + "/mockllm.py"], stdout=subprocess.PIPE, text=True)
    run = None
    try:
        run = conform.Run(spec, scenario, int(mock.stdout.readline()))
        run.play(scenario["steps"], 20)
    finally:
        if run:
            run.stop()
        mock.kill(), mock.wait(), mock.stdout.close()
    got = conform.digest(run.log, run.home, set(spec["ignore"]), spec["tool_details"])
    want = [json.loads(line) for line in open(f"{kit}/golden/pi/{name}.jsonl")]
    return conform.compare(join_calls(neutral(want)), join_calls(neutral(got)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kit"), parser.add_argument("scenarios", nargs="*")
    parser.add_argument("--api", action="append", choices=APIS)
    arguments = parser.parse_args()
    conform = load(arguments.kit)
    kit = os.path.dirname(os.path.abspath(arguments.kit))
    names = arguments.scenarios or open(HERE + "/pi.txt").read().split()
    spec = json.load(open(kit + "/agents.json"))["pi"]
    passed = failed = 0
    for api in arguments.api or APIS:
        spec["files"][".bowline/models.json"]["providers"]["mock"]["api"] = api
        for name in names:
            difference = play(conform, kit, spec, name)
            failed, passed = failed + bool(difference), passed + (not difference)
            if difference:
                print(f"FAIL {api} {name}: {difference}")
        print(f"{api}: {len(names)} scenarios played")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
