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
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
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
            self.show(letter)
            return
        self.reach()

    def show(self, letter):
        width = 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if width == 0 and self.column:
            self.rows[self.row][self.column - 1] += letter
            return
        if self.column + width > self.columns:
            self.row, self.column = self.row + 1, 0
        self.reach()
        line = self.rows[self.row]
        line.extend(" " * (self.column + width - len(line)))
        # The second column of a wide character is empty.
        line[self.column:self.column + width] = [letter, ""][:width]
        self.column += width

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

    def agent(self):
        """Returns the process of the agent."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def hang_up(self):
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = None

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
                return False
            self.raw += data
            self.screen.feed(data)
        return bool(ready)

    def wait_for(self, text, after=None):
        """Waits until the screen shows a text; with `after`, behind that other text."""
        self.wait(lambda shown: text in shown, after, repr(text))

    def wait(self, is_there, after, what):
        end = time.monotonic() + PATIENCE
        while True:
            shown = self.screen.text()
            if after is not None:
                shown = shown.rpartition(after)[2] if after in shown else ""
            if is_there(shown):
                return
            has_ended = self.process.poll() is not None
            if has_ended and self.read(0):
                continue
            if time.monotonic() > end or has_ended:
                raise AssertionError(f"the screen does not show {what}:\n{self.screen.text()}")
            self.read(0.1)

    def type(self, text):
        os.write(self.master, text.encode())

    def line(self, text):
        self.type(text + "\r")

    def rest(self, after=None):
        """Waits until nothing is in progress and an empty line can be typed; with `after`, behind a text."""
        self.wait(lambda shown: re.search(r"(^|\n)scripted/[^\n]*\n›$", shown), after, "a line to be typed")

    ready = rest

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
        if self.master is not None:
            os.close(self.master)
            os.close(self.slave)


def test(function):
    TESTS.append(function)
    return function


def script(folder, *steps):
    (folder / "script.json").write_text(json.dumps({"steps": list(steps)}))
    return ["--model", f"scripted/{folder / 'script.json'}", "--no-session"]


ASKING = '''
import asyncio
from bowline_extension import Extension

extension = Extension("ask")


@extension.command("ask")
async def ask(arguments, context):
    ui = context.ui
    colour = await ui.select("Which?", ["red", "blue\\x1b]0;x\\x07"])
    sure = await ui.confirm("It does this:\\n\\n  rm x\\n", "It cannot be undone.")
    name = await ui.input("Name?", "e.g. Ada")
    text = await ui.editor("Text", "old")
    last = await ui.input("Last?")
    ui.notify(f"got {colour[:4]} {sure} {name} {text.replace(chr(10), '/')} {last}")
    ui.notify(f"late {await ui.confirm('Quick?', timeout=0.2)}")


@extension.command("slow")
async def slow(arguments, context):
    await asyncio.sleep(60)


extension.run()
'''


@test
def answers_are_shown_as_markdown(start, folder):
    chat = start(*script(folder, {"text": "# Title\n\n- **one** of `two`\n\n```\ncode\n```\n" + "word " * 30}))
    chat.ready()
    chat.line("hello")
    chat.rest(after="word word")
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
    chat.rest(after="done")
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
    chat.rest(after="changed")
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
    chat.rest(after="steered")
    chat.line("/tree")
    chat.wait_for("you: rather this")
    chat.type("\x03")
    chat.rest(after="(nothing chosen)")
    chat.line("again")
    chat.wait_for("answering")
    chat.type("half a line")
    chat.wait_for("› half a line")
    chat.type("\x03")
    chat.rest(after="stopped")
    assert "answering" not in chat.screen.text(), chat.screen.text()
    chat.type("\x03")
    chat.rest(after="Ctrl-C once more ends the conversation.")
    chat.type("\x03")
    chat.end()


@test
def fork_brings_the_message_back_for_editing(start, folder):
    chat = start(*script(folder, {"text": "one"}, {"text": "two"}))
    chat.ready()
    chat.line("first message")
    chat.rest(after="one")
    chat.line("/fork")
    chat.wait_for("1  first message")
    chat.line("9")
    chat.wait_for("Please answer with a number from 1 to 1.")
    chat.line("1")
    chat.wait_for("A new session from before that message.")
    chat.wait_for("› first message", after="A new session")
    chat.line(" changed")
    chat.rest(after="first message changed")
    assert "› first message changed" in chat.screen.text(), chat.screen.text()
    chat.line("/model")
    chat.wait_for("Which model?")
    chat.type("\x03")
    chat.rest(after="(nothing chosen)")
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
    chat.wait_for("touch made; echo \\u001b[2Jx\n", after="? May bash run?")
    chat.line("perhaps")
    chat.wait_for("Please answer y (once)")
    assert not (folder / "work" / "made").exists()
    chat.line("n not like this")
    chat.wait_for("? May bash run?", after="not like this")
    assert not (folder / "work" / "made").exists()
    chat.line("y")
    chat.rest(after="finished")
    assert (folder / "work" / "made").exists()
    chat.line("/quit")
    chat.end()


@test
def history_and_completion(start, folder):
    (folder / "work" / "unusual.txt").write_text("the content\n")
    for name in ("many_one.txt", "many_two.txt", "many_\x1b[2J.txt"):
        (folder / "work" / name).touch()
    chat = start(*script(folder, {"text": "fine"}))
    chat.ready()
    chat.line("remember me")
    chat.rest(after="fine")
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
    chat.type("\x15see @many\t\t")
    chat.wait_for("@many_one.txt")
    chat.wait_for("› see @many_", after="@many_two.txt")
    assert b"\x1b[2J" not in chat.raw
    chat.type("\x15")
    chat.line("/quit")
    chat.end()


@test
def width_changes_and_long_lines_leave_one_prompt(start, folder):
    chat = start(*script(folder, {"text": "word " * 40}, {"text": "word " * 40}), columns=60)
    chat.ready()
    chat.line("x")
    chat.rest(after="word")
    chat.resize(30)
    chat.line("y")
    chat.rest(after="› y")
    narrow = chat.screen.text().rpartition("› y")[2].splitlines()
    assert max(len(row) for row in narrow) <= 30, narrow
    chat.line("/quit")
    chat.end()


@test
def colours_are_left_out_on_request(start, folder):
    chat = start(*script(folder, {"text": "**bold**"}), environment={"NO_COLOR": "1"})
    chat.ready()
    chat.line("x")
    chat.rest(after="bold")
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
    chat.line("/quit")
    chat.end()


@test
def first_message_and_flags_are_passed_on(start, folder):
    chat = start(*script(folder, {"text": "at once"}), "do", "this", "--tools", "read")
    chat.wait_for("› do this")
    chat.rest(after="at once")
    chat.line("/quit")
    chat.end()
    chat = start("--export", "x")
    chat.wait_for("--export is not an option of bowline chat")
    chat.end(code=2)
    chat = start("--model", "no/such")
    chat.wait_for("no/such")
    chat.end(code=1)
    chat = start("--output", "json")
    chat.wait_for("--output is not an option of bowline chat")
    chat.end(code=2)


@test
def end_of_the_agent_is_explained(start, folder):
    for is_running in (False, True):
        chat = start(*script(folder, {"text": "I hang", "hang": True}))
        chat.ready()
        if is_running:
            chat.line("go")
            chat.wait_for("answering")
        os.kill(chat.agent(), signal.SIGKILL)
        chat.end(code=1)
        assert "signal: 9" in chat.screen.text(), chat.screen.text()


@test
def signals_end_the_agent_and_restore_the_terminal(start, folder):
    for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        chat = start(*script(folder, {"toolCalls": [{"name": "bash", "arguments": {"command": "sleep 60"}}]}))
        chat.ready()
        chat.line("go")
        chat.wait_for("bash sleep 60")
        chat.type("half")
        chat.wait_for("› half")
        agent = chat.agent()
        chat.process.send_signal(number)
        chat.end()
        assert not Path(f"/proc/{agent}").exists(), f"signal {number}"


@test
def end_of_the_terminal_ends_everything(start, folder):
    chat = start(*script(folder, {"text": "I hang", "hang": True}))
    chat.ready()
    chat.line("go")
    chat.wait_for("answering")
    agent = chat.agent()
    chat.hang_up()
    chat.process.wait(PATIENCE)
    assert not Path(f"/proc/{agent}").exists()


@test
def no_row_is_lost_doubled_or_overtaken(start, folder):
    count = 10_000
    text = "".join(f"row {number}\n" for number in range(count))
    chat = start(*script(folder, {"text": text, "chunk": 500, "delayMs": 1}, {"text": "over"}))
    chat.ready()
    chat.line("go")
    for number in range(5):
        chat.wait_for(f"row {(number + 1) * 500}\n")
        chat.line(f"meanwhile {number}")
    chat.rest(after="over")
    # What is shown above the line is never removed, so the bytes have every row once.
    shown = [int(number) for number in re.findall(rb"row (\d+)\r?\n", chat.raw)]
    assert shown == list(range(count)), [pair for pair in zip(shown, shown[1:]) if pair[1] != pair[0] + 1][:5]
    rows = chat.screen.text().splitlines()
    assert [row for row in rows if re.fullmatch(r"row \d+", row)] == [f"row {number}" for number in range(count)]
    assert sum("answering" in row for row in rows) == 0, "rows above the line are left"
    chat.line("/quit")
    chat.end()


@test
def tables_and_wide_characters_fit_the_width(start, folder):
    text = ("| Name | n |\n|---|--:|\n| 世界 | 1 |\n| cafe\u0301 | 20 |\n\n" + "世界" * 30 + "\n\nsrc/**/*.rs\n")
    for columns in (20, 200):
        chat = start(*script(folder, {"text": text, "chunk": 1}), columns=columns)
        chat.ready()
        chat.line("go")
        chat.rest(after="src/**/*.rs")
        shown = chat.screen.text()
        assert "Name │  n\n─────┼───\n世界 │  1\ncafe\u0301 │ 20\n" in shown, shown
        assert shown.count("世界" * 5) == 6, shown
        chat.line("/quit")
        chat.end()


@test
def pasted_lines_are_one_message(start, folder):
    chat = start(*script(folder, {"text": "taken"}))
    chat.ready()
    lines = [f"line {number}" for number in range(200)]
    chat.type("\x1b[200~" + "\r".join(lines) + "\x1b[201~")
    chat.wait_for("line 199")
    chat.type("\r")
    chat.rest(after="taken")
    history = (folder / "home" / "chat_history").read_text().splitlines()
    assert [json.loads(line) for line in history] == ["\n".join(lines)]
    chat.line("/quit")
    chat.end()


@test
def dialogs_of_extensions_are_answered(start, folder):
    shutil.copy(ROOT / "sdk" / "python" / "bowline_extension.py", folder / "work")
    (folder / "work" / "ask.py").write_text(ASKING)
    chat = start(*script(folder, {"text": "x"}), "--extension", "ask.py")
    chat.ready()
    chat.line("/ask")
    chat.wait_for("? Which?\n    1  red\n    2  blue\\u001b]0;x\\u0007\n")
    chat.line("2")
    chat.wait_for("? It does this:\n\n    rm x\n    It cannot be undone.\n  y or n\n")
    chat.line("perhaps")
    chat.wait_for("Please answer y or n.")
    chat.line("y")
    chat.wait_for("? Name?\n  e.g. Ada, or Ctrl-C for none\n")
    chat.line(" Ada ")
    chat.wait_for("? Text\n    old\n")
    chat.type("one\\\r")
    chat.wait_for("› one\\")
    chat.line("two")
    chat.wait_for("? Last?")
    chat.wait_for("your answer · Ctrl-C refuses", after="? Last?")
    chat.type("\x03")
    chat.wait_for("got blue True Ada one/two None", after="(not answered)")
    # It is not asked any more when its time is over.
    chat.wait_for("(that is not asked any more)")
    chat.wait_for("late False")
    chat.rest(after="Quick?")
    chat.line("/slow")
    chat.wait_for("sending")
    chat.type("\x03")
    chat.rest(after="stopped")
    assert b"\x1b]0;" not in chat.raw
    chat.line("/quit")
    chat.end()


@test
def ctrl_c_stops_retries_and_failures_are_shown(start, folder):
    busy = {"text": "x", "error": {"kind": "unavailable", "message": "Overloaded \x1b[2J"}}
    chat = start(*script(folder, busy))
    chat.ready()
    chat.line("go")
    chat.wait_for("trying again (1 of")
    chat.type("\x03")
    chat.rest(after="trying again")
    assert "Overloaded \\u001b[2J" in chat.screen.text() and b"\x1b[2J" not in chat.raw
    chat.type("\x04")
    chat.end()


@test
def large_output_of_a_tool_is_one_row(start, folder):
    call = {"name": "bash", "arguments": {"command": "yes 0123456789 | head -c 5000000"}}
    chat = start(*script(folder, {"toolCalls": [call]}, {"text": "done"}))
    chat.ready()
    chat.line("go")
    chat.rest(after="done")
    text = chat.screen.text()
    assert "✓ bash yes 0123456789 | head -c 5000000" in text and "0123456789\n" not in text, text
    assert len(chat.raw) < 100_000, len(chat.raw)
    chat.line("/quit")
    chat.end()


@test
def conversation_that_goes_on_begins_with_its_last_answer(start, folder):
    rows = "\n".join(f"row {number}" for number in range(30))
    arguments = script(folder, {"text": rows})
    arguments.remove("--no-session")
    chat = start(*arguments)
    chat.ready()
    chat.line("go")
    chat.rest(after="row 29")
    chat.line("/quit")
    chat.end()
    chat = start(*arguments, "-c")
    chat.rest(after="row 29")
    text = chat.screen.text()
    assert text.startswith("(the end of the last answer)\nrow 10\nrow 11\n"), text
    chat.line("/quit")
    chat.end()


@test
def two_conversations_share_the_history(start, folder):
    arguments = script(folder, {"text": "fine"})
    first, second = start(*arguments), start(*arguments)
    for chat, words in ((first, "from the first"), (second, "from the second")):
        chat.ready()
        chat.line(words)
        chat.rest(after="fine")
        chat.line("/quit")
        chat.end()
    lines = [json.loads(line) for line in (folder / "home" / "chat_history").read_text().splitlines()]
    assert lines == ["from the first", "/quit", "from the second", "/quit"], lines


@test
def documented_conversation_is_what_is_shown(start, folder):
    work = folder / "work"
    (work / "parse.py").write_text('def parse(text):\n    """Reads a number."""\n    return int(text)\n')
    (work / "check").write_text("#!/bin/sh\ngrep -q strip parse.py || { echo 2 failed; exit 1; }\n"
                                "until [ -e ../steered ]; do sleep 0.1; done\n")
    (work / "check").chmod(0o755)
    check = {"name": "bash", "arguments": {"command": "./check"}}
    edit = {"name": "edit", "arguments": {
        "path": "parse.py", "oldText": "    return int(text)", "newText": "    return int(text.strip())"}}
    answer = ("It passes now. **What was wrong:**\n\n| input | before | after |\n|---|---|--:|\n| `\" 7\"` | error | 7 |\n"
              "| `\"7\"` | 7 | 7 |\n\n`parse` did not strip white space, so numbers from the form failed.\n")
    arguments = script(folder, {"text": "I run it first.", "toolCalls": [check]}, {"toolCalls": [edit]},
                       {"toolCalls": [check]}, {"text": answer})
    arguments.remove("--no-session")
    chat = start(*arguments, columns=76)
    chat.ready()
    chat.line("why does the check fail?")
    chat.wait_for("bash ./check", after="✓ edit")
    chat.line("keep the function small")
    chat.wait_for("(the agent reads this")
    (folder / "steered").touch()
    chat.rest(after="from the form failed.")
    chat.line("/undo")
    chat.rest(after="restored: ")
    chat.line("/tree")
    chat.wait_for("your answer", after="a number, or Ctrl-C for none")
    page = (ROOT / "docs" / "chat.md").read_text()
    documented = page.partition("```text\n")[2].partition("```")[0].strip()
    shown = chat.screen.text()
    shown = shown[shown.rindex("› why does"):]
    times = re.compile(r" \d+(\.\d)?s$", re.MULTILINE)
    assert times.sub(" 0s", shown) == times.sub(" 0s", documented), shown
    chat.line("/quit")
    chat.end()


@test
def pipes_are_refused_with_the_alternative(start, folder):
    master, slave = pty.openpty()
    for streams in ({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}, {"stdin": slave, "stdout": subprocess.PIPE},
                    {"stdin": subprocess.DEVNULL, "stdout": slave}):
        run = subprocess.run(
            [BOWLINE, "chat"], **streams, stderr=subprocess.PIPE, text=True,
            env={"HOME": str(folder), "PATH": os.environ["PATH"]})
        assert run.returncode == 1 and not run.stdout, (streams, run)
        assert "needs a terminal" in run.stderr and "bowline -p" in run.stderr, run.stderr


def run(function):
    """Runs a test in a folder of its own. Returns whether it has failed."""
    started = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()

        def start(*words, **options):
            started.append(Chat(folder, *words, **options))
            return started[-1]

        try:
            function(start, folder)
            print(f"ok    {function.__name__} {time.monotonic() - began:.1f}s", flush=True)
            return False
        except Exception as error:  # noqa: BLE001
            print(f"FAIL  {function.__name__}: {type(error).__name__} {error}", flush=True)
            return True
        finally:
            for chat in started:
                chat.close()


def main():
    global BOWLINE
    arguments = sys.argv[1:]
    default = os.environ.get("BOWLINE", str(ROOT / "target" / "debug" / "bowline"))
    BOWLINE = arguments.pop(0) if arguments and "/" in arguments[0] else default
    chosen = [function for function in TESTS if not arguments or function.__name__ in arguments]
    with ThreadPoolExecutor(4) as pool:
        failures = sum(pool.map(run, chosen))
    print(f"{len(chosen) - failures} of {len(chosen)} passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
