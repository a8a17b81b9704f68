#!/usr/bin/env python3
"""Plays the scenarios of the dialect `pi` over openai-completions and compares with the recordings, which were made
over anthropic-messages.

  BOWLINE=target/release/bowline completions.py PATH/TO/conform.py [SCENARIO ...]

What may differ is taken out on both sides: the name of the API, the form of call ids, and signatures of thinking,
which that API has not.
"""
import importlib.util, json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load(path):
    spec = importlib.util.spec_from_file_location("conform", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def neutral(value):
    if isinstance(value, dict):
        value = {k: neutral(v) for k, v in value.items() if k != "thinkingSignature"}
        if "api" in value:
            value["api"] = "<api>"
        return value
    if isinstance(value, list):
        return [neutral(v) for v in value]
    return value.replace("<toolu>", "<call>") if isinstance(value, str) else value


def main():
    conform = load(sys.argv[1])
    kit = os.path.dirname(os.path.abspath(sys.argv[1]))
    names = sys.argv[2:] or open(HERE + "/pi.txt").read().split()
    spec = json.load(open(kit + "/agents.json"))["pi"]
    spec["files"][".bowline/models.json"]["providers"]["mock"]["api"] = "openai-completions"
    failed = 0
    for name in names:
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
        difference = conform.compare(neutral(want), neutral(got))
        failed += bool(difference)
        print(("FAIL " if difference else "ok   ") + name + (": " + difference if difference else ""))
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
