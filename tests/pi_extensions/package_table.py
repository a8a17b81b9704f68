"""The packages that packages.py runs, and what each of them is to do."""
from dataclasses import dataclass, field
from typing import Callable, Optional

import package_scripts as scripts
from script import Script, call, inner

# So many have to load and do their work.
LEAST = 20


@dataclass
class Package:
    """A package. `work` says what it does in `script`, and `shows` are texts that only come if it does."""
    name: str
    version: str
    work: str = ""
    script: Optional[Callable[[], Script]] = None
    shows: tuple = ()
    tools: str = ""
    commands: str = ""
    providers: str = ""
    # What npm has to install beside it: its peers that are not pi's.
    companions: tuple = ()
    # Versions of its dependencies, where those that it asks for may be missing.
    overrides: dict = field(default_factory=dict)
    # Packages among them that are extensions too, and are loaded with it.
    beside: tuple = ()
    # Whether results of tools that are errors are what it is for.
    refuses: bool = False
    # Whether it shows a component, which takes a terminal in pi.
    component: bool = False
    # Why there is no script.
    unserved: str = ""
    # Whether it loads without what it lacks.
    loads: bool = True


def all_packages():
    return [*REPRESENTATIVE, *OTHERS]


# The packages that the specification of pi's extensions takes for all of them, with most downloads first.
REPRESENTATIVE = [
    Package(
        "pi-subagents", "0.67.0", "runs a subagent and waits for it (in the background it would need pi's own package)",
        lambda: Script().prompt(
            "Go", call("subagent", agent="delegate", task=inner("Say it", "said by the delegate"),
                       **{"async": False}), "done"),
        ["\nsaid by the delegate"], tools="subagent bg_wait", commands="run subagents-doctor"),
    Package(
        "pi-mcp-adapter", "2.36.0", "lists and calls a tool of an MCP server", scripts.mcp,
        ["shouted: HELLO"], tools="mcp mcpScript", commands="mcp"),
    Package(
        "@ollama/pi-web-search", "0.0.5", "searches the web (with a stand-in for Ollama)", scripts.ollama_search,
        ["On stones", "They are hard."], tools="web_search web_fetch"),
    Package("taskplane", "0.30.4"),
    Package(
        "pi-web-access", "0.28.0", "turns a page of a local web server into Markdown", scripts.web_page,
        ["## What they are", "Stones are **hard**"], tools="web_search fetch_content", commands="websearch"),
    Package("@plannotator/pi-extension", "0.9.3"),
    Package(
        "pi-lens", "3.8.73", "reads one function out of a file by its name", lambda: Script(
            files={"work/one.ts": "export const other = 1;\nexport function wanted() {\n  return 'in the middle';\n}\n"}
        ).prompt("Go", call("read_symbol", path="one.ts", symbol="wanted"), "done"),
        ["in the middle"], tools="read_symbol module_report", commands="lens-health"),
    Package(
        "pi-markdown-preview", "0.16.0", "writes an answer as a page (with a stand-in for pandoc)", lambda: Script(
            programs={"pandoc": "#!/bin/sh\ncat >/dev/null\necho '<p>made by pandoc</p>'\n"}
        ).prompt("Go", call("preview_export", format="html", markdown="# Title", outputPath="out.html"), "done")
        .shell("grep -o 'made by pandoc' out.html"),
        ["preview_export", "out.html", "made by pandoc"], tools="preview_export", commands="preview preview-pdf"),
    Package("pi-gsd", "2.1.4"),
    Package(
        "@aliou/pi-processes", "0.12.0", "starts a process in the background and reads its output",
        lambda: Script().begin(
            "Go", call("process", action="start", name="greeter", command="expr 7000 + 77; sleep 30"),
            call("bash", command="sleep 1"), "started")
        .keep("PROCESS", "result.details.process.id", type="tool_execution_end", toolName="process").settled()
        .prompt("Read", call("process", action="output", id="${PROCESS}"), "done"),
        ["7077"], tools="process", commands="ps ps:logs ps:dock"),
    Package(
        "@samfp/pi-memory", "1.5.0", "remembers a fact, and has `pi --print` find another one in the session",
        scripts.memory,
        ["pref.editor: likes ed", "Memory updated: 2 facts, 0 lessons"],
        tools="memory_search memory_remember", commands="memory-consolidate"),
    Package(
        "pi-btw", "0.4.1", "answers a question in a session beside the main one",
        lambda: Script().prompt("Hello", "hi")
        .send("prompt", message='/btw --save What? PLAN [{"text":"answered beside"}]')
        .notified(message="Saved BTW note to the session."),
        ["A: answered beside"], commands="btw btw:new btw:inject"),
    Package("pi-studio", "0.5.38"),
    Package(
        "pi-docparser", "4.0.0", "takes the text out of a PDF file", scripts.document,
        ["Words in a document"], tools="document_parse document_search", commands="docparser:doctor"),
    Package("pi-smart-fetch", "0.2.13"),
    Package(
        "pi-mermaid", "0.3.0", "draws a diagram in an answer with characters",
        lambda: Script().prompt("Draw", "```mermaid\ngraph LR\n  Start --> Finish\n```").sleep(1),
        ["│ Start ├"], commands="pi-mermaid"),
    Package("whatsapp-pi", "1.0.58"),
    Package(
        "pi-schedule-prompt", "0.4.1", "schedules a prompt, which is sent when its time has come",
        lambda: Script().prompt(
            "Go", call("schedule_prompt", action="add", name="soon", schedule="+2s", type="once",
                       prompt="prompted by the clock"), call("schedule_prompt", action="list"), "waiting")
        .until(type="message_end", message={"role": "user"}).settled(),
        ["prompted by the clock"], tools="schedule_prompt", commands="schedule-prompt"),
    Package(
        "@tintinweb/pi-subagents", "0.14.1", "runs a subagent as a session beside the main one",
        lambda: Script().prompt(
            "Go", call("Agent", prompt=inner("Say it", "said by the subagent"), description="Says it",
                       subagent_type="general-purpose"), "done"),
        ["\nsaid by the subagent"], tools="Agent get_subagent_result", commands="agents"),
    Package(
        "pi-oracle", "0.7.20", "tells that it is not signed in", lambda: Script().prompt(
            "Go", call("oracle_preflight"), "done"),
        ["Oracle preflight blocked"], tools="oracle_preflight oracle_submit", commands="oracle-status oracle-clean",
        overrides={"@steipete/sweet-cookie": "0.4.3"}),
    Package("pi-teams", "0.9.13"),
    Package(
        "pi-prompt-template-model", "0.12.2", "switches to the model that a prompt template names, and back",
        lambda: Script(files={
            ".pi/agent/prompts/with-other.md": "---\ndescription: D\nmodel: mock/m2\n---\nTemplate for $@\n",
            "agent/prompts/with-other.md": "---\ndescription: D\nmodel: mock/m2\n---\nTemplate for $@\n"})
        .begin("/with-other stones").notified(message="Restored to m1").sees('Template for stones'),
        ["D [m2] (user)", "Restored to m1"], commands="chain-prompts prompt-tool"),
    Package(
        "@juicesharp/rpiv-advisor", "2.11.0", "asks another model for advice",
        lambda: Script(files={".config/rpiv-advisor/advisor.json": {"modelKey": "mock/m2"}})
        .prompt("Go", {"text": "wait", "tools": [call("advisor")]}, "count them twice"),
        ["Advisor restored: mock/m2", "advisor: text\ncount them twice"], tools="advisor", commands="advisor"),
    Package("@aliou/pi-guardrails", "0.9.3"),
    Package("@leing2021/super-pi", "0.23.4"),
    Package("@davidorex/pi-behavior-monitors", "0.33.0"),
    Package("pi-ask-user", "0.14.0"),
    Package("pi-memory-md", "0.1.36"),
    Package("@lpirito/pi-diffloop", "1.0.0"),
    Package("@sting8k/pi-vcc", "0.2.2"),
    Package("pi-tool-display", "0.4.3"),
    Package("pi-agent-browser-native", "0.5.0"),
    Package("@howaboua/pi-codex-conversion", "1.5.9"),
    Package("@aliou/pi-synthetic", "0.25.1"),
    Package("@lnilluv/pi-ralph-loop", "1.4.0"),
    Package("pi-secret-guard", "1.1.0"),
    Package(
        "pi-claude-bridge", "0.6.3", "offers its models (calling one needs Claude Code and an account)",
        lambda: Script().ask("get_available_models"), ["\nclaude-bridge\n"],
        tools="AskClaude", providers="claude-bridge"),
    Package("@alexanderfortin/pi-tavily-tools", "0.5.7"),
    Package("pi-free", "1.0.5"),
    Package("pi-rtk-optimizer", "0.7.1"),
    Package(
        "pi-plan-mode", "0.2.4", "keeps a session from changing files while it plans",
        lambda: Script().command("/plan").prompt(
            "Go", call("write", path="/var/tmp/pi-plan-mode-may-not-write", content="no"), "done"),
        ["Plan mode is now active.", "write: "], commands="plan plan:approve", refuses=True),
    Package("@llblab/pi-telegram", "0.36.10"),
    Package("pi-rewind", "0.5.0"),
    Package("pi-show-diffs", "0.2.8"),
]

OTHERS = [
    Package(
        "@juicesharp/rpiv-todo", "2.11.0", "keeps a list of tasks",
        lambda: Script().prompt(
            "Go", call("todo", action="create", subject="Count the stones"),
            call("todo", action="update", id=1, status="in_progress", activeForm="counting"),
            call("todo", action="list"), "done").command("/todos"),
        ["#1", "Count the stones"], tools="todo", commands="todos", companions=["@juicesharp/rpiv-i18n@2.11.0"]),
    Package(
        "@juicesharp/rpiv-ask-user-question", "2.11.0", "asks the user with a dialog", scripts.question,
        ["Which stone?", "=\"granite\"."], tools="ask_user_question",
        companions=["@juicesharp/rpiv-i18n@2.11.0"]),
    Package(
        "@juicesharp/rpiv-btw", "2.11.0", "shows the answer to a side question in a component of its own",
        lambda: Script().ask("set_client_capabilities", render=True, columns=80, rows=24).prompt("Hello", "hi")
        .send("prompt", message='/btw What? PLAN [{"text":"answered beside"}]').sleep(3),
        ["\n    answered beside"], commands="btw", component=True),
    Package(
        "@juicesharp/rpiv-args", "2.11.0", "fills arguments and the output of a command into a skill",
        lambda: Script(files={"agent/skills/carry/SKILL.md":
                              "---\nname: carry\ndescription: Carries\n---\nCarry $1 to $2. Sum: !`expr 40 + 2`\n"})
        .prompt("/skill:carry stone hill").sees("Carry stone to hill. Sum: 42"), []),
    Package(
        "@juicesharp/rpiv-workflow", "2.11.0", "lists the workflows of rpiv-pi, and runs one of two skills",
        scripts.workflow,
        ["2 stages  [project]", "13 stages  [built-in]", "rpiv: workflow complete (2 stages)"], commands="wf",
        companions=["@standard-schema/spec@1", "@juicesharp/rpiv-pi@2.11.0", "yaml@2"],
        beside=["@juicesharp/rpiv-pi"]),
    Package(
        "@capyup/pi-goal", "0.6.0", "sets a goal, and has an auditor of its own check whether it is reached",
        lambda: Script().command(
            '/goals-set Count stones PLAN [{"tools":[{"name":"get_goal","args":{}}]},'
            '{"tools":[{"name":"update_goal","args":{"status":"complete"}}]},'
            '{"tools":[{"name":"pause_goal","args":{"reason":"The auditor disagrees"}}]},{"text":"done"}]').settled(),
        ["independent completion audit", "Goal audit rejected.", "goal: paused"],
        tools="get_goal create_goal update_goal", commands="goals goals-set goal-status"),
    Package(
        "@gotgenes/pi-permission-system", "20.7.3", "refuses a command that its rules deny",
        lambda: Script(files={"agent/extensions/pi-permission-system/config.json": {
            "permission": {"*": "allow", "bash": {"*": "allow", "rm *": "deny"}}}})
        .prompt("Go", call("bash", command="rm -rf stones"), "done"),
        ["is not permitted to run 'bash' command 'rm -rf stones'"], refuses=True),
    Package(
        "@mjasnikovs/pi-task", "0.18.19", "has a worker look something up, which is a process called `pi`",
        lambda: Script().prompt(
            "Go", call("pi-worker", prompt=inner("Look", "found by the worker")), "done"),
        ["\nfound by the worker"], tools="pi-worker", commands="task task-list"),
    Package(
        "@tmustier/pi-ralph-wiggum", "0.2.3", "repeats a task until it is done",
        lambda: Script().prompt(
            "Go", call("ralph_start", name="stones", taskContent="# Stones\n- [ ] count", maxIterations=2),
            call("ralph_done"), "<promise>COMPLETE</promise>").sleep(2).shell("ls .ralph"),
        ["RALPH LOOP: stones | Iteration 1/2", "stones.state.json"],
        tools="ralph_start ralph_done", commands="ralph ralph-stop"),
    Package(
        "context-mode", "1.0.169", "runs code with a tool of its own, and adds to what the model sees",
        lambda: Script().sleep(3).prompt(
            "Go", call("ctx_execute", language="shell", code="expr 7000 + 77"), "done").sees("context-mode active."),
        ["\n7077\n"], tools="ctx_execute ctx_search", commands="ctx-stats ctx-doctor"),
    Package(
        "@juicesharp/rpiv-web-tools", "2.11.0", "searches the web (with a stand-in for Ollama)", scripts.web_tools,
        ["On stones", "They are hard."], tools="web_search web_fetch", commands="web-tools"),
    Package(
        "pi-autoresearch", "1.6.0", "runs an experiment and logs its result", scripts.experiment,
        ["Experiment initialized", "Parsed metrics: ★ count=3"],
        tools="init_experiment run_experiment log_experiment", commands="autoresearch"),
    Package(
        "pi-blueprint", "0.2.1", "makes a plan in phases and tells the next task", scripts.blueprint,
        ["blueprint_next: ", "- [x] 1.1 Count the stones"],
        tools="blueprint_create blueprint_next", commands="blueprint plan-status"),
    Package(
        "pi-fff", "0.1.12", "finds files by a part of their name",
        lambda: Script(files={"work/stones/granite.txt": "hard\n", "work/other.md": "soft\n"})
        .prompt("Go", call("find_files", query="granit"), call("grep", pattern="hard"), "done"),
        ["stones/granite.txt"], tools="grep find_files", commands="fff-status"),
    Package(
        "pi-llm-wiki", "0.1.0", "sets up a wiki and takes a note into it",
        lambda: Script().prompt(
            "Go", call("wiki_bootstrap", title="Stones"),
            call("wiki_capture_source", inputType="text", value="Granite is hard.", title="On granite"),
            call("wiki_search", query="granite"), "done").command("/wiki-status").shell("ls wiki/sources"),
        ["On granite", "SRC-"], tools="wiki_bootstrap wiki_search", commands="wiki-status"),
    Package(
        "pi-sandbox", "0.4.3", tools="bash", commands="sandbox", unserved="needs bubblewrap, socat and ripgrep"),
    Package(
        "pi-simplify", "0.2.2", "has the model review what git shows as changed",
        lambda: Script(
            files={"work/a.txt": "one\n"},
            setup="git init -q && git add . && git commit -qm x && echo two >a.txt",
        ).command("/simplify").settled().sees("a.txt"),
        ["- a.txt (modified)"], commands="simplify"),
    Package(
        "pi-wizard", "0.1.0", "leads through steps in a component", scripts.wizard,
        ["First step (1/1)", "Wizard completed."], tools="wizard wizard_update", commands="wizard", component=True),
    Package(
        "@0xkobold/pi-ollama", "0.5.0", "lists models (of a stand-in for Ollama)", scripts.ollama_models,
        ["pebble:1b"], commands="ollama-status ollama-models", companions=["ollama"]),
    Package(
        "@dietrichgebert/ponytail", "4.10.0", "adds its rules to the system prompt, as strictly as a command says",
        lambda: Script().command("/ponytail lite").prompt("Go", "done").sees("lazy senior"),
        ["Ponytail mode set to lite."], commands="ponytail ponytail-review"),
    Package("@walterra/pi-charts", "0.0.6", tools="vega_chart", unserved="needs uv and packages of Python"),
    Package("pi-chrome", "0.15.38", commands="chrome", unserved="needs Chrome"),
    Package(
        "pi-bash-live-view", "0.1.1", loads=False,
        unserved="needs node-pty, which an install script compiles"),
]
