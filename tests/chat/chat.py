#!/usr/bin/env python3
"""Drives `bowline chat` in a pseudo-terminal as a user does, with scripted models.

    tests/chat/chat.py [BOWLINE] [TEST…]

What is compared is a screen: the bytes of the program are carried out by a small terminal, so that a test sees what a user
sees. Needs Python 3.11 on Unix and nothing else.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30
TESTS = []


class Screen:
    """A terminal with the few escape sequences that the program uses. What scrolls out is kept."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [[]]
        self.row = self.column = 0
        self.rest = b""
        self.unknown = []

    def feed(self, data):
        text, self.rest = self.complete(self.rest + data)
        for match in re.finditer(r"\x1b\[([?>=]?[0-9;]*)([@-~])|\x1b([^\[])|([^\x1b])", text):
            parameters, final, other, letter = match.groups()
            if letter is not None:
                self.put(letter)
            elif other is not None:
                self.unknown.append(other)
            else:
                self.control(parameters, final)

    @staticmethod
    def complete(data):
        """Splits off an incomplete character or escape sequence at the end."""
        cut = len(data)
        escape = data.rfind(b"\x1b")
        if escape >= 0 and not re.match(rb"\x1b(\[[?>=]?[0-9;]*[@-~]|[^\[])", data[escape:]):
            cut = escape
        for back in range(1, min(4, cut) + 1):
            byte = data[cut - back]
            if byte >= 0xC0:
                length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                if back < length:
                    cut -= back
                break
            if byte < 0x80:
                break
        return data[:cut].decode(), data[cut:]

    def put(self, letter):
        if letter == "\n":
            self.row += 1
            self.column = 0
        elif letter == "\r":
            self.column = 0
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter == "\a":
            pass
        else:
            if self.column >= self.columns:
                self.row, self.column = self.row + 1, 0
            self.reach()
            line = self.rows[self.row]
            line.extend(" " * (self.column + 1 - len(line)))
            line[self.column] = letter
            self.column += 1
            return
        self.reach()

    def reach(self):
        while self.row >= len(self.rows):
            self.rows.append([])

    def control(self, parameters, final):
        number = int(re.sub(r"\D", "", parameters.split(";")[0]) or 0)
        if parameters.startswith(("?", ">", "=")) or final in "hlmnc":
            return
        if final == "A":
            self.row = max(0, self.row - (number or 1))
        elif final == "B":
            self.row += number or 1
        elif final == "C":
            self.column += number or 1
        elif final == "D":
            self.column = max(0, self.column - (number or 1))
        elif final == "G":
            self.column = (number or 1) - 1
        elif final == "K":
            self.reach()
            line = self.rows[self.row]
            if number == 0:
                del line[self.column:]
            else:
                line[:] = []
        elif final == "J":
            self.reach()
            del self.rows[self.row + 1:]
            del self.rows[self.row][self.column:]
        else:
            self.unknown.append(parameters + final)
        self.reach()

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows).rstrip()


class Chat:
    """A running `bowline chat`."""

    def __init__(self, folder, *arguments, columns=80, environment=None):
        self.folder = folder
        self.screen = Screen(columns)
        self.raw = b""
        self.seen = 0
        self.master, slave = pty.openpty()
        self.resize(columns, signalled=False)
        variables = {
            "HOME": str(folder), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "BOWLINE_HOME": str(folder / "home"),
            **(environment or {}),
        }
        self.attributes = termios.tcgetattr(slave)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [BOWLINE, "chat", *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=folder / "work", env=variables,
            preexec_fn=own_terminal)
        self.slave = slave

    def resize(self, columns, signalled=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.screen.columns = columns
        if signalled:
            self.process.send_signal(signal.SIGWINCH)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.raw += data
            self.screen.feed(data)

    def wait_for(self, text, after=None):
        """Waits until the screen shows a text; with `after`, behind that other text."""
        end = time.monotonic() + PATIENCE
        while True:
            shown = self.screen.text()
            if after is not None:
                shown = shown.rpartition(after)[2] if after in shown else ""
            if text in shown:
                return self.screen.text()
            if time.monotonic() > end:
                raise AssertionError(f"the screen does not show {text!r}:\n{self.screen.text()}")
            self.read(0.1)

    def type(self, text):
        os.write(self.master, text.encode())

    def line(self, text):
        self.type(text + "\r")

    def ready(self):
        """Waits until a line can be typed and nothing is in progress."""
        self.wait_for("\n›")
        self.settle()

    def settle(self):
        end = time.monotonic() + PATIENCE
        quiet = 0
        while quiet < 4:
            before = len(self.raw)
            self.read(0.1)
            quiet = quiet + 1 if len(self.raw) == before else 0
            assert time.monotonic() < end, f"the screen never rests:\n{self.screen.text()}"

    def end(self, code=0):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            self.read(0.1)
            assert time.monotonic() < end, f"it does not end:\n{self.screen.text()}"
        self.read(0.2)
        assert self.process.returncode == code, f"exit code {self.process.returncode}:\n{self.screen.text()}"
        assert termios.tcgetattr(self.slave)[3] == self.attributes[3], "the terminal is not as it was"
        assert not self.screen.unknown, f"unknown escape sequences {self.screen.unknown}"
        return self.screen.text()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def test(function):
    TESTS.append(function)
    return function


def script(folder, *steps):
    (folder / "script.json").write_text(json.dumps({"steps": list(steps)}))
    return ["--model", f"scripted/{folder / 'script.json'}", "--no-session"]


@test
def answers_are_shown_as_markdown(start, folder):
    chat = start(*script(folder, {"text": "# Title\n\n- **one** of `two`\n\n```\ncode\n```\n" + "word " * 30}))
    chat.ready()
    chat.line("hello")
    chat.wait_for("scripted/", after="word word")
    text = chat.screen.text()
    assert "\nTitle\n\n• one of two\n\n```\ncode\n```\nword word" in text, text
    assert max(len(row) for row in text.splitlines()) <= 80, text
    assert b"\x1b[1mone\x1b[0m" in chat.raw and b"\x1b[36mtwo\x1b[0m" in chat.raw
    assert text.count("› hello") == 1, text
    chat.line("/quit")
    chat.end()


@test
def what_a_model_writes_cannot_drive_the_terminal(start, folder):
    evil = "a\x1b]0;title\x07\x1b[2J\x9b31m\r\nb\u202ec"
    command = "printf '\\033[2Jx'; echo \x1b[5m; exit 3"
    chat = start(*script(
        folder, {"text": evil, "toolCalls": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "done"}))
    chat.ready()
    chat.line("go")
    chat.wait_for("scripted/", after="done")
    text = chat.screen.text()
    assert "a\\u001b]0;title\\u0007\\u001b[2J\\u009b31m" in text and "\\u202ec" in text, text
    assert b"\x1b]0;" not in chat.raw and b"\x1b[2J" not in chat.raw and b"\x1b[5m" not in chat.raw
    assert "✗ bash" in text, text
    chat.line("/quit")
    chat.end()


@test
def changes_of_files_are_shown_in_colour_and_undone(start, folder):
    (folder / "work" / "a.txt").write_text("old\nsame\n")
    edit = {"name": "edit", "arguments": {"path": "a.txt", "oldText": "old", "newText": "new"}}
    read = {"name": "read", "arguments": {"path": "a.txt"}}
    arguments = script(folder, {"toolCalls": [read]}, {"toolCalls": [edit]}, {"text": "changed"})
    arguments.remove("--no-session")
    chat = start(*arguments)
    chat.ready()
    chat.line("change it")
    chat.wait_for("scripted/", after="changed")
    assert "✓ edit a.txt" in chat.screen.text()
    assert b"\x1b[31m-1 old" in chat.raw and b"\x1b[32m+1 new" in chat.raw
    chat.line("/undo")
    chat.wait_for("restored: ")
    assert (folder / "work" / "a.txt").read_text() == "old\nsame\n"
    chat.line("/export page.html")
    chat.wait_for("Written: ")
    assert (folder / "work" / "page.html").exists()
    chat.line("/quit")
    chat.end()


@test
def line_typed_meanwhile_steers_and_ctrl_c_stops(start, folder):
    call = {"name": "bash", "arguments": {"command": "sleep 2"}}
    chat = start(*script(folder, {"toolCalls": [call]}, {"text": "steered"}, {"text": "I hang", "hang": True}))
    chat.ready()
    chat.line("go")
    chat.wait_for("bash sleep 2")
    chat.line("rather this")
    chat.wait_for("(the agent reads this after what it is doing)")
    chat.wait_for("scripted/", after="steered")
    chat.line("/tree")
    chat.wait_for("you: rather this")
    chat.type("\x03")
    # As on any terminal, what is typed together with Ctrl-C is gone.
    chat.settle()
    chat.line("again")
    chat.wait_for("answering")
    chat.type("half a line")
    chat.wait_for("› half a line")
    chat.type("\x03")
    chat.wait_for("stopped")
    chat.wait_for("scripted/", after="stopped")
    chat.type("\x03")
    chat.wait_for("Ctrl-C once more ends the conversation.")
    chat.type("\x03")
    chat.end()


@test
def fork_brings_the_message_back_for_editing(start, folder):
    chat = start(*script(folder, {"text": "one"}, {"text": "two"}))
    chat.ready()
    chat.line("first message")
    chat.wait_for("scripted/", after="one")
    chat.line("/fork")
    chat.wait_for("1  first message")
    chat.line("9")
    chat.wait_for("Please answer with a number from 1 to 1.")
    chat.line("1")
    chat.wait_for("A new session from before that message.")
    chat.wait_for("› first message", after="A new session")
    chat.line(" changed")
    chat.wait_for("scripted/", after="first message changed")
    assert "› first message changed" in chat.screen.text(), chat.screen.text()
    chat.line("/model")
    chat.wait_for("Which model?")
    chat.type("\x03")
    chat.settle()
    chat.line("/modl")
    chat.wait_for("There is no command /modl; did you mean /model?")
    chat.type("\x04")
    chat.end()


@test
def tool_calls_are_asked_about(start, folder):
    call = {"name": "bash", "arguments": {"command": "touch made; echo \x1b[2Jx"}}
    arguments = script(folder, {"toolCalls": [call]}, {"toolCalls": [call]}, {"text": "finished"})
    chat = start(*arguments, "--ask", "untrusted")
    chat.ready()
    chat.line("go")
    chat.wait_for("? May bash run?")
    assert "touch made; echo \\u001b[2Jx" in chat.screen.text()
    chat.line("perhaps")
    chat.wait_for("Please answer y (once)")
    assert not (folder / "work" / "made").exists()
    chat.line("n not like this")
    chat.wait_for("? May bash run?", after="not like this")
    assert not (folder / "work" / "made").exists()
    chat.line("y")
    chat.wait_for("scripted/", after="finished")
    assert (folder / "work" / "made").exists()
    chat.line("/quit")
    chat.end()


@test
def history_and_completion(start, folder):
    (folder / "work" / "unusual.txt").write_text("the content\n")
    chat = start(*script(folder, {"text": "fine"}))
    chat.ready()
    chat.line("remember me")
    chat.wait_for("scripted/", after="fine")
    chat.line("/quit")
    chat.end()
    history = folder / "home" / "chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert json.loads(history.read_text().splitlines()[0]) == "remember me"
    chat = start(*script(folder, {"text": "read"}))
    chat.ready()
    chat.type("\x1b[A\x1b[A")
    chat.wait_for("› remember me")
    chat.type("\x15/expo\t")
    chat.wait_for("› /export")
    chat.type("\x15see @unu\t")
    chat.wait_for("› see @unusual.txt")
    chat.type("\x15")
    chat.settle()
    chat.line("/quit")
    chat.end()


@test
def width_changes_and_long_lines_leave_one_prompt(start, folder):
    chat = start(*script(folder, {"text": "word " * 40}, {"text": "word " * 40}), columns=60)
    chat.ready()
    chat.line("x")
    chat.wait_for("scripted/", after="word")
    chat.resize(30)
    chat.settle()
    chat.line("y")
    chat.wait_for("scripted/", after="› y")
    narrow = chat.screen.text().rpartition("› y")[2].splitlines()
    assert max(len(row) for row in narrow) <= 30, narrow
    chat.line("/quit")
    chat.end()


@test
def colours_are_left_out_on_request(start, folder):
    chat = start(*script(folder, {"text": "**bold**"}), environment={"NO_COLOR": "1"})
    chat.ready()
    chat.line("x")
    chat.wait_for("scripted/", after="bold")
    assert not re.search(rb"\x1b\[[0-9;]*[1-9][0-9;]*m", chat.raw), chat.raw
    chat.line("/quit")
    chat.end()


@test
def simple_terminal_gets_plain_lines(start, folder):
    chat = start(*script(folder, {"text": "**bold** words"}), environment={"TERM": "dumb"})
    chat.wait_for(">")
    chat.line("hi")
    chat.wait_for("bold words")
    assert b"\x1b" not in chat.raw, chat.raw
    chat.settle()
    chat.line("/quit")
    chat.end()


@test
def first_message_and_flags_are_passed_on(start, folder):
    chat = start(*script(folder, {"text": "at once"}), "do", "this", "--tools", "read")
    chat.wait_for("› do this")
    chat.wait_for("scripted/", after="at once")
    chat.line("/quit")
    chat.end()
    chat = start("--model", "no/such")
    chat.wait_for("no/such")
    chat.end(code=1)
    chat = start("--output", "json")
    chat.wait_for("--output is not an option of bowline chat")
    chat.end(code=2)


@test
def end_of_the_agent_and_signals_restore_the_terminal(start, folder):
    chat = start(*script(folder, {"text": "fine"}))
    chat.ready()
    children = Path(f"/proc/{chat.process.pid}/task/{chat.process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    chat.wait_for("signal: 9")
    chat.end(code=1)
    chat = start(*script(folder, {"text": "fine"}))
    chat.ready()
    chat.type("half")
    chat.wait_for("› half")
    chat.process.send_signal(signal.SIGTERM)
    chat.end()


@test
def pipes_are_refused_with_the_alternative(start, folder):
    for keyword in ("stdin", "stdout"):
        run = subprocess.run(
            [BOWLINE, "chat"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"HOME": str(folder), "PATH": os.environ["PATH"]})
        assert run.returncode == 1 and run.stdout == "", (keyword, run)
        assert "needs a terminal" in run.stderr and "bowline -p" in run.stderr, run.stderr


def main():
    global BOWLINE
    arguments = sys.argv[1:]
    default = os.environ.get("BOWLINE", str(ROOT / "target" / "debug" / "bowline"))
    BOWLINE = arguments.pop(0) if arguments and "/" in arguments[0] else default
    chosen = [function for function in TESTS if not arguments or function.__name__ in arguments]
    failures = 0
    for function in chosen:
        started = []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "work").mkdir()

            def start(*words, **options):
                started.append(Chat(folder, *words, **options))
                return started[-1]

            try:
                function(start, folder)
                print(f"ok    {function.__name__}")
            except Exception as error:  # noqa: BLE001
                failures += 1
                print(f"FAIL  {function.__name__}: {error}")
            finally:
                for chat in started:
                    chat.close()
    print(f"{len(chosen) - failures} of {len(chosen)} passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
