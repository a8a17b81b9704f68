"""Extensions around commands, messages and sessions."""
from script import Script, call
from . import Example

BOOKMARK = (
    Script()
    .command("/bookmark too early").command("/unbookmark")
    .prompt("hello", "hello")
    .command("/bookmark the beginning").ask("get_tree")
    .prompt("more", "more").command("/bookmark")
    .command("/unbookmark").command("/unbookmark").command("/unbookmark").ask("get_tree"))

COMMANDS = (
    Script(files={"agent/prompts/review.md": "---\ndescription: reviews\n---\nReview $1.\n",
                  "agent/skills/sailing/SKILL.md": "---\nname: sailing\ndescription: how to sail\n---\nHoist.\n"})
    .send("prompt", message="/commands").dialog("select", value="/review - reviews")
    .dialog("confirm", confirmed=True).responded()
    .send("prompt", message="/commands skill").dialog("select", value="--- Skills ---").responded()
    .send("prompt", message="/commands extension").dialog("select", value="/commands - List available slash commands")
    .dialog("confirm", confirmed=False).responded()
    .command("/commands nothing"))

SESSION_NAME = (
    Script()
    .command("/session-name").command("/session-name  my trip ").command("/session-name").ask("get_state")
    .ask("set_session_name", name="renamed").command("/session-name")
    .ask("new_session").command("/session-name"))

SEND_USER_MESSAGE = (
    Script()
    .command("/ask").command("/ask what is it").settled()
    .command("/askwith something").settled()
    .command("/steer idle").settled().command("/followup idle").settled()
    .begin("take your time", {"n": 14, "delay": 0.1}, "steered", "followed")
    .until(type="message_update")
    .command("/ask busy").command("/askwith busy").command("/steer turn left").command("/followup and then stop").settled()
    .sees("User request: something", "Please respond concisely.", "turn left", "and then stop"))

MESSAGE_RENDERER = (
    Script()
    .command("/status all is well").command("/status warn careful now").command("/status error")
    .prompt("what is the status", "fine").ask("get_messages")
    .sees("careful now"))

ENTRY_RENDERER = (
    Script()
    .command("/status-card").command("/status-card a card").prompt("hello", "hello").command("/status-card another")
    .ask("get_entries"))

EVENT_BUS = [
    Script().command("/emit").command("/emit good morning").ask("new_session").command("/emit again"),
    # Two extensions talk to each other.
    Script(files={"other.mjs": """export default function (pi) {
    pi.events.on("my:notification", ({ message }) => pi.appendEntry("heard", { message }));
    pi.registerCommand("shout", {
        handler: async (text) => pi.events.emit("my:notification", { message: text.toUpperCase(), from: "the other" }),
    });
}
"""}, companions=["{HOME}/other.mjs"])
    .command("/emit hi").command("/shout hello"),
]

# One file for all who try this extension: it is written in the extension.
# Later than the response to the command.
WRITE = "(sleep 0.5; printf 'PLAN [{\"text\": \"triggered\"}]' >> /tmp/agent-trigger.txt) > /dev/null 2>&1 &"

FILE_TRIGGER = (
    Script(setup=": > /tmp/agent-trigger.txt")
    .send("bash", command=WRITE).settled()
    .sees("External trigger: ").shell("cat /tmp/agent-trigger.txt; rm /tmp/agent-trigger.txt"))

SHUTDOWN_COMMAND = [
    Script().prompt("deploy", call("deploy_and_exit", environment="staging"), "deployed"),
    Script().begin("finish", call("finish_and_exit"), "finished").settled().sees("Shutdown requested."),
    Script().command("/quit"),
]

RELOAD_RUNTIME = (
    Script()
    .prompt("write a prompt", call("bash", command="mkdir -p $HOME/agent/prompts && echo 'Count to $1.' > $HOME/agent/prompts/count.md"), "ok")
    .ask("get_commands")
    .command("/reload-runtime")
    .ask("get_commands")
    .prompt("/count 3", "1 2 3")
    .prompt("reload", call("reload_runtime"), "queued", "asked again")
    .sees("Count to 3.", "Queued /reload-runtime as a follow-up command."))

EXAMPLES = [
    Example("bookmark", BOOKMARK),
    Example("commands", COMMANDS),
    Example("session-name", SESSION_NAME),
    Example("send-user-message", SEND_USER_MESSAGE),
    Example("message-renderer", MESSAGE_RENDERER),
    Example("entry-renderer", ENTRY_RENDERER),
    Example("event-bus", *EVENT_BUS),
    Example("file-trigger", FILE_TRIGGER),
    Example("shutdown-command", *SHUTDOWN_COMMAND),
    Example("reload-runtime", RELOAD_RUNTIME),
]
