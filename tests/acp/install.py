"""What the tests of the Agent Client Protocol use of others, installed by name below target/acp: the official schema and
libraries. Nothing of it is copied into the project."""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(os.path.abspath(os.environ.get("CARGO_TARGET_DIR", ROOT + "/target")), "acp")
BOWLINE = os.path.abspath(os.environ.get("BOWLINE", ROOT + "/target/debug/bowline"))
SDK, SDK_VERSION = "@agentclientprotocol/sdk", "2.4.0"
PYTHON_PACKAGES = {"agent-client-protocol": "0.12.1", "jsonschema": "4.26.0"}


def npm(package, version):
    """Installs a package from npm if it is missing, and returns its folder."""
    folder = f"{FOLDER}/node_modules/{package}"
    manifest = folder + "/package.json"
    if not os.path.exists(manifest) or json.load(open(manifest))["version"] != version:
        os.makedirs(FOLDER, exist_ok=True)
        options = ["--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
        subprocess.run(["npm", "install", *options, f"{package}@{version}"], check=True, stdout=sys.stderr)
    return folder


def schema():
    """Returns the path of the official schema of version 1."""
    return npm(SDK, SDK_VERSION) + "/schema/v1/schema.json"


def python():
    """Returns an interpreter that has the official library and a validator of JSON Schema."""
    program = FOLDER + "/python/bin/python"
    sites = FOLDER + "/python/lib/python*/site-packages/"
    wanted = [f"{sites}{name.replace('-', '_')}-{version}.dist-info" for name, version in PYTHON_PACKAGES.items()]
    if not all(glob.glob(path) for path in wanted):
        subprocess.run([sys.executable, "-m", "venv", FOLDER + "/python"], check=True)
        packages = [f"{name}=={version}" for name, version in PYTHON_PACKAGES.items()]
        subprocess.run([program, "-m", "pip", "install", "--quiet", *packages], check=True, stdout=sys.stderr)
    return program
