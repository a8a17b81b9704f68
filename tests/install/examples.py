"""The first examples of the clients, with the program of the package that they were installed with and none in PATH."""

import json
import re
import sys
import tempfile
import venv
from pathlib import Path

from project import ROOT

FIND = "from bowline_agent import find_binary; print(find_binary())"


def first_block(page, language):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[1]


def workshop(folder, environment):
    """Returns an empty working folder and an environment whose settings choose the scripted model."""
    home = Path(tempfile.mkdtemp(prefix="home-", dir=folder))
    work = home / "work"
    work.mkdir()
    (home / ".bowline").mkdir()
    settings = {"defaultProvider": "scripted", "defaultModel": "demo"}
    (home / ".bowline/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return work, environment(home)


def install_wheel(packages, place, run, *options):
    pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", packages]
    run(*pip, *options, "bowline-agent")


def python(packages, folder, run, environment):
    place = folder / "python-client"
    venv.create(place, with_pip=True)
    install_wheel(packages, place, run)
    work, variables = workshop(folder, environment)
    output = run(place / "bin/python", "-c", first_block("python-client.md", "python"), cwd=work, env=variables)
    assert "Done:" in output and (work / "greet.sh").is_file(), output
    yield f"Python: {output.split(',')[0]} …"


def wheels(packages, folder, run, environment):
    """Installs the wheels in every way that pip has, and has the client look for its program."""
    place = folder / "wheels"
    venv.create(place, with_pip=True, system_site_packages=True)
    _, variables = workshop(folder, environment)
    interpreter = place / "bin/python"
    target, prefix = place / "target", place / "prefix"
    base = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for options, modules, program in [
        (["--target", target], target, target / "bin/bowline"),
        (["--prefix", prefix], prefix / f"lib/{base}/site-packages", prefix / "bin/bowline"),
    ]:
        install_wheel(packages, place, run, *options)
        found = run(interpreter, "-c", FIND, env={**variables, "PYTHONPATH": str(modules)}).strip()
        assert found == str(program), (found, program)
        run(found, "demo", env=variables)
        yield f"{options[0]}: the client finds the program"
    # Without a fitting system only the wheel for all systems is left, which is the client alone.
    alone = place / "alone"
    install_wheel(packages, place, run, "--target", alone, "--platform", "win_arm64", "--only-binary", ":all:")
    assert not list(alone.rglob("bowline")), "a program for another system"
    variables["PYTHONPATH"] = str(alone)
    script = "import bowline_agent\ntry:\n    bowline_agent.find_binary()\nexcept bowline_agent.BinaryNotFound as error:\n    print(error)"
    assert "cargo install" in run(interpreter, "-c", script, env=variables)
    yield "elsewhere: the client alone, which says what is missing"
    # A system with an old C library takes the static one.
    old = place / "old"
    system = ["--platform", "manylinux_2_17_x86_64", "--only-binary", ":all:"]
    install_wheel(packages, place, run, "--target", old, *system)
    run(old / "bin/bowline", "demo", env=variables)
    yield "an old C library: the static program"


def node_modules(packages, folder, run, environment):
    """Installs the npm packages and returns their folder."""
    place = folder / "node-client"
    place.mkdir()
    _, variables = workshop(folder, environment)
    (client,) = packages.glob("bowline-agent-[0-9]*.tgz")
    (program,) = packages.glob("bowline-agent-linux-*.tgz")
    run("npm", "install", "--silent", "--no-audit", "--no-fund", client, program, cwd=place, env=variables)
    return place / "node_modules"


def node(modules, folder, run, environment):
    work, variables = workshop(folder, environment)
    (work / "node_modules").symlink_to(modules)
    (work / "ask.mjs").write_text(first_block("typescript-client.md", "js"), encoding="utf-8")
    output = run("node", "ask.mjs", cwd=work, env=variables)
    assert "Done:" in output and (work / "greet.sh").is_file(), output
    yield f"Node: {output.split(',')[0]} …"
