"""The Debian package. `dpkg-deb` builds it; what it depends on is read from the binary."""

import gzip
import os
import subprocess
import sys
import tempfile
from email.utils import formatdate
from pathlib import Path

from linkage import inspect
from project import DESCRIPTION, timestamp, version

MAINTAINER = "The bowline authors <bowline@bowline.invalid>"

REVISION = 1
"""The version of the packaging."""

PACKAGES = {"libc.so.6": "libc6", "libm.so.6": "libc6", "libgcc_s.so.1": "libgcc-s1", "ld-linux-x86-64.so.2": "libc6",
            "ld-linux-aarch64.so.1": "libc6"}
"""The packages of the libraries that a program in Rust needs."""

LONG_DESCRIPTION = """\
 bowline is driven by another program, which starts it and sends commands as
 JSON lines. It streams answers of a model, runs tools in a workspace, stores
 sessions, and confines what tools may do. It serves clients of pi, omp, opi
 and operator-use, and editors that speak the Agent Client Protocol.
 .
 bowline also runs single messages from scripts (bowline -p) and has a chat on
 the terminal.
"""


def dependencies(binary):
    """Returns the value of Depends."""
    linkage = inspect(binary)
    if linkage.is_static:
        return ""
    if unknown := [library for library in linkage.libraries if library not in PACKAGES]:
        sys.exit(f"{binary} needs {', '.join(unknown)}: name the package of it in {Path(__file__).name}")
    names = sorted({PACKAGES[library] for library in linkage.libraries})
    oldest = ".".join(map(str, linkage.glibc))
    return ", ".join(f"{name} (>= {oldest})" if name == "libc6" else name for name in names)


def control(binary, target, size, maintainer):
    """Returns the file that describes the package."""
    fields = {
        "Package": "bowline",
        "Version": f"{version()}-{REVISION}",
        "Architecture": target.debian,
        "Maintainer": maintainer,
        "Installed-Size": str((size + 1023) // 1024),
        "Depends": dependencies(binary),
        # The certificates of providers are checked with those of the system.
        "Recommends": "ca-certificates",
        # Packages and extensions of pi.
        "Suggests": "git, nodejs, npm",
        "Section": "devel",
        "Priority": "optional",
        "Description": f"{DESCRIPTION.removeprefix('A ')}\n{LONG_DESCRIPTION.rstrip()}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def copyright_file(documents):
    """Returns the licences of bowline and of what it contains, as far as a machine can read them; then the notices."""
    mit = (documents / "LICENSE-MIT").read_text(encoding="utf-8").split("\n\n", 2)[2]
    indented = "\n".join(f" {line}" if line.strip() else " ." for line in mit.rstrip().splitlines())
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: bowline
Comment: The binary contains software of others. Their licences are in
 /usr/share/doc/bowline/NOTICES.gz.

Files: *
Copyright: 2026 The bowline authors
License: Expat or Apache-2.0

License: Expat
{indented}

License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""


def changelog(maintainer):
    """Returns Debian's changelog, which only says where the other one is."""
    date = formatdate(timestamp(), usegmt=False)
    text = f"  * Release {version()}; see changelog.gz for what has changed."
    return f"bowline ({version()}-{REVISION}) unstable; urgency=medium\n\n{text}\n\n -- {maintainer}  {date}\n"


def files(binary, extras, maintainer):
    """Yields the place of each file below /, and its content."""
    compress = lambda content: gzip.compress(content, 9, mtime=0)
    documents = extras / "documents"
    yield "usr/bin/bowline", binary.read_bytes()
    for page in sorted((extras / "man").glob("*/*")):
        yield f"usr/share/man/{page.parent.name}/{page.name}.gz", compress(page.read_bytes())
    completions = extras / "completions"
    yield "usr/share/bash-completion/completions/bowline", (completions / "bowline.bash").read_bytes()
    yield "usr/share/zsh/vendor-completions/_bowline", (completions / "_bowline").read_bytes()
    yield "usr/share/fish/vendor_completions.d/bowline.fish", (completions / "bowline.fish").read_bytes()
    place = "usr/share/doc/bowline"
    yield f"{place}/copyright", copyright_file(documents).encode()
    yield f"{place}/NOTICES.gz", compress((documents / "NOTICES").read_bytes())
    yield f"{place}/changelog.gz", compress((documents / "CHANGELOG.md").read_bytes())
    yield f"{place}/changelog.Debian.gz", compress(changelog(maintainer).encode())


def build(binary, target, extras, out, maintainer=MAINTAINER):
    """Builds the package and returns its path."""
    with tempfile.TemporaryDirectory(prefix="bowline-deb-") as folder:
        root = Path(folder, "root")
        size, sums = 0, []
        for name, content in files(binary, extras, maintainer):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if name == "usr/bin/bowline" else 0o644)
            size += len(content)
            sums.append(name)
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(control(binary, target, size, maintainer), encoding="utf-8")
        listed = subprocess.run(["md5sum", *sums], cwd=root, check=True, stdout=subprocess.PIPE).stdout
        (root / "DEBIAN/md5sums").write_bytes(listed)
        for path in [root, *root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        package = out / f"bowline_{version()}-{REVISION}_{target.debian}.deb"
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(timestamp())}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return package
