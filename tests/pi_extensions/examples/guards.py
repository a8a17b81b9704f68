"""Extensions that ask before something happens, or forbid it."""
from script import Script, call
from . import Example

PERMISSION_GATE = (
    Script(files={"work/scratch/a": "", "work/other/a": ""})
    .begin("remove", call("bash", command="rm -rf scratch"), "removed")
    .dialog("select", value="Yes").settled()
    .begin("again", call("bash", command="rm -r other"), "not removed")
    .dialog("select", value="No").settled()
    .begin("become root", call("bash", command="sudo true"), "not root")
    .dialog("select", cancelled=True).settled()
    .begin("two", [call("bash", command="echo one"), call("bash", command="sleep 0.3; chmod 777 other")], "done")
    .dialog("select", value="Yes").settled()
    .shell("ls; stat -c %a other"))

PROTECTED_PATHS = (
    Script()
    .prompt("write", [
        call("write", path=".env", content="SECRET=1"),
        call("write", path="notes.txt", content="free"),
        call("edit", path="node_modules/a/index.js", edits=[{"oldText": "a", "newText": "b"}]),
    ], "tried")
    .shell("ls -A; cat notes.txt"))

CONFIRM_DESTRUCTIVE = (
    Script()
    .prompt("first", "one")
    .ask_for("FILE", "data.sessionFile", "get_state")
    .send("new_session").dialog("confirm", confirmed=False).responded()
    .ask_for("ENTRY", "data.messages.0.entryId", "get_fork_messages")
    .send("fork", entryId="${ENTRY}").dialog("select", value="No, stay in current session").responded()
    .send("fork", entryId="${ENTRY}").dialog("select", value="Yes, create fork").responded()
    .prompt("second", "two")
    .send("switch_session", sessionPath="${FILE}").dialog("confirm", confirmed=False).responded()
    .send("switch_session", sessionPath="${FILE}").dialog("confirm", confirmed=True).responded()
    .send("clone").dialog("select", cancelled=True).responded()
    .send("new_session").dialog("confirm", confirmed=True).responded()
    .ask("get_state"))

PROJECT = {"work/.pi/prompts/local.md": "---\ndescription: of the project\n---\nlocal $1\n"}

PROJECT_TRUST = [
    # Without a decision the project's own prompts are not loaded.
    Script(files=PROJECT).ask("get_commands").prompt("go on", "fine"),
    Script(arguments=["--approve"], files=PROJECT).ask("get_commands"),
]

TIMED_CONFIRM = (
    Script()
    .send("prompt", message="/timed").dialog("confirm", confirmed=True).responded()
    .send("prompt", message="/timed-select").dialog("select", value="Option B").responded()
    .send("prompt", message="/timed-select").dialog("select", cancelled=True).responded()
    .send("prompt", message="/timed-signal").dialog("confirm", confirmed=False).responded()
    # Nobody answers these two in time.
    .send("prompt", message="/timed").sleep(0.4).send("prompt", message="/timed-signal")
    .notified(message="Cancelled or timed out").notified(message="Dialog timed out (auto-cancelled)")
    .ask("get_state"))

SANDBOX = [
    # Says that it does not work where the programs that it needs (bwrap, socat, rg) are missing.
    Script()
    .prompt("run", call("bash", command="echo inside"), "done")
    .ask("bash", command="echo outside").command("/sandbox"),
    Script(arguments=["--no-sandbox"])
    .prompt("run", call("bash", command="echo unprotected; exit 3"), "done").command("/sandbox"),
    Script(files={"agent/extensions/sandbox.json": '{"enabled": false}'}).command("/sandbox"),
]

EXAMPLES = [
    Example("permission-gate", PERMISSION_GATE),
    Example("protected-paths", PROTECTED_PATHS),
    Example("confirm-destructive", CONFIRM_DESTRUCTIVE),
    Example("project-trust", *PROJECT_TRUST),
    Example("timed-confirm", TIMED_CONFIRM),
    Example("sandbox", *SANDBOX),
]
