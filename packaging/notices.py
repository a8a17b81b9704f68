"""The licences of the crates that are part of the binary. Most of them ask that their text goes along with it."""

import json
import re
import subprocess
from pathlib import Path

from project import ROOT

NAMES = re.compile(r"(licen[cs]e|copying|notice|unlicense)([-_.].*)?", re.IGNORECASE)


def crates(triple):
    """Returns the crates of others that the program consists of on a target, with their dependencies but for building."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    open_ids = [identity for identity, package in packages.items() if package["name"] == "bowline"]
    found = set()
    while open_ids:
        identity = open_ids.pop()
        if identity not in found:
            found.add(identity)
            for dependency in nodes[identity]["deps"]:
                if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                    open_ids.append(dependency["pkg"])
    others = [packages[identity] for identity in found if packages[identity]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """Returns the licence texts in a crate, without spaces at the ends of lines."""
    folder = Path(package["manifest_path"]).parent
    for path in sorted(folder.iterdir()):
        if path.is_file() and NAMES.fullmatch(path.name):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            yield "\n".join(line.rstrip() for line in lines).strip()


def notices(triple):
    """Returns the notices as text: each licence text once, below the crates that have it."""
    # The same text is often wrapped or indented in another way.
    users, spellings = {}, {}
    without = []
    for package in crates(triple):
        name = f"{package['name']} {package['version']} ({package['license']})"
        found = list(texts(package))
        for text in found:
            words = " ".join(text.split())
            users.setdefault(words, []).append(name)
            spellings.setdefault(words, text)
        if not found:
            without.append(name)
    parts = ["bowline contains the following software of others, under these licences.\n"]
    if without:
        listed = "\n".join(f"  {name}" for name in without)
        parts.append(f"Published without a licence text, under the licence that is named:\n\n{listed}\n")
    for words, names in sorted(users.items(), key=lambda item: item[1]):
        listed = "\n".join(f"  {name}" for name in names)
        parts.append(f"{'=' * 80}\n{listed}\n{'-' * 80}\n\n{spellings[words]}\n")
    return "\n".join(parts)
