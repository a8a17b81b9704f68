"""Runs many prompts, each in a process and a folder of its own, and counts how many answers are right.

python3 examples/clients/python/evaluate.py --model scripted//path/to/script.json --cases cases.jsonl

A case is a line of JSON: {"prompt": "What is 2 + 2?", "expect": "4"}. Without --cases, 100 sums are asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import List, Optional

from bowline_agent import AsyncBowline, BowlineError


@dataclass
class Case:
    prompt: str
    expect: str


@dataclass
class Outcome:
    case: Case
    right: bool
    text: str
    cost: float = 0.0


def sums() -> List[Case]:
    return [Case(f"What is {number} + {number}? Answer with the number.", str(2 * number)) for number in range(100)]


def read_cases(path: Optional[str]) -> List[Case]:
    if path is None:
        return sums()
    with open(path, encoding="utf-8") as lines:
        return [Case(**json.loads(line)) for line in lines if line.strip()]


async def run_case(case: Case, model: str, seconds: float) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="evaluate-") as folder:
        try:
            async with AsyncBowline(model=model, cwd=folder, no_session=True) as agent:
                result = await agent.prompt_and_wait(case.prompt, timeout=seconds)
        except BowlineError as error:
            return Outcome(case, False, f"{type(error).__name__}: {error}")
    if not result.ok:
        return Outcome(case, False, result.error or result.outcome, result.usage["cost"]["total"])
    return Outcome(case, case.expect in result.text, result.text, result.usage["cost"]["total"])


def show_progress(outcomes: List[Outcome], total: int, started: float) -> None:
    done, right, width = len(outcomes), sum(outcome.right for outcome in outcomes), 30
    bar = "#" * (width * done // total)
    end = "\n" if done == total else ""
    line = f"\r[{bar:<{width}}] {done}/{total}, {right} right, {time.monotonic() - started:.1f} s"
    print(line, end=end, file=sys.stderr, flush=True)


async def evaluate(cases: List[Case], model: str, parallel: int, seconds: float) -> List[Outcome]:
    outcomes: List[Outcome] = []
    started = time.monotonic()
    free = asyncio.Semaphore(parallel)

    async def one(case: Case) -> None:
        async with free:
            outcomes.append(await run_case(case, model, seconds))
        show_progress(outcomes, len(cases), started)

    await asyncio.gather(*map(one, cases))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description="Counts how many answers are right.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--cases", help="a file with one case per line")
    parser.add_argument("--parallel", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    cases = read_cases(options.cases)
    outcomes = asyncio.run(evaluate(cases, options.model, options.parallel, options.seconds))
    for outcome in outcomes:
        if not outcome.right:
            print(f"wrong: {outcome.case.prompt!r}: expected {outcome.case.expect!r}, got {outcome.text!r:.200}")
    right = sum(outcome.right for outcome in outcomes)
    print(f"{right} of {len(cases)} right, {sum(outcome.cost for outcome in outcomes):.2f} $")
    return 0 if right == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
