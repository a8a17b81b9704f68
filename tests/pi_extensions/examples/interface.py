"""Extensions that show something: status texts, widgets, titles, dialogs."""
from script import Script, call
from . import Example

RPC_DEMO = (
    Script(files={"work/scratch/a": ""})
    .send("prompt", message="/rpc-input").dialog("input", value="forty-two").responded()
    .send("prompt", message="/rpc-input").dialog("input", value="").responded()
    .send("prompt", message="/rpc-editor").dialog("editor", value="one\ntwo").responded()
    .send("prompt", message="/rpc-editor").dialog("editor", cancelled=True).responded()
    .command("/rpc-prefill")
    .begin("remove", call("bash", command="rm -rf scratch"), "removed").dialog("select", value="Allow").settled()
    .begin("become root", call("bash", command="sudo true"), "not root").dialog("select", value="Block").settled()
    .send("new_session").dialog("confirm", confirmed=False).responded()
    .send("new_session").dialog("confirm", confirmed=True).responded()
    .prompt("hello", "hello").shell("ls"))

STATUS_LINE = Script().prompt("hello", call("bash", command="true"), "hello").prompt("bye", "bye")

MODEL_STATUS = (
    Script()
    .ask("set_model", provider="mock", modelId="m2").ask("cycle_model").ask("set_model", provider="mock", modelId="m1")
    .ask("get_state"))

TITLEBAR_SPINNER = (
    Script()
    .prompt("hello", {"n": 6, "delay": 0.1})
    .ask("set_session_name", name="trip").prompt("bye", {"n": 6, "delay": 0.1})
    .loosely("setTitle", "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"))

WIDGET_PLACEMENT = Script().prompt("hello", "hello").ask("new_session")

# What it writes for the terminal must not reach the client.
NOTIFY = Script().prompt("hello", "hello").ask("get_state")

EXAMPLES = [
    Example("rpc-demo", RPC_DEMO),
    Example("status-line", STATUS_LINE),
    Example("model-status", MODEL_STATUS),
    Example("titlebar-spinner", TITLEBAR_SPINNER),
    Example("widget-placement", WIDGET_PLACEMENT),
    Example("notify", NOTIFY),
]
