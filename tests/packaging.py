#!/usr/bin/env python3
"""Checks that the files about packages agree with each other: one version, and one list of targets."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

from project import TARGETS, version  # noqa: E402

WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")


def check_version():
    description = json.loads((ROOT / "clients/typescript/package.json").read_text(encoding="utf-8"))
    assert description["version"] == version(), "clients/typescript/package.json has another version than Cargo.toml"
    python = (ROOT / "clients/python/pyproject.toml").read_text(encoding="utf-8")
    pattern = re.search(r"^pattern = '(.+)'$", python, re.MULTILINE)[1]
    found = re.search(pattern, (ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert found["version"] == version(), "clients/python/pyproject.toml finds another version than that of Cargo.toml"


def check_targets():
    rows = re.findall(r"- target: (\S+)\n +runner: \S+\n +packages: (.+)\n", WORKFLOW)
    assert sorted(triple for triple, _ in rows) == sorted(TARGETS), "the release workflow builds other targets"
    npm = []
    for triple, packages in rows:
        target, kinds = TARGETS[triple], packages.split()
        assert ("deb" in kinds) == bool(target.debian), triple
        # Every system has one npm package, on Linux that of the static program.
        npm += [target.npm_package] * ("npm" in kinds)
        assert not ("npm" in kinds and target.is_linux and not target.is_static), triple
    assert sorted(npm) == sorted({target.npm_package for target in TARGETS.values()}), npm
    names = re.search(r'^export const PLATFORM_PACKAGE = `(.+)`', (ROOT / "clients/typescript/src/locate.ts").read_text(), re.MULTILINE)
    assert names[1] == "bowline-agent-${process.platform}-${process.arch}", "the client looks for packages of other names"


def check_scripts():
    subprocess.run(["node", "--check", ROOT / "packaging/npm/bowline.js"], check=True)
    printed = subprocess.run([sys.executable, ROOT / "packaging/pack.py", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    assert printed.stdout == f"{version()}\n"


check_version()
check_targets()
check_scripts()
print(f"packaging: version {version()}, {len(TARGETS)} targets")
