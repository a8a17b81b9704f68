"""Lines to records, and records to lines."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, NamedTuple, Optional

# How much of a line that is no record is shown.
EXCERPT = 200


class Decoded(NamedTuple):
    record: Optional[Dict[str, Any]]
    problem: Optional[str]


def decode(line: bytes) -> Decoded:
    """Returns the record in a line, or what is wrong with it; both if bytes that are not UTF-8 were replaced."""
    problem = None
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        problem = f"a record is not UTF-8; the bytes were replaced: {excerpt(text)}"
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return Decoded(None, f"a line of stdout is no record; it was skipped: {excerpt(text)}")
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return Decoded(None, f"a line of stdout is no record; it was skipped: {excerpt(text)}")
    return Decoded(record, problem)


def encode(record: Mapping[str, Any]) -> bytes:
    """Returns the line of a record, with its LF. Halves of characters, as in odd names of files, become `?`."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def excerpt(text: str) -> str:
    return repr(text if len(text) <= EXCERPT else text[:EXCERPT] + "…")
