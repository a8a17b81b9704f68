#!/usr/bin/env python3
"""Has tests/conformance/acp_check.py judge bowline, and fails unless every check of every tier passes.

  tests/acp/judge.py [options of acp_check.py]

Each message is held against the official schema.
"""
import json
import os
import subprocess
import sys
import tempfile

import install

CONFORMANCE = os.path.join(os.path.dirname(install.HERE), "conformance")
CHECKS = {"MUST": 22, "CAP": 14, "SHOULD": 35, "PLUS": 3}


def main():
    with tempfile.TemporaryDirectory() as folder:
        report = folder + "/report.json"
        subprocess.run([sys.executable, CONFORMANCE + "/acp_check.py", "--mock", CONFORMANCE + "/mockllm.py",
                        "--model", "mock/m1", "--schema", install.schema(), "--perf", "0", "--json", report,
                        *sys.argv[1:], "--", install.BOWLINE, "acp"])
        judged = json.load(open(report))
    failed = [row["check"] for row in judged["rows"] if row["state"] != "pass"]
    counts = {tier: passed for tier, (passed, _) in judged["counts"].items()}
    if failed or (counts != CHECKS and len(sys.argv) == 1):
        sys.exit(f"not passed: {', '.join(failed) or counts}")


if __name__ == "__main__":
    main()
