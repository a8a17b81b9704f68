"""An agent that answers every command with success and misbehaves in one way, named by its first argument."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Dict

KIND = sys.argv[1] if len(sys.argv) > 1 else ""
STATE = {"isStreaming": False, "sessionId": "fake"}
BIG = 20 * 1024 * 1024 + 17
out = sys.stdout.buffer


def write(data: bytes) -> None:
    out.write(data)
    out.flush()


def record(**fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def misbehave(command: Dict[str, Any]) -> None:
    name = command["type"]
    if KIND == "garbage" and name == "get_messages":
        write(b"npm WARN this is no record\n\n[1,2]\n{\"no\":\"type\"}\n\x00\xff\xfe\n" + b"[" * 100_000 + b"\n")
    elif KIND == "utf8" and name == "get_messages":
        write(b'{"type":"session_info_changed","name":"bad \xff byte"}\n')
    elif KIND == "separators" and name == "get_messages":
        write(record(type="session_info_changed", name="a\u2028b\u2029c\x85d"))
    elif KIND == "pieces" and name == "get_messages":
        for byte in record(type="session_info_changed", name="é in pieces"):
            write(bytes([byte]))
            time.sleep(0.001)
    elif KIND == "big" and name == "get_messages":
        write(record(type="session_info_changed", name="x" * BIG))
    elif KIND == "silent" and name == "get_messages":
        time.sleep(3600)
    elif KIND == "dies" and name == "get_messages":
        print("the disk is on fire", file=sys.stderr, flush=True)
        sys.exit(7)
    elif KIND == "unasked" and name == "get_messages":
        write(record(type="response", command="get_state", id="nobody asked", success=True))
        write(record(type="response", command="parse", success=False, error="what?", code="parse_error"))
    elif KIND == "flood" and name == "get_messages":
        for number in range(50_000):
            out.write(record(type="session_info_changed", name=str(number), entryId="x" * 40))
        out.flush()


def main() -> None:
    if KIND == "refuses":
        write(record(type="error", error="there is no such dialect", fatal=True))
        sys.exit(1)
    for line in sys.stdin.buffer:
        command = json.loads(line)
        misbehave(command)
        data = STATE if command["type"] == "get_state" else {"messages": [{"text": KIND}]}
        write(record(type="response", id=command["id"], command=command["type"], success=True, data=data))
    if KIND == "stubborn":
        time.sleep(3600)


if __name__ == "__main__":
    main()
