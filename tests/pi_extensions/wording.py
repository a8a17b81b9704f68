"""Texts that each agent words in its own way, brought to one form: results of built-in tools and the agents' own errors.

What they say is compared all the same: which file, which line, which exit code.
"""
import re

WORDINGS = [(re.compile(pattern), replacement) for pattern, replacement in [
    (r"^Successfully wrote to (.+)$", r"<wrote \1>"),
    (r"^(?:Created|Overwrote|Replaced) (.+) \([^()]*\d+ lines, \d+ bytes[^()]*\)\.$", r"<wrote \1>"),
    (r"^Successfully replaced (\d+) block\(s\) in (.+)\.$", r"<edited \2: \1>"),
    (r"^Replaced (\d+) pieces? in (.+)\.$", r"<edited \2: \1>"),
    (r"^Could not find the exact text in (\S+)\. .*$", r"<not found in \1>"),
    (r"^oldText is not in (\S+?)(?:; nothing was changed)?\. .*$", r"<not found in \1>"),
    (r"\n\n\[\d+ more lines in file\. Use offset=(\d+) to continue\.\]$", r"<more from line \1>"),
    (r"\n\n\[Lines \d+-\d+ of \d+\. Continue with offset=(\d+)\.\]$", r"<more from line \1>"),
    (r"\n+Command exited with code (\d+)$", r"<exit code \1>"),
    (r"\n+\[Exit code (\d+)\.\]$", r"<exit code \1>"),
    (r"^Command timed out after (\d+) seconds$", r"<timed out after \1>"),
    (r"^\(no output\)\n\n\[Timed out after (\d+) seconds; [^\]]*\]$", r"<timed out after \1>"),
    (r"^ENOENT: no such file or directory, access '(.+)'$", r"<missing \1>"),
    (r"^Path not found: (.+)$", r"<missing \1>"),
    (r"^(\S+) does not exist\. (?:List|Did you mean) .*$", r"<missing \1>"),
    (r"\n\n\[Showing lines (\d+)-(\d+) of (\d+)\. Full output: [^\]]*\]$", r"<lines \1 to \2 of \3>"),
    (r"\n\n\[These are lines (\d+)-(\d+) of (\d+)\. The full output is in [^\]]*\]$", r"<lines \1 to \2 of \3>"),
    (r"^Tool (\S+) not found$", r"<no tool \1>"),
    (r"^There is no tool named (\S+)\. The tools are: .*$", r"<no tool \1>"),
    (r'(?s)^Validation failed for tool "(\S+)":\n  - (\w+): .*$', r"<\1 has a wrong \2>"),
    (r"(?s)^`(\S+)` was not run because its arguments are invalid:\n- (\w+): .*$", r"<\1 has a wrong \2>"),
]]


def same_words(text):
    """Returns a text in the form that both agents share."""
    for pattern, replacement in WORDINGS:
        text, count = pattern.subn(replacement, text)
        if count:
            break
    return text


def same_summary(text):
    """Returns the summary of a compaction without what the agents put around the model's answers."""
    text = text.removeprefix("No prior history.\n\n---\n\n**Turn Context (split turn):**\n\n")
    return re.sub(r" +(?=\n|$)", "", text)
