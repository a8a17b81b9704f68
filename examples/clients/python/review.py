"""Reviews a diff in CI: a diff in, findings out, and an exit code.

git diff origin/main | python3 examples/clients/python/review.py --model anthropic/claude-sonnet-5

The model reports each finding by calling a tool, so there is no text to be parsed. It can read the project and nothing
else. Exit codes: 0 no serious finding, 1 serious findings, 2 the review failed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import List, Literal

from bowline_agent import Bowline, BowlineError

TASK = """Review this change. Read the files that it touches where you need to. Report every defect with the tool
report_finding: what is wrong, and how to put it right. Report nothing that is a matter of taste.

{diff}"""
Severity = Literal["note", "warning", "error"]


@dataclass
class Finding:
    file: str
    line: int
    severity: Severity
    text: str

    def __str__(self) -> str:
        # The form that GitHub shows beside the line. What a model writes must not become another command.
        place = f"file={escaped(self.file, ':,')},line={self.line}"
        return f"::{self.severity.replace('note', 'notice')} {place}::{escaped(self.text)}"


def escaped(text: str, further: str = "") -> str:
    return "".join(f"%{ord(each):02X}" if each in "%\r\n" + further else each for each in text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Reviews the diff on stdin.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    diff = sys.stdin.read()
    if not diff.strip():
        print("there is nothing to review", file=sys.stderr)
        return 0
    findings: List[Finding] = []

    def report_finding(file: str, line: int, severity: Severity, text: str) -> str:
        """Reports a defect of the change.

        Args:
            file: The path of the file.
            line: The line in the new version of the file.
            severity: error if it must not be merged like this.
            text: What is wrong, and how to put it right.
        """
        findings.append(Finding(file, line, severity, text))
        return "Noted."

    flags = ["--tools", "read,grep,find,ls"]
    try:
        with Bowline(model=options.model, arguments=flags, no_session=True, tools=[report_finding]) as agent:
            result = agent.prompt_and_wait(TASK.format(diff=diff), timeout=60 * options.minutes)
    except BowlineError as error:
        print(f"the review failed: {error}", file=sys.stderr)
        return 2
    if not result.ok:
        print(f"the review failed: {result.error or result.outcome}", file=sys.stderr)
        return 2
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings, {result.usage['totalTokens']} tokens", file=sys.stderr)
    return 1 if any(finding.severity == "error" for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
