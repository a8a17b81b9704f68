"""What goes along with the binary: the manual pages and the completions, which it prints itself, and the licences."""

import shutil
import subprocess

from notices import notices
from project import ROOT

SHELLS = {"bash": "bowline.bash", "zsh": "_bowline", "fish": "bowline.fish"}

DOCUMENTS = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]
"""Files of the repository that packages contain."""


def printed(binary, *words):
    return subprocess.run([binary, *words], check=True, stdout=subprocess.PIPE).stdout


def write(binary, target, folder):
    """Writes the folders `man`, `completions` and `documents`."""
    manual, completions, documents = folder / "man", folder / "completions", folder / "documents"
    for path in (manual, completions, documents):
        path.mkdir(parents=True)
    printed(binary, "man", "--out", manual)
    for shell, name in SHELLS.items():
        (completions / name).write_bytes(printed(binary, "completions", shell))
    for name in DOCUMENTS:
        shutil.copy(ROOT / name, documents)
    (documents / "NOTICES").write_text(notices(target.triple), encoding="utf-8")
