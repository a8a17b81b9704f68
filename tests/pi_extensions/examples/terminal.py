"""Extensions that draw in a terminal. What they do without one is compared: they load, say that they need one, or do nothing."""
import json
from script import Script, call
from . import Example

QUESTION = (
    Script()
    .prompt("ask", call("question", question="Which?", options=[{"label": "left"}, {"label": "right"}]), "not asked"))

QUESTIONNAIRE = (
    Script()
    .prompt("ask", call("questionnaire", questions=[
        {"id": "way", "prompt": "Which?", "options": [{"value": "l", "label": "left"}]}]), "not asked"))

TIC_TAC_TOE = (
    Script()
    .command("/tic-tac-toe")
    .prompt("play", [call("tic_tac_toe", action="move_right"), call("tic_tac_toe", action="move_down"),
                     call("tic_tac_toe", action="move_up"), call("tic_tac_toe", action="play")],
            call("tic_tac_toe_see_board"), "not my turn")
    .offers("tic_tac_toe").sees("Play a tic-tac-toe action"))

GITHUB = [
    Script().prompt("hello", "hello"),
    Script(setup="git init -q && git remote add origin https://example.org/a.git").prompt("hello", "hello"),
    Script(setup="git init -q && git remote add origin git@github.com:ada/engine.git",
           programs={"gh": "#!/bin/sh\necho not logged in >&2\nexit 4\n"})
    .prompt("hello", "hello").sleep(0.3).loosely("notify", "failed to"),
    Script(setup="git init -q && git remote add origin https://github.com/ada/engine",
           programs={"gh": "#!/bin/sh\necho not json\n"})
    .prompt("hello", "hello").sleep(0.3).loosely("notify", "failed to"),
]

OPENAI = {"agent/models.json": json.dumps({"providers": {
    "mock": {"baseUrl": "http://127.0.0.1:{PORT}", "api": "anthropic-messages", "apiKey": "k", "models": [
        {"id": "m1", "name": "m1", "reasoning": False, "input": ["text"], "contextWindow": 200000, "maxTokens": 32000,
         "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}]},
    "openai": {"baseUrl": "http://127.0.0.1:{PORT}/v1", "apiKey": "k"}}})}

SUMMARIZE = [
    Script().command("/summarize").prompt("hello", "hello").command("/summarize"),
    Script(files=OPENAI)
    .prompt("hello", call("bash", command="true"), "hello").command("/summarize")
    .sees("Summarize this conversation so I can resume it later.", "Tool bash was called with args {\"command\":\"true\"}"),
]

INTERACTIVE_SHELL = (
    Script()
    .ask("bash", command="vim a.txt").ask("bash", command="cat a | less").ask("bash", command="i echo hi")
    .ask("bash", command="echo plain").prompt("what happened", "nothing")
    .sees("(interactive commands require TUI)"))

WORKING_INDICATOR = (
    Script()
    .command("/working-indicator").command("/working-indicator pulse").command("/working-indicator none")
    .command("/working-indicator reset").command("/working-indicator wild").prompt("hello", "hello"))

OVERLAYS = Script()
for name in ("animation", "anchors", "margins", "stack", "overflow", "edge", "percent", "maxheight", "sidepanel",
             "toggle", "passive", "focus", "streaming"):
    OVERLAYS.command(f"/overlay-{name}")


def once(*commands):
    script = Script()
    for command in commands:
        script.command(command)
    return script.prompt("hello", "hello")


EXAMPLES = [
    Example("border-status-editor", Script().prompt("hello", "hello"), terminal="draws its own editor and footer"),
    Example("custom-footer", once("/footer", "/footer"), terminal="draws the footer"),
    Example("custom-header", once("/builtin-header"), terminal="draws the header"),
    Example("doom-overlay", once("/doom-overlay"), terminal="a game"),
    Example("github-issue-autocomplete", *GITHUB, terminal="completes what is typed in the editor"),
    Example("handoff", once("/handoff the next task"), terminal="shows progress in a component"),
    Example("hidden-thinking-label", once("/thinking-label Musing...", "/thinking-label"), terminal="names hidden thinking"),
    Example("interactive-shell", INTERACTIVE_SHELL, terminal="gives the terminal to vim and others"),
    Example("mac-system-theme", Script(programs={"osascript": "#!/bin/sh\necho true\n"}).prompt("hello", "hello"),
            terminal="changes the terminal's colours"),
    Example("modal-editor", Script().prompt("hello", "hello"), terminal="an editor"),
    Example("overlay-qa-tests", OVERLAYS, terminal="draws overlays"),
    Example("overlay-test", once("/overlay-test"), terminal="draws overlays"),
    Example("qna", once("/qna"), terminal="shows progress in a component"),
    Example("question", QUESTION, terminal="asks in a component"),
    Example("questionnaire", QUESTIONNAIRE, terminal="asks in a component"),
    Example("rainbow-editor", Script().prompt("hello", "hello"), terminal="an editor"),
    Example("snake", once("/snake"), terminal="a game"),
    Example("space-invaders", once("/invaders"), terminal="a game"),
    Example("summarize", *SUMMARIZE, terminal="shows the summary in a component"),
    Example("tic-tac-toe", TIC_TAC_TOE, terminal="a game"),
    Example("tools", once("/tools"), terminal="shows its list in a component"),
    Example("working-indicator", WORKING_INDICATOR, terminal="animates while the model works"),
    Example("working-message-test", Script().prompt("hello", "hello"), terminal="names what is going on"),
]
