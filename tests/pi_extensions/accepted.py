"""Differences between the real pi and bowline that are meant to be, with their reasons.

Each is a rule for differing lines: if all differences of an example are accepted, it counts as the same.
"""
import re

# (examples, or None for all; a pattern of the differing line, "pi: …" or "bowline: …"; the reason)
TWICE = "pi starts extensions twice when a client replaces the session"
EARLY = "pi sends nothing of what extensions change in the session before it listens to commands"
FRESH = "bowline lists a new prompt template at once, pi after a reload"
RULES = [
    (["event-bus"], r'^pi: .*"Event from event-bus-example: Session started"', TWICE),
    (["rpc-demo"], r'^pi: .*("pi RPC Demo \(new session\)"|"Loaded and ready\."|"Turns: 0")', TWICE),
    (["widget-placement"], r'^pi: .*"(Above|Below) editor widget"', TWICE),
    (["event-bus"], r'^bowline: .*"entry_appended"', EARLY),
    (["preset"], r'^bowline: .*"level": "low", "type": "thinking_level_changed"', EARLY),
    (["reload-runtime"], r'"id": "c3"', FRESH),
    (["preset"], r'^pi: .*"statusKey": "preset"', TWICE),
]


def reason(example, line):
    """Returns why a difference is accepted, or None."""
    for examples, pattern, why in RULES:
        if (examples is None or example in examples) and re.search(pattern, line):
            return why
    return None
