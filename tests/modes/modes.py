#!/usr/bin/env python3
"""Runs the one-shot modes of an agent and compares them with what the real pi does.

  modes.py record COMMAND…       runs the real pi, such as `node …/dist/cli.js`, and writes golden.json
  modes.py check [PROGRAM]       runs bowline under the name of pi and compares it with golden.json

A scenario of scenarios.json is a list of runs in one home folder, each with arguments and possibly stdin. What is compared
of a run: the exit code, stdout (records as in tests/conformance, text as it is), and of each request to the model the names
of its tools and which of the texts in `looks_for` it contains. stderr is compared where the scenario says so.
"""
import base64
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFORMANCE = HERE.parent / "conformance"
sys.path.insert(0, str(CONFORMANCE))
import comparison  # noqa: E402

GOLDEN = HERE / "golden.json"
TIMEOUT = 60


def play(command, scenario):
    """Returns what a scenario's runs wrote, how they ended, and what the model was asked."""
    with tempfile.TemporaryDirectory(prefix="modes-") as folder:
        home, log = os.path.realpath(folder), Path(folder, "requests")
        model = subprocess.Popen(
            [sys.executable, CONFORMANCE / "mockllm.py", "--log", log], stdout=subprocess.PIPE, text=True)
        try:
            port = model.stdout.readline().strip()
            prepare(Path(home), scenario, port)
            runs = []
            for run in scenario["runs"]:
                asked = len(requests_in(log))
                outcome = start(command, scenario, run, home)
                outcome["requests"] = [
                    summary_of(body, scenario.get("looks_for", [])) for body in requests_in(log)[asked:]]
                runs.append(outcome)
            return runs
        finally:
            model.kill()
            model.wait()
            model.stdout.close()


def prepare(home, scenario, port):
    models = (CONFORMANCE / "models.json").read_text()
    for name, value in [("PROVIDER", "mock"), ("PORT", port), ("API", "anthropic-messages")]:
        models = models.replace("{" + name + "}", value)
    files = {"agent/models.json": models, "work/AGENTS.md": "CONTEXT-FILE", **scenario.get("files", {})}
    contents = {path: text.encode() for path, text in files.items()}
    contents.update({path: base64.b64decode(data) for path, data in scenario.get("images", {}).items()})
    for path, content in contents.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)


def start(command, scenario, run, home):
    environment = {
        "PATH": os.environ["PATH"], "HOME": home, "PI_CODING_AGENT_DIR": home + "/agent", "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1", "LANG": "C.UTF-8"}
    arguments = run["arguments"]
    if "--model" not in arguments:
        arguments = ["--model", scenario.get("model", "mock/m1"), *arguments]
    done = subprocess.run(
        [*command, *arguments], cwd=home + "/work", env=environment, input=run.get("stdin", ""), text=True,
        capture_output=True, timeout=TIMEOUT)
    result = {"code": done.returncode, "stdout": stdout_of(done.stdout, home)}
    if scenario.get("compares_stderr"):
        result["stderr"] = done.stderr.replace(home, "<home>")
    return result


def stdout_of(text, home):
    """Returns the comparable form of stdout: records, or the text itself."""
    if not text.startswith("{"):
        return text
    log = [{"out": json.loads(line)} for line in text.splitlines()]
    return comparison.normalise(log, home, set(), False)


def requests_in(log):
    if not log.exists():
        return []
    return [json.loads(line)["body"] for line in log.read_text().splitlines()]


def summary_of(body, texts):
    tools = [tool.get("name") for tool in body.get("tools", [])]
    system = json.dumps(body.get("system", ""))
    return {"tools": sorted(tools), "system": [text for text in texts if text in system]}


def difference(wanted, got):
    """Returns the first difference between two runs as a sentence, or None."""
    for key, value in wanted.items():
        if key == "stdout" and isinstance(value, list) and isinstance(got[key], list):
            found = comparison.compare(value, got[key])
            if found:
                return found
        elif value != got[key]:
            return f"{key} is {json.dumps(got[key])[:300]}, recorded: {json.dumps(value)[:300]}"
    return None


def check(program, scenarios):
    failures = 0
    golden = json.loads(GOLDEN.read_text())
    with tempfile.TemporaryDirectory(prefix="modes-program-") as folder:
        link = Path(folder, "pi")
        link.symlink_to(os.path.abspath(program))
        for name, scenario in scenarios.items():
            played = play([str(link)], scenario)
            for run, wanted, got in zip(scenario["runs"], golden[name], played):
                found = difference(wanted, got)
                if found:
                    failures += 1
                    print(f"{name}: pi {shlex.join(run['arguments'])}\n  {found}")
    print(f"{len(scenarios)} scenarios, {failures} runs differ")
    return failures == 0


def main(arguments):
    scenarios = json.loads((HERE / "scenarios.json").read_text())
    match arguments:
        case ["record", *command] if command:
            recorded = {name: play(command, scenario) for name, scenario in scenarios.items()}
            GOLDEN.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
            return True
        case ["check", *program] if len(program) <= 1:
            default = os.environ.get("BOWLINE", HERE.parents[1] / "target" / "debug" / "bowline")
            return check(program[0] if program else default, scenarios)
    raise SystemExit(__doc__)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
