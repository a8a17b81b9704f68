"""Differences between the real pi and bowline that are meant to be, with their reasons.

Each is a rule for differing lines: if all differences of an example are accepted, it is the same but for details.
"""
import re

# (the example; a pattern of the differing line, "pi: …" or "bowline: …"; the reason)
TWICE = "pi starts extensions twice when a client replaces the session"
EARLY = "pi sends nothing of what extensions change in the session before it listens to commands"
FRESH = "bowline lists a new prompt template at once, pi after a reload"
LATER = "bowline answers the command when the run or compaction that it started may have begun, pi before"
QUEUED = "bowline queues a message when the extension says so, pi after what the extension does next"
NEWEST = "of updates that come at once bowline may pass on only the newest"
ABORTED = "an aborted answer has bowline's own words"
REFUSED = "bowline says why a model cannot be used"
AFTER = "what is added to the session when a first turn starts comes after the message that began it, in pi before it"
FAILED = "a tool that says in its result that it has failed has, as in pi 1.5"
RULES = [
    ("custom-provider-anthropic", r'"errorMessage": "Request was aborted\.?"', ABORTED),
    ("custom-provider-anthropic", r'"command": "set_model", "error"', REFUSED),
    ("preset", r'"command": "get_entries".*"preset-state"', AFTER),
    ("subagent", r'Unknown agent: \\"stranger\\"', FAILED),
    ("send-user-message", r'"command": "prompt", "id": "c[3-6]"', LATER),
    ("trigger-compact", r'"command": "prompt", "id": "c[26]"', LATER),
    ("trigger-compact", r'"(Nothing to compact|Compaction failed: Nothing).*"type": "compaction_end"', LATER),
    ("send-user-message", r'"followUp": \["and then stop"\], "steering": \["turn left"\]', QUEUED),
    ("shutdown-command", r'^pi: .*"Deploying to staging\.\.\.".*"tool_execution_update"', NEWEST),
    ("event-bus", r'^pi: .*"Event from event-bus-example: Session started"', TWICE),
    ("rpc-demo", r'^pi: .*("pi RPC Demo \(new session\)"|"Loaded and ready\."|"Turns: 0")', TWICE),
    ("widget-placement", r'^pi: .*"(Above|Below) editor widget"', TWICE),
    ("event-bus", r'^bowline: .*"entry_appended"', EARLY),
    ("preset", r'^bowline: .*"level": "low", "type": "thinking_level_changed"', EARLY),
    ("reload-runtime", r'"id": "c3"', FRESH),
    ("preset", r'^pi: .*"statusKey": "preset"', TWICE),
    ("plan-mode", r'^pi: .*"statusKey": "plan-mode"', TWICE),
    ("plan-mode", r'^pi: .*"widgetKey": "plan-todos"}', TWICE),
]


used = set()


def is_accepted(example, line):
    for rule in RULES:
        name, pattern, _ = rule
        if name == example and re.search(pattern, line):
            used.add(rule)
            return True
    return False


def reasons(example):
    """Returns why an example may differ."""
    return list(dict.fromkeys(why for name, _, why in RULES if name == example))


def unused():
    """Returns the examples and patterns of the rules that no difference needed, but for those that depend on timing."""
    rules = (rule for rule in RULES if rule not in used and rule[2] not in (LATER, QUEUED, NEWEST))
    return [(name, pattern) for name, pattern, _ in rules]
