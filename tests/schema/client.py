"""A client of every dialect with types generated from schema/. It is checked in strict mode and never run."""

import omp
import operator_
import operator_flat
import opi
import pi
import pi_classic

COMMANDS: list[pi.Command] = [
    {"id": "1", "type": "prompt", "message": "hello"},
    {"id": 2, "type": "prompt", "message": "look", "images": [{"data": "aGk=", "mimeType": "image/png"}]},
    {"id": "4", "type": "set_thinking_level", "level": "high"},
    {"id": "6", "type": "bash", "command": "ls", "excludeFromContext": True},
    {"type": "get_state"},
]

CLASSIC: pi_classic.Command = {"id": "1", "type": "prompt", "message": "hello"}
OMP: omp.Command = {"id": "1", "type": "abort_and_prompt", "message": "hello"}
OPI: opi.Command = {"id": "1", "type": "prompt", "message": "hello"}
OPERATOR: operator_.PromptCommand = {"id": "1", "type": "prompt", "text": "hello", "options": {"source": "cron"}}
FLAT: operator_flat.Command = {"id": "1", "type": "steer", "message": "hello"}

WRONG_ID: pi.AbortCommand = {"id": {}, "type": "abort"}  # type: ignore[typeddict-item]
NO_MESSAGE: pi.PromptCommand = {"id": "1", "type": "prompt"}  # type: ignore[typeddict-item]


def receive(record: pi.Output) -> str | None:
    if record["type"] == "response":
        return None if record["success"] else retry(record)
    if record["type"] == "message_update":
        step = record["assistantMessageEvent"]
        return step["delta"] if step["type"] == "text_delta" else None
    if record["type"] == "agent_settled":
        return "aborted" if record["aborted"] else "done"
    return None


def retry(failure: pi.FailureResponse) -> str:
    if failure["code"] == "busy" or failure["code"] == "compacting":
        return "wait"
    return failure["error"]


def ended(record: operator_flat.Output) -> bool:
    return record["type"] == "agent_end" and record["reason"] == "completed"
