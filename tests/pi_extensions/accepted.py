"""Differences between the real pi and bowline that are meant to be, with their reasons.

Each is a rule for differing lines: if all differences of an example are accepted, it counts as the same.
"""
import re

# (examples, or None for all; a pattern of the differing line, "pi: …" or "bowline: …"; the reason)
RULES = []


def reason(example, line):
    """Returns why a difference is accepted, or None."""
    for examples, pattern, why in RULES:
        if (examples is None or example in examples) and re.search(pattern, line):
            return why
    return None
