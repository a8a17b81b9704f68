"""The npm packages: the TypeScript client with the command `bowline`, and one package with the binary per system.

The first names the others as optional dependencies, of which npm installs the one whose `os` and `cpu` fit. No package
runs anything when it is installed.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from project import DESCRIPTION, ROOT, TARGETS, version

CLIENT = ROOT / "clients/typescript"
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]


def pack(folder, description, out):
    """Writes package.json and returns the path of the tarball."""
    text = json.dumps(description, indent=2, ensure_ascii=False)
    Path(folder, "package.json").write_text(text + "\n", encoding="utf-8")
    # On Windows, npm is a script, which only its full name starts.
    command = [shutil.which("npm"), "pack", "--silent", "--pack-destination", str(out.resolve())]
    packed = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return out / packed.stdout.strip()


def build_client(out):
    """Packs the client. Its package.json is that of the repository, with what depends on the release."""
    description = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    platforms = sorted({target.npm_package for target in TARGETS.values()})
    description |= {
        "version": version(),
        "bin": {"bowline": "bin/bowline.js"},
        "files": [*description["files"], "bin", *LICENCES],
        "optionalDependencies": {name: version() for name in platforms},
    }
    with tempfile.TemporaryDirectory(prefix="bowline-npm-") as folder:
        for name in ("dist", "src"):
            shutil.copytree(CLIENT / name, Path(folder, name))
        shutil.copy(CLIENT / "README.md", folder)
        for name in LICENCES:
            shutil.copy(ROOT / name, folder)
        Path(folder, "bin").mkdir()
        shutil.copy(ROOT / "packaging/npm/bowline.js", Path(folder, "bin"))
        return pack(folder, description, out)


def build_platform(binary, target, extras, out):
    """Packs the binary. On Linux it has to be static, because npm does not choose by the C library everywhere."""
    description = {
        "name": target.npm_package,
        "version": version(),
        "description": f"{DESCRIPTION}: the program for {target.npm_os} on {target.npm_cpu}. Install bowline-agent instead.",
        "license": "MIT OR Apache-2.0",
        "os": [target.npm_os],
        "cpu": [target.npm_cpu],
        "files": ["bin", "NOTICES", *LICENCES],
        "preferUnplugged": True,
    }
    with tempfile.TemporaryDirectory(prefix="bowline-npm-") as folder:
        program = Path(folder, "bin", target.program)
        program.parent.mkdir()
        shutil.copy(binary, program)
        program.chmod(0o755)
        for name in ("NOTICES", *LICENCES):
            shutil.copy(extras / "documents" / name, folder)
        Path(folder, "README.md").write_text(f"# {target.npm_package}\n\n{description['description']}\n", encoding="utf-8")
        return pack(folder, description, out)
