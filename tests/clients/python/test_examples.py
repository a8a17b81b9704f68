"""The examples and the blocks of the documentation run as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from typing import List

from support import ROOT, WAIT, WithWorkspace, bash

EXAMPLES = ROOT / "examples" / "clients" / "python"
PAGE = ROOT / "docs" / "python-client.md"


class Programs(WithWorkspace):
    def run_program(self, arguments: List[str], given: str = "", code: int = 0) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "BOWLINE_HOME": str(self.workspace.home)}
        environment.pop("PI_CODING_AGENT_DIR", None)
        done = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", *arguments],
            input=given, cwd=self.workspace.work, env=environment, capture_output=True, text=True, timeout=WAIT,
        )
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def test_chat(self) -> None:
        self.assertLessEqual(len((EXAMPLES / "chat.py").read_text().splitlines()), 40)
        steps = [bash("echo hi", text="I look."), {"text": "Hello."}, {"error": {"kind": "authentication", "message": "401 no key"}}]
        self.workspace.options(steps)
        done = self.run_program([str(EXAMPLES / "chat.py"), "--model", "scripted/script.json"], "hi\nagain\n")
        for piece in ("I look.", "[bash]", "Hello.", "failed: 401 no key"):
            self.assertIn(piece, done.stdout)

    def review(self, severity: str, code: int) -> "subprocess.CompletedProcess[str]":
        finding = {"file": "a.c", "line": 3, "severity": severity, "text": "Frees twice."}
        self.workspace.options([{"toolCalls": [{"name": "report_finding", "arguments": finding}]}, {"text": "One finding."}])
        return self.run_program([str(EXAMPLES / "review.py"), "--model", "scripted/script.json"], "+free(a);\n", code)

    def test_review(self) -> None:
        self.assertEqual(self.review("error", 1).stdout, "::error file=a.c,line=3::Frees twice.\n")
        self.assertEqual(self.review("note", 0).stdout, "::notice file=a.c,line=3::Frees twice.\n")

    def test_a_finding_is_one_command_of_the_ci(self) -> None:
        finding = {"file": "a,b:c", "line": 3, "severity": "note", "text": "100%\n::set-env name=A::b"}
        self.workspace.options([{"toolCalls": [{"name": "report_finding", "arguments": finding}]}, {"text": "One."}])
        done = self.run_program([str(EXAMPLES / "review.py"), "--model", "scripted/script.json"], "+a")
        self.assertEqual(done.stdout, "::notice file=a%2Cb%3Ac,line=3::100%25%0A::set-env name=A::b\n")

    def test_a_review_that_fails_is_no_good_review(self) -> None:
        self.workspace.options([{"error": {"kind": "authentication", "message": "401 no key"}}])
        arguments = [str(EXAMPLES / "review.py"), "--model", "scripted/script.json"]
        self.assertIn("401 no key", self.run_program(arguments, "+a", 2).stderr)
        self.run_program(arguments, "", 0)
        self.run_program([str(EXAMPLES / "review.py"), "--model", "scripted/none.json"], "+a", 2)

    def test_evaluate(self) -> None:
        answers = " ".join(str(2 * number) for number in range(90))
        script = self.workspace.write("script.json", {"steps": [{"text": answers}]})
        done = self.run_program([str(EXAMPLES / "evaluate.py"), "--model", f"scripted/{script}"], code=1)
        self.assertIn("90 of 100 right", done.stdout)
        self.assertIn("100/100", done.stderr)
        cases = self.workspace.write("cases.jsonl", json.dumps({"prompt": "4 + 4?", "expect": "8"}) + "\n")
        arguments = ["--model", f"scripted/{script}", "--cases", str(cases)]
        self.assertIn("1 of 1 right", self.run_program([str(EXAMPLES / "evaluate.py"), *arguments]).stdout)

    def test_the_blocks_of_the_page(self) -> None:
        blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        expected = {"Fix the failing test": "done", "tool:": "agent_settled", "echo $((": "42\n\nmodel_not_found", "sessionId": "True", "follow_up": "aborted"}
        self.assertGreaterEqual(len(blocks), 9)
        for block in blocks:
            with self.subTest(block.splitlines()[-1]):
                output = self.run_program(["-c", block]).stdout
                for word, piece in expected.items():
                    if word in block:
                        self.assertIn(piece, output)


if __name__ == "__main__":
    unittest.main()
