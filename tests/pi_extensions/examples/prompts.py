"""Extensions that change what the model is told: inputs, system prompts, payloads, compactions."""
import json
from script import Script, call
from . import Example

REPOSITORY = "git init -q && git add . && git commit -qm start"

INPUT_TRANSFORM = (
    Script()
    .command("ping").command("PING")
    .command("?quick ")
    .command("time")
    .prompt("?quick what is this", "a test")
    .prompt("ordinary", "also a test")
    .sees("Respond briefly in 1-2 sentences: what is this"))

INPUT_TRANSFORM_STREAMING = (
    Script(files={"work/a.txt": "one\n"}, setup=REPOSITORY + " && echo two >> a.txt")
    .prompt("ordinary", "nothing to add")
    .prompt("what changes are there", "one line")
    .begin("take your time", {"n": 12, "delay": 0.1}, "heard")
    .until(type="message_update")
    .ask("steer", message="stop the changes").settled()
    .sees("what changes are there", "Current uncommitted changes:\n```\na.txt | 1 +\n 1 file changed, 1 insertion(+)\n```"))

INLINE_BASH = (
    Script(files={"work/a.txt": "content of the file\n"})
    .prompt("I have !{cat a.txt} and !{echo oops >&2; exit 3} and !{true}", "fine")
    .prompt("nothing inline!", "fine")
    .prompt("!{seq 1 40}", "fine")
    .sees("I have content of the file and oops and "))

PIRATE = (
    Script()
    .prompt("hello", "hello")
    .command("/pirate").prompt("ahoy", "ahoy").command("/pirate").prompt("bye", "bye")
    .sees("IMPORTANT: You are now in PIRATE MODE."))

CLAUDE_RULES = (
    Script(files={"work/.claude/rules/style.md": "Be brief.", "work/.claude/rules/code/rust.md": "No panics.",
                  "work/.claude/rules/notes.txt": "not a rule"})
    .prompt("hello", "hello")
    .sees("## Project Rules", "- .claude/rules/style.md", "- .claude/rules/code/rust.md", "- .claude/rules/notes.txt"))

SKILL = "---\nname: sailing\ndescription: how to sail\n---\nHoist the sail.\n"

PROMPT_CUSTOMIZER = [
    Script(files={"agent/skills/sailing/SKILL.md": SKILL})
    .prompt("hello", "hello")
    .sees("- Use `read` for file contents; it supports text and images.", "- Use `bash` for file operations",
          "- Use `edit` for precise text replacements", "- Use `write` to create new files", "- Available skills: sailing."),
    Script(arguments=["--tools", "read"])
    .prompt("hello", "hello")
    .sees("- Use `read` for file contents; it supports text and images.", "- Use `bash` for file operations"),
]

SYSTEM_PROMPT_HEADER = Script().prompt("hello", "hello").prompt("bye", "bye")

PROVIDER_PAYLOAD = (
    Script(files={"work/.pi/keep": ""})
    .prompt("hello", call("bash", command="true"), "hello")
    .shell("grep -c '\"model\": \"m1\"' .pi/provider-payload.log; grep -o '^\\[[0-9]*\\]' .pi/provider-payload.log"))

# Two turns that are worth compacting.
LONG = [("first", {"n": 400, "size": 60}), ("second", {"n": 400, "size": 60}), ("third", "short")]
SMALL_TAIL = {"agent/settings.json": json.dumps({"compaction": {"keepRecentTokens": 1000, "reserveTokens": 2000}})}

CUSTOM_COMPACTION = [
    # Without a key, the extension tells why and leaves it to the agent.
    Script(files=SMALL_TAIL)
    .prompt(*LONG[0]).prompt(*LONG[1]).prompt(*LONG[2])
    .ask("compact").prompt("go on", "going on"),
    Script(files={**SMALL_TAIL, "agent/models.json": json.dumps({"providers": {
        "mock": {"baseUrl": "http://127.0.0.1:{PORT}", "api": "anthropic-messages", "apiKey": "k", "models": [
            {"id": "m1", "name": "m1", "reasoning": False, "input": ["text"], "contextWindow": 200000,
             "maxTokens": 32000, "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}]},
        "google": {"baseUrl": "http://127.0.0.1:{PORT}/v1beta", "apiKey": "k"}}})})
    .prompt(*LONG[0]).prompt(*LONG[1]).prompt("third", "the summary of all")
    .ask("compact", customInstructions="be brief").prompt("go on", "going on")
    .sees("You are a conversation summarizer.", "[User]: first"),
]

TRIGGER_COMPACT = [
    Script(files=SMALL_TAIL)
    .command("/trigger-compact").notified()
    .prompt(*LONG[0]).prompt(*LONG[1]).prompt(*LONG[2])
    .command("/trigger-compact think of the children").until(type="compaction_end").notified()
    .prompt("go on", "going on"),
    Script(files=SMALL_TAIL)
    .prompt(*LONG[0])
    .prompt("second", {"text": "still small", "usage": {"in": 99000, "out": 5}})
    .begin("third", {"text": "grown", "usage": {"in": 120000, "out": 5}})
    .until(type="compaction_end").notified().ask("get_state"),
]

DYNAMIC_RESOURCES = (
    Script()
    .ask("get_commands")
    .prompt("/dynamic", "a summary")
    .prompt("/skill:dynamic-resources", "skilled")
    .sees("Summarize the current repository structure and mention any build or test commands.",
          "This skill is provided by the dynamic-resources extension.", "Example skill loaded from resources_discover"))

EXAMPLES = [
    Example("input-transform", INPUT_TRANSFORM),
    Example("input-transform-streaming", INPUT_TRANSFORM_STREAMING),
    Example("inline-bash", INLINE_BASH),
    Example("pirate", PIRATE),
    Example("claude-rules", CLAUDE_RULES),
    Example("prompt-customizer", *PROMPT_CUSTOMIZER),
    Example("system-prompt-header", SYSTEM_PROMPT_HEADER),
    Example("provider-payload", PROVIDER_PAYLOAD),
    Example("custom-compaction", *CUSTOM_COMPACTION),
    Example("trigger-compact", *TRIGGER_COMPACT),
    Example("dynamic-resources", DYNAMIC_RESOURCES),
]
