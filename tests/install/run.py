#!/usr/bin/env python3
"""Builds every package, installs each into an empty environment by the commands of docs/installation.md, and tries what was
installed. Usage:

    run.py [--program FILE] [--static-program FILE]

Without programs, ./package builds them, which takes several minutes each. The variable BOWLINE_TEST_NODE names a Node 22.15 or
later; the one of PATH has to be older.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "packaging")]

import examples  # noqa: E402
import quickstart  # noqa: E402
from linkage import inspect  # noqa: E402
from project import TARGETS, host, version  # noqa: E402

PAGE = ROOT / "docs/installation.md"
HERE = Path(__file__).parent

# Building the program from nothing takes longest.
SECONDS_PER_COMMAND = 3600

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


class Progress:
    """Says which step is in progress, and how long each took."""

    def __init__(self, steps):
        self.steps, self.number = steps, 0

    def __call__(self, name, action):
        self.number += 1
        print(f"[{self.number}/{self.steps}] {name} …", flush=True)
        started = time.monotonic()
        said = action()
        for line in said or ():
            print(f"      {line}")
        print(f"      {time.monotonic() - started:.1f} s", flush=True)


def run(*command, **options):
    """Runs a command that has to succeed, and returns its stdout."""
    ended = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if ended.returncode != 0:
        sys.exit(f"$ {' '.join(map(str, command))}\nexit code {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def environment(home, *programs):
    """Returns an environment with an empty home folder, and the programs of the system and of these folders."""
    path = [*map(str, programs), f"{home}/.local/bin", f"{home}/.cargo/bin", "/usr/local/bin", "/usr/bin", "/bin"]
    # Where npm finds its packages. It warns of what that file has for older versions.
    kept = {"NPM_CONFIG_USERCONFIG": os.path.expanduser("~/.npmrc"), "NPM_CONFIG_LOGLEVEL": "error"}
    return {"HOME": str(home), "PATH": ":".join(path), "LANG": "C.UTF-8", "TMPDIR": tempfile.gettempdir(), **kept}


class Installation:
    """The packages, and a folder for what is installed of them."""

    def __init__(self, program, static_program, folder):
        self.program, self.static_program, self.folder = program, static_program, folder
        self.packages = folder / "packages"
        self.sections = dict(quickstart.steps(PAGE))
        self.target = TARGETS[host()]

    def build(self):
        """Builds the programs that were not given: the static one first, because the other is left in target/dist."""
        if self.static_program is None:
            subprocess.run([ROOT / "package", "--static"], check=True)
            self.static_program = TARGET / "dist/bowline-static"
        if self.program is None:
            subprocess.run([ROOT / "package"], check=True)
            self.program = TARGET / "dist/bowline"
        for program in (self.program, self.static_program):
            yield f"{program.name}: {program.stat().st_size / 1e6:.2f} MB, {inspect(program)}"

    def pack(self):
        pack = [sys.executable, ROOT / "packaging/pack.py"]
        out = ["--out", self.packages]
        run(*pack, self.program, "archive", "wheel", "deb", *out)
        run(*pack, self.static_program, "wheel", "npm", *out)
        run(*pack, "pure-wheel", "npm-client", *out)
        sums = run("sha256sum", *(path.name for path in sorted(self.packages.iterdir())), cwd=self.packages)
        (self.packages / "SHA256SUMS").write_text(sums, encoding="utf-8")
        for path in sorted(self.packages.iterdir()):
            yield f"{path.name}: {path.stat().st_size / 1e6:.2f} MB"

    def follow(self, heading, folder, *programs, further=None):
        """Runs the commands of a section of the page, and returns the home folder that they used."""
        home = Path(tempfile.mkdtemp(prefix="home-", dir=self.folder))
        place = str(folder)
        for command in self.sections[heading]:
            variables = {**environment(home, *programs), **(further or {})}
            ended, place = quickstart.run(command, place, variables, SECONDS_PER_COMMAND)
            if ended.returncode != 0 or not quickstart.matches(command.expected, ended.stdout):
                sys.exit(f"{heading}: $ {command.text}\nexit code {ended.returncode}\n{ended.stdout}")
        return home

    def follow_in_downloads(self, heading, *programs):
        """The same in a folder with the packages."""
        folder = Path(tempfile.mkdtemp(prefix="downloads-", dir=self.folder))
        shutil.copytree(self.packages, folder, dirs_exist_ok=True)
        return folder, self.follow(heading, folder, *programs)

    def checkout(self):
        cargo = Path(shutil.which("cargo")).parent
        homes = {name: os.environ.get(name, os.path.expanduser(f"~/.{name.split('_')[0].lower()}")) for name in ("CARGO_HOME", "RUSTUP_HOME")}
        installed = Path(tempfile.mkdtemp(prefix="cargo-", dir=self.folder))
        self.follow("From a checkout", ROOT, installed / "bin", cargo, further={**homes, "CARGO_INSTALL_ROOT": str(installed)})
        assert not list(installed.glob("bin/*")), "cargo uninstall left something"
        yield "cargo install --path crates/cli, demo, cargo uninstall"

    def archive(self):
        _, home = self.follow_in_downloads("Archive")
        assert (home / ".local/share/man/man1/bowline.1").is_file()
        yield "checksum, demo, manual page"

    def wheel(self):
        folder, _ = self.follow_in_downloads("Python", self.python_folder())
        left = [path for path in (folder / "agent").rglob("*bowline*")]
        assert not left, f"pip uninstall left {left}"
        yield "pip install, demo, pip uninstall"

    def python_folder(self):
        """A folder with the Python that runs this, as python3."""
        folder = self.folder / "python"
        if not folder.exists():
            folder.mkdir()
            (folder / "python3").symlink_to(sys.executable)
        return folder

    def wheels_elsewhere(self):
        """Installs the wheels in every other way that pip has, and has the client look for its program."""
        return examples.wheels(self.packages, self.folder, run, environment)

    def npm(self):
        folder, _ = self.follow_in_downloads("npm")
        left = list((folder / "agent").rglob("*bowline*"))
        assert not left, f"npm uninstall left {left}"
        yield "npm install, demo, npm uninstall"

    def clients(self):
        yield from examples.python(self.packages, self.folder, run, environment)
        self.modules = examples.node_modules(self.packages, self.folder, run, environment)
        yield from examples.node(self.modules, self.folder, run, environment)

    def shim(self):
        newer = Path(os.environ["BOWLINE_TEST_NODE"])
        for node in (Path(shutil.which("node")), newer):
            run(node, HERE / "shim.mjs", self.modules / ".bin/bowline")
            yield f"stdio, signals, exit codes and kills with Node {run(node, '--version').strip()}"
        program = self.modules / f"{self.target.npm_package}/bin/bowline"
        for name, command in [
            ("the program", [self.program]),
            ("the static program", [program]),
            ("the command of npm, older Node", ["node", self.modules / ".bin/bowline"]),
            ("the command of npm, newer Node", [newer, self.modules / ".bin/bowline"]),
        ]:
            yield f"start until the answer to get_state: {name}: {start_time(command):.1f} ms"

    def deb(self):
        root = self.folder / "debian"
        (root / "var/lib/dpkg/info").mkdir(parents=True)
        (root / "var/lib/dpkg/updates").mkdir()
        # The dependencies are those of this system.
        shutil.copy("/var/lib/dpkg/status", root / "var/lib/dpkg/status")
        (package,) = self.packages.glob("*.deb")
        before = files_below(root)
        run("dpkg", f"--root={root}", "--force-script-chrootless", "--install", package)
        assert f"{version()}-1" in run("dpkg-query", f"--root={root}", "--show", "bowline")
        home = Path(tempfile.mkdtemp(prefix="home-", dir=self.folder))
        run(root / "usr/bin/bowline", "demo", env=environment(home))
        assert "headless" in run("man", "--warnings", "-l", root / "usr/share/man/man1/bowline.1.gz", env=environment(home))
        assert not run("dpkg", f"--root={root}", "--verify", "bowline")
        yield f"installed below a folder: {len(files_below(root) - before)} files, demo, manual page"
        run("dpkg", f"--root={root}", "--force-script-chrootless", "--purge", "bowline")
        left = [path for path in files_below(root) - before if "var/lib/dpkg" not in path]
        assert not left, f"dpkg left {left}"
        plan = run("apt-get", "install", "--simulate", package, env={**environment(home), "DEBIAN_FRONTEND": "noninteractive"})
        assert "Inst bowline" in plan, plan
        yield "purged without a rest; apt would install it here"

    def static(self):
        return run(sys.executable, HERE / "static.py", self.static_program).splitlines()

    def shells(self):
        return run(sys.executable, HERE / "shells.py", self.program).splitlines()

    def completions_and_manual(self):
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "bowline").symlink_to(self.program)
        for heading in ("Completions", "Manual pages"):
            self.follow(heading, self.folder, programs)
        yield "as on the page"


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def start_time(command):
    """Returns the median time in milliseconds from the start to the end of a process that answers one command."""
    times = []
    for _ in range(15):
        started = time.perf_counter()
        ended = subprocess.run(
            [*command, "--mode", "rpc", "--model", "scripted/demo", "--no-session"],
            input=b'{"type":"get_state"}\n', stdout=subprocess.PIPE, check=True,
        )
        times.append((time.perf_counter() - started) * 1000)
        assert b'"success":true' in ended.stdout
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage:\n\n")[1])
    parser.add_argument("--program", type=Path)
    parser.add_argument("--static-program", type=Path)
    given = parser.parse_args()
    folder = TARGET / "install"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    absolute = lambda path: path and path.resolve()
    installation = Installation(absolute(given.program), absolute(given.static_program), folder)
    steps = [
        ("build the program, static and not", installation.build),
        ("pack it", installation.pack),
        ("archive", installation.archive),
        ("wheel", installation.wheel),
        ("wheel, installed in other ways", installation.wheels_elsewhere),
        ("npm packages", installation.npm),
        ("the first examples of the clients", installation.clients),
        ("the command of the npm package", installation.shim),
        ("Debian package", installation.deb),
        ("static program", installation.static),
        ("completions and manual pages", installation.completions_and_manual),
        ("completions, typed", installation.shells),
        ("checkout", installation.checkout),
    ]
    progress = Progress(len(steps))
    for name, action in steps:
        progress(name, action)
    for path in folder.iterdir():
        if path != installation.packages:
            shutil.rmtree(path)
    print(f"the packages are in {installation.packages}")


main()
