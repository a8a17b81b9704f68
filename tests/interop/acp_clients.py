#!/usr/bin/env python3
"""Has the official clients of the Agent Client Protocol drive bowline: the libraries in TypeScript, Python and Rust, and acpx.
None of them may have anything to complain of.

  BOWLINE=target/release/bowline tests/interop/acp_clients.py [typescript|python|rust|acpx ...]

Needs Node 20, npm, cargo and Python 3.11. All of it is installed by name below target/acp on the first run.
"""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "acp"))
import install
from client import Model, plan

ACPX, RUST = "0.19.1", "5.0.0"


def text(*steps):
    return plan(*steps)[0]["text"]


def call(name, **arguments):
    return {"tools": [{"name": name, "args": arguments}]}


def run(model, command, **options):
    """Runs a program in the home of the model and returns what it wrote; stderr goes to the terminal."""
    done = subprocess.run(command, env=model.environment(), cwd=model.work(), stdout=subprocess.PIPE, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def typescript(model):
    library = install.npm(install.SDK, install.SDK_VERSION) + "/dist/v1/stable/acp.js"
    print(run(model, ["node", HERE + "/acp/typescript_client.mjs", library, model.work(), install.BOWLINE, "acp"]), end="")


def python(model):
    print(run(model, [install.python(), HERE + "/acp/python_client.py", model.work(), install.BOWLINE, "acp"]), end="")


def rust(model):
    """The example client of the crate that Zed uses, built where the crate itself would not be written to."""
    folder = install.FOLDER + "/rust"
    source, target = folder + "/source", folder + "/target"
    if not os.path.exists(source):
        os.makedirs(folder + "/fetch/src", exist_ok=True)
        open(folder + "/fetch/src/lib.rs", "w").close()
        with open(folder + "/fetch/Cargo.toml", "w") as file:
            file.write(f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\nagent-client-protocol = "={RUST}"\n')
        manifest = ["--manifest-path", folder + "/fetch/Cargo.toml"]
        subprocess.run(["cargo", "fetch", *manifest], check=True)
        found = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", *manifest]))
        package = next(one for one in found["packages"] if one["name"] == "agent-client-protocol")
        shutil.copytree(os.path.dirname(package["manifest_path"]), source)
        with open(source + "/Cargo.toml", "a") as file:
            file.write("\n[workspace]\n")
    subprocess.run(["cargo", "build", "--quiet", "--manifest-path", source + "/Cargo.toml", "--example", "yolo_one_shot_client",
                    "--features", "process", "--target-dir", target], check=True)
    prompt = text({"think": "Hm.", "text": "I look.", **call("bash", command="echo seen")}, {"text": "Done."})
    program = [target + "/debug/examples/yolo_one_shot_client", "--command", install.BOWLINE + " acp", prompt]
    shown = run(model, program, stderr=subprocess.STDOUT)
    for part in ("AgentThoughtChunk", "AgentMessageChunk", "ToolCallUpdate", "EndTurn", "seen"):
        assert part in shown, f"{part} is missing in\n{shown}"
    for word in ("error", "warn", "failed"):
        assert word not in shown.lower(), f"{word} in\n{shown}"
    print(f"rust: {len(shown.splitlines())} lines, no complaint")


def acpx(model):
    """One shot, and a session that three processes use one after the other."""
    program = [install.npm("acpx", ACPX) + "/dist/cli.js", "--agent", install.BOWLINE + " acp", "--approve-all"]

    def use(*words, options=()):
        done = subprocess.run(["node", *program, *options, *words], env=model.environment(), cwd=model.work(),
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"acpx {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        for word in ("error", "warn", "fail", "invalid"):
            assert word not in done.stderr.lower(), f"acpx {words}: {done.stderr}"
        return done.stdout

    shown = use("exec", text({"text": "One shot."}, {"text": "no"}))
    assert "One shot." in shown, shown
    use("sessions", "new")
    first = use("prompt", text({"text": "I write.", **call("write", path="by-acpx.txt", content="x\n")}, {"text": "Written."}))
    assert "Written." in first and os.path.exists(model.work() + "/by-acpx.txt"), first
    second = use("prompt", text({"text": "Second turn."}))
    assert "Second turn." in second, second
    # The second prompt knows the first.
    assert "by-acpx.txt" in json.dumps(model.requests()[-1]), "the conversation was lost"
    use("set", "model", "mock/m2")
    use("prompt", text({"text": "By m2."}))
    lines = use("exec", text({"text": "As JSON."}), options=("--format", "json", "--json-strict")).splitlines()
    messages = [json.loads(line) for line in lines if line.strip()]
    assert any("As JSON." in json.dumps(message) or "stopReason" in json.dumps(message) for message in messages), lines
    use("sessions", "close")
    print(f"acpx: {len(messages)} messages of JSON, no complaint")


CLIENTS = {"typescript": typescript, "python": python, "rust": rust, "acpx": acpx}


def main():
    for name in sys.argv[1:] or CLIENTS:
        with Model() as model:
            CLIENTS[name](model)


if __name__ == "__main__":
    main()
