"""Starts the real pi and bowline with an extension, plays a script and collects what happened."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFORMANCE = ROOT / "tests" / "conformance"
sys.path.insert(0, str(CONFORMANCE))
from scenario import Run  # noqa: E402

PI = "@earendil-works/pi-coding-agent"
VERSION = "0.87.1"
NODE_VERSION = "22.23.3"
# What some of pi's examples import. pi's package does not bring it along.
EXAMPLE_DEPENDENCIES = [
    "ms@2.1.3", "@anthropic-ai/sdk@0.52.0", "@anthropic-ai/sandbox-runtime@0.0.26", "@earendil-works/gondolin@0.12.0"]
AGENT_FOLDER = "agent"
TIMEOUT = 30


class Installation:
    """The programs of a run: Node, the real pi and bowline."""

    def __init__(self, cache, pi=None):
        self.cache = Path(cache).resolve()
        self.node = os.path.abspath(
            os.environ.get("BOWLINE_TEST_NODE") or self.cache / "node" / "node_modules" / "node" / "bin" / "node")
        self.prefix = Path(pi).resolve() if pi else self.cache / "pi"
        self.bowline = os.path.abspath(os.environ.get("BOWLINE", ROOT / "target" / "debug" / "bowline"))

    @property
    def package(self):
        return self.prefix / "node_modules" / PI

    @property
    def examples(self):
        return self.package / "examples" / "extensions"

    def install(self):
        """Installs Node, pi and what its examples need, if they are missing."""
        if not os.access(self.node, os.X_OK):
            # A script of this package puts the program in its place.
            npm_install(self.cache / "node", f"node@{NODE_VERSION}", scripts=True)
        wanted = [f"{PI}@{VERSION}", *EXAMPLE_DEPENDENCIES]
        names = [package.rsplit("@", 1)[0] for package in wanted]
        if not all((self.prefix / "node_modules" / name / "package.json").exists() for name in names):
            npm_install(self.prefix, *wanted)
        found = json.loads((self.package / "package.json").read_text())["version"]
        if found != VERSION:
            raise SystemExit(f"pi {found} is installed in {self.prefix}, not {VERSION}")

    def command(self, name):
        if name == "pi":
            return [self.node, str(self.package / "dist" / "cli.js")]
        return [self.bowline]


def options(usage):
    """Returns a parser with the options of whatever plays scripts."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--show", metavar="NAME")
    parser.add_argument("--pi-only", action="store_true")
    parser.add_argument("--update", action="store_true")
    return parser


def npm_install(prefix, *packages, scripts=False):
    """Installs packages as `pi install` does, by default without their install scripts."""
    Path(prefix).mkdir(parents=True, exist_ok=True)
    options = ["--prefix", str(prefix), "--legacy-peer-deps", "--no-audit", "--no-fund", "--silent"]
    options += [] if scripts else ["--ignore-scripts"]
    return subprocess.run(["npm", "install", *options, *packages], stdout=sys.stderr).returncode == 0


def agent(installation, name, extensions):
    """Returns how an agent is started with extensions, in the form of tests/conformance/agents.json."""
    command = installation.command(name) + ["--mode", "rpc", "--model", "mock/m1"]
    for extension in extensions:
        command += ["-e", str(extension)]
    path = os.pathsep.join(["{HOME}/bin", os.path.dirname(installation.node), os.environ["PATH"]])
    return {
        "command": command,
        "agentdir": AGENT_FOLDER,
        "env": {
            "PATH": path, "PI_CODING_AGENT_DIR": "{HOME}/" + AGENT_FOLDER, "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
            "PI_SKIP_VERSION_CHECK": "1", "TZ": "UTC", "LANG": "C.UTF-8"},
        "files": {
            f"{AGENT_FOLDER}/models.json": (CONFORMANCE / "models.json").read_text(),
            ".gitconfig": "[user]\nname = Test\nemail = test@example.org\n[init]\ndefaultBranch = main\n"},
    }


def play(started, script, timeout=TIMEOUT):
    """Plays a script. Returns the log, the bodies of the requests to the model, the outputs of the script's shell
    commands, the agent's HOME and its stderr."""
    with tempfile.TemporaryDirectory(prefix="model-log-") as folder:
        log = Path(folder, "requests")
        model = subprocess.Popen(
            [sys.executable, CONFORMANCE / "mockllm.py", "--log", log], stdout=subprocess.PIPE, text=True)
        run, outputs = None, []
        try:
            port = model.stdout.readline().strip()
            started = {**started, "env": {**started["env"], **script.environment}}
            if script.setup:
                # The setup sees the same files and variables as the agent.
                wrapper = ["sh", "-c", f'({script.setup}) >&2 </dev/null && exec "$@"', "sh"]
                started["command"] = wrapper + started["command"]
            run = Run(started, {"args": script.arguments, "files": script.files}, int(port))
            steps = script.steps + [{"eof": True}, {"exit": True}]
            try:
                run.play(steps, timeout)
            except BrokenPipeError:
                run.log.append({"stuck": "the agent closed its stdin"})
            outputs = [(command, shell(command, run.home)) for command in script.shells]
        finally:
            stderr = run.stop() if run else ""
            model.kill()
            model.wait()
            model.stdout.close()
        requests = [json.loads(line)["body"] for line in log.read_text().splitlines()] if log.exists() else []
    return run.log, requests, outputs, run.home, stderr


def shell(command, home):
    environment = {**os.environ, "HOME": home}
    done = subprocess.run(["sh", "-c", command], cwd=home + "/work", env=environment, text=True, capture_output=True)
    return done.stdout + done.stderr
