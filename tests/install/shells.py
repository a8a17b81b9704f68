"""Types command lines in bash, zsh and fish, each with an empty configuration and the script of bowline, and looks at what
the shell makes of them.

    shells.py BOWLINE
"""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READY = "ready> "
SECONDS = 20

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}

# The script asks the program, past the function of this name, which shows what a line has become.
SHOWS = "bowline() { printf '<%s>' \"$@\"; echo; }"
PREPARATIONS = {
    "bash": f"PS1='{READY}'; source <(bowline completions bash); {SHOWS}",
    "zsh": f"PS1='{READY}'; autoload -Uz compinit; compinit -u -D; source <(bowline completions zsh); {SHOWS}",
    "fish": f"function fish_prompt; echo '{READY}'; end; bowline completions fish | source; "
    "function bowline; printf '<%s>' $argv; echo; end",
}

TYPED = [
    # What is typed before the tabulator, and the words of the line afterwards.
    ("ses", "sessions"),
    ("sessions sh", "sessions show"),
    ("auth check --onl", "auth check --online"),
    ("--thinking me", "--thinking medium"),
    ("--thinking=me", "--thinking=medium"),
    ("--model scripted/d", "--model scripted/demo"),
    ("--model=scripted/demo:mi", "--model=scripted/demo:minimal"),
    ("--tools read,gr", "--tools read,grep"),
    ("--system a-fi", "--system a-file.txt"),
    ("--system=a-fi", "--system=a-file.txt"),
    ("--writable a-", "--writable a-folder/"),
    ("sandbox run --net", "sandbox run --network"),
    ("help sett", "help settings"),
    # Nothing is offered here, not even files.
    ("auth list a-fi", "auth list a-fi"),
]


class Terminal:
    def __init__(self, command, folder, environment):
        self.text = ""
        self.process, self.end = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def write(self, text):
        os.write(self.end, text.encode())

    def wait_for(self, text):
        """Reads until a text has come, and forgets everything up to it."""
        until = time.monotonic() + SECONDS
        while text not in self.text:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.end], [], [], left)[0]:
                raise TimeoutError(f"waited for {text!r}, and there was {self.text!r}")
            shown = os.read(self.end, 65536).decode(errors="replace")
            # fish asks what kind of terminal this is, and waits for the answer.
            if "\x1b[c" in shown or "\x1b[0c" in shown:
                self.write("\x1b[?62c")
            # Colours, movements and titles are not part of what is on a line.
            shown = re.sub(r"\x1b(\[[0-9;?=>]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()].|[=>])", "", shown)
            self.text += shown
        self.text = self.text.split(text, 1)[1]

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.end)


def check(shell, folder, environment):
    terminal = Terminal(SHELLS[shell], folder, environment)
    try:
        terminal.write(f"{PREPARATIONS[shell]}\necho pre''pared\n")
        terminal.wait_for("prepared\r\n")
        for typed, line in TYPED:
            terminal.write(f"bowline {typed}\t\n")
            words = "".join(f"<{word}>" for word in line.split()) + "\r\n"
            # zsh removes the slash after a folder when the line ends.
            terminal.wait_for(words.split("/>")[0] if line.endswith("/") else words)
    finally:
        terminal.close()


def version(shell):
    return subprocess.run([shell, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[0]


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="bowline-shells-") as place:
        folder, programs = Path(place, "folder"), Path(place, "bin")
        programs.mkdir()
        (programs / "bowline").symlink_to(binary)
        (folder / "a-folder").mkdir(parents=True)
        (folder / "a-file.txt").touch()
        environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": place, "TERM": "xterm", "LANG": "C.UTF-8"}
        for shell in SHELLS:
            check(shell, folder, environment)
            print(f"completion: {len(TYPED)} lines typed in {version(shell)}")


main()
