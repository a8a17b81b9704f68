"""Extensions that keep a mode over several turns: presets, and plans that are carried out."""
import json
from script import Script, call
from . import Example

PRESETS = {
    "agent/presets.json": json.dumps({
        "quick": {"provider": "mock", "model": "m2", "thinkingLevel": "low", "tools": ["read", "bash", "fly"],
                  "instructions": "Answer at once."},
        "far": {"provider": "nowhere", "model": "none"},
    }),
    "work/.pi/presets.json": json.dumps({"slow": {"tools": ["read"], "instructions": "Think about it."}}),
}

PRESET = [
    Script(arguments=["--preset", "quick"], files=PRESETS)
    .ask("get_state").prompt("hello", "hello").command("/preset unknown").command("/preset slow")
    .prompt("again", "again").command("/preset far").command("/preset").ask("get_state").ask("get_entries")
    .sees("Answer at once.", "Think about it."),
    Script(arguments=["--preset", "wrong"], files=PRESETS).ask("get_state"),
    Script().command("/preset").command("/preset any"),
    # The preset is found again in the session.
    Script(files=PRESETS)
    .command("/preset slow").prompt("hello", "hello").ask_for("FILE", "data.sessionFile", "get_state")
    .ask("new_session").ask("switch_session", sessionPath="${FILE}").prompt("again", "again"),
]

PLAN = "I looked around.\n\nPlan:\n1. Create the first file\n2) **Update** the second file\n3. ok\n"

PLAN_MODE = [
    Script()
    .command("/todos").command("/plan")
    .begin("plan it", [call("bash", command="ls"), call("bash", command="touch x")], PLAN)
    .dialog("select", value="Execute the plan (track progress)").settled().ask("get_state")
    .begin("go on", call("bash", command="touch first"), "First is there. [DONE:1]").settled()
    .command("/todos")
    .begin("finish", "All is there. [DONE:2]").settled()
    .command("/todos")
    .shell("ls").offers("questionnaire", "edit", "grep")
    .sees("[PLAN MODE ACTIVE]", "[EXECUTING PLAN - Full tool access enabled]", "Start with: First file"),
    Script()
    .command("/plan")
    .begin("plan it", PLAN).dialog("select", value="Refine the plan").dialog("editor", value="make it shorter")
    .dialog("select", value="Stay in plan mode").settled()
    .ask_for("FILE", "data.sessionFile", "get_state")
    .send("new_session").responded().send("switch_session", sessionPath="${FILE}").responded()
    .command("/todos").command("/plan")
    .sees("make it shorter"),
    Script(arguments=["--plan"])
    .prompt("look", "looked").sees("[PLAN MODE ACTIVE]"),
]

EXAMPLES = [
    Example("preset", *PRESET),
    Example("plan-mode", *PLAN_MODE),
]
