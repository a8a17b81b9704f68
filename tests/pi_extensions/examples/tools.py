"""Extensions that bring tools, or replace built-in ones."""
from script import Script, call, inner
from . import Example

HELLO = (
    Script()
    .prompt("greet", call("hello", name="Ada"), "greeted")
    .prompt("greet wrongly", call("hello", nobody=1), "failed")
    .offers("hello").sees("Hello, Ada!"))

TODO = (
    Script()
    .prompt("add", call("todo", action="add", text="buy milk"),
            call("todo", action="add", text="feed the cat"), "added")
    .prompt("toggle", call("todo", action="toggle", id=1), "toggled")
    .prompt("errors", [call("todo", action="add"), call("todo", action="toggle", id=9), call("todo", action="toggle")],
            call("todo", action="paint"), "all wrong")
    .prompt("list", call("todo", action="list"), "listed")
    .command("/todos")
    .ask_for("FILE", "data.sessionFile", "get_state")
    .ask("new_session")
    .prompt("list nothing", call("todo", action="list"), "none")
    .ask("switch_session", sessionPath="${FILE}")
    .prompt("list again", call("todo", action="list"), call("todo", action="clear"), "cleared")
    .ask_for("ENTRY", "data.messages.1.entryId", "get_fork_messages")
    .ask("fork", entryId="${ENTRY}")
    .prompt("list of the fork", call("todo", action="list"), "listed"))

DYNAMIC_TOOLS = (
    Script()
    .prompt("echo", call("echo_session", message="hi"), "echoed")
    .command("/add-echo-tool my_echo").command("/add-echo-tool my_echo").command("/add-echo-tool Not Valid")
    .prompt("echo more", call("my_echo", message="again"), call("another", message="x"), "echoed")
    .offers("echo_session", "my_echo", "another")
    .sees("Use echo_session when the user asks for exact echo output.", "Echo back user-provided text with [session]"))

STRUCTURED_OUTPUT = (
    Script()
    .prompt("summarise", [call("structured_output", headline="News", summary="All is well.", actionItems=["rest"])],
            "never asked for")
    .prompt("summarise badly", call("structured_output", headline="News"), "failed")
    # The run goes on, because only one of the two results ends it.
    .prompt("with another", [call("structured_output", headline="A", summary="B", actionItems=[]),
                             call("bash", command="sleep 0.3; echo more")], "went on")
    .sees("Emit a final structured answer as a terminating tool result"))

TOOL_OVERRIDE = (
    Script(files={"work/a.txt": "one\ntwo\nthree\n", "work/.env": "SECRET=1\n", "work/secrets.json": "{}"})
    .command("/read-log")
    .prompt("read", [call("read", path="a.txt", offset=2, limit=1), call("read", path=".env"),
                     call("read", path="secrets.json"), call("read", path="missing")], "read")
    .command("/read-log")
    .shell("wc -l < $HOME/agent/read-access.log"))

SEARCH = """#!/bin/sh
# Stands in for ripgrep: answers by the pattern.
case "$*" in
*needle*) echo "a.txt:1:needle"; echo "b.txt:7:needle" ;;
*many*) seq -f "long.txt:%g:many" 3000 ;;
*nothing*) exit 1 ;;
*) echo "regex parse error" >&2; exit 2 ;;
esac
"""

TRUNCATED_TOOL = (
    Script(programs={"rg": SEARCH})
    .prompt("search", call("rg", pattern="needle", glob="*.txt"), call("rg", pattern="nothing", path="a"),
            call("rg", pattern="many"), call("rg", pattern="broken"), "searched")
    .offers("rg").sees("Output is truncated to 2000 lines or 50.0KB"))

WITH_DEPS = (
    Script()
    .prompt("parse", call("parse_duration", duration="2 days"), call("parse_duration", duration="1h"),
            call("parse_duration", duration="soon"), "parsed"))

BASH_SPAWN_HOOK = (
    Script(files={".profile": "export FROM_PROFILE=yes\n"})
    .prompt("run", call("bash", command='echo "$FROM_PROFILE $PI_SPAWN_HOOK"'),
            call("bash", command="echo to both; echo wrong >&2; exit 4"),
            call("bash", command="sleep 9", timeout=1), "ran"))

FILES = [
    call("write", path="new/a.txt", content="one\ntwo\nthree\n"),
    call("read", path="new/a.txt"),
    call("read", path="new/a.txt", offset=2, limit=1),
    call("edit", path="new/a.txt", edits=[{"oldText": "two", "newText": "2"}]),
    call("edit", path="new/a.txt", edits=[{"oldText": "not there", "newText": "2"}]),
    call("read", path="missing.txt"),
    call("bash", command="cat new/a.txt; exit 3"),
    call("bash", command="seq 2500"),
]

BUILT_IN_TOOL_RENDERER = (
    Script().prompt("work", *FILES, "worked").shell("cat new/a.txt"))

MINIMAL_MODE = (
    Script(files={"work/folder/b.txt": ""})
    .prompt("work", *FILES, call("ls", path="."), call("ls", path="missing"), "worked")
    .shell("cat new/a.txt"))

# Runs the remote command on this machine.
SSH_PROGRAM = "#!/bin/sh\nshift\nexec sh -c \"$*\"\n"

SSH = [
    Script(arguments=["--ssh", "ada@example.org:{HOME}/remote"], programs={"ssh": SSH_PROGRAM},
           files={"remote/there.txt": "far away\n", "work/here.txt": "near\n"})
    .prompt("work", call("bash", command="pwd; ls"), call("read", path="there.txt"),
            call("write", path="made/by.txt", content="hand\n"),
            call("edit", path="made/by.txt", edits=[{"oldText": "hand", "newText": "ssh"}]),
            call("read", path="here.txt"), call("bash", command="exit 5"),
            call("bash", command="exec sleep 9", timeout=1), "worked")
    .ask("bash", command="pwd; ls made")
    .shell("cat $HOME/remote/made/by.txt; ls"),
    Script(files={"work/here.txt": "near\n"})
    .prompt("work here", call("read", path="here.txt"), call("bash", command="ls"), "worked")
    .ask("bash", command="ls"),
    # Without a folder, the extension asks the other machine for it.
    Script(arguments=["--ssh", "ada@example.org"], programs={"ssh": SSH_PROGRAM}).ask("bash", command="echo far"),
]

AGENTS = {
    # Something that asks for trust, so that the agents of the project are asked about.
    "work/.pi/prompts/local.md": "Local.\n",
    "agent/agents/scout.md": "---\nname: scout\ndescription: looks around\ntools: read, bash\n---\nYou look around.\n",
    "agent/agents/worker.md": "---\nname: worker\ndescription: works\nmodel: mock/m2\n---\nYou work.\n",
    "agent/agents/broken.md": "---\nname: 7\n---\nNobody.\n",
    "work/.pi/agents/local.md": "---\nname: local\ndescription: of the project\ntools: [bash]\n---\nYou stay here.\n",
}

SUBAGENT = (
    Script(files=AGENTS)
    .prompt("nobody", call("subagent", agent="stranger", task="anything"), call("subagent"), "nobody came")
    .prompt("one", call("subagent", agent="scout", task=inner("look", call("bash", command="echo seen"), "saw it")),
            "found")
    .prompt("three", call("subagent", tasks=[
        {"agent": "scout", "task": inner("left", "left seen")},
        {"agent": "worker", "task": inner("right", "right seen")},
        {"agent": "stranger", "task": "nowhere"}]), "all back")
    .prompt("in a row", call("subagent", chain=[
        {"agent": "scout", "task": inner("first", "the beginning")},
        {"agent": "worker", "task": "continue after: {previous}"}]), "done")
    .begin("local", call("subagent", agent="local", task="stay", agentScope="both"), "not allowed")
    .dialog("confirm", confirmed=False).settled()
    .begin("local", call("subagent", agent="local", task=inner("stay", "stayed"), agentScope="project"), "allowed")
    .dialog("confirm", confirmed=True).settled()
    .sees("You look around.", "You work.", "You stay here.", "continue after: the beginning"))

OFFLINE = """const real = globalThis.fetch;
globalThis.fetch = async (input, init) => {
    if (!String(input?.url ?? input).startsWith("http://127.0.0.1")) throw new Error("no network");
    return real(input, init);
};
export default function () {}
"""

GONDOLIN = (
    Script(files={"offline.mjs": OFFLINE, "work/a.txt": "one\n"}, companions=["{HOME}/offline.mjs"])
    .command("/gondolin").prompt("read", call("read", path="a.txt"), "not read").ask("bash", command="ls"))

EXAMPLES = [
    Example("hello", HELLO),
    Example("todo", TODO),
    Example("dynamic-tools", DYNAMIC_TOOLS),
    Example("structured-output", STRUCTURED_OUTPUT),
    Example("tool-override", TOOL_OVERRIDE),
    Example("truncated-tool", TRUNCATED_TOOL),
    Example("with-deps", WITH_DEPS),
    Example("bash-spawn-hook", BASH_SPAWN_HOOK),
    Example("built-in-tool-renderer", BUILT_IN_TOOL_RENDERER),
    Example("minimal-mode", MINIMAL_MODE),
    Example("ssh", *SSH),
    Example("subagent", SUBAGENT),
    Example("gondolin", GONDOLIN, limit="a virtual machine: only that its image cannot be fetched is played"),
]
