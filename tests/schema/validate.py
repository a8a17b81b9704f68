#!/usr/bin/env python3
"""Holds the schemas of schema/ against what others say, with a validator that is not ours (jsonschema, from PyPI):
each is valid JSON Schema, every example of docs/protocol/ satisfies it, and so does every recording of the agents whose
dialects they describe, where the conformance kit is at hand.

  validate.py [KIT]      KIT is the folder with golden/<dialect>/*.jsonl
"""
import json
import re
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

ROOT = Path(__file__).resolve().parents[2]

# What bowline always sends and the recorded agents do not, or the recordings leave out because agents differ in it.
NOT_RECORDED = {
    "pi": {"durationMs", "code", "entryId", "aborted", "byModel", "autoRetryEnabled", "tools", "cwd",
           "details"},
    "pi-classic": {"durationMs"},
    "omp": {"durationMs", "isTerminal", "code"},
    "opi": {"reason", "details"},
}
# What the recorded agents leave out where bowline sends null.
LEFT_OUT = {"pi": {"text", "data"}, "omp": {"thinkingLevel"}}
# The recordings have no content and no reason to stop in the announcement of an answer.
ANNOUNCED = {"stopReason"}
# Values that vary are recorded as "<what>"; the pattern for ids also hits the types of tool call steps.
BLURRED = {"type": "string", "pattern": "<[a-z_A-Z]+>"}


def main():
    kit = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    problems = []
    for path in sorted((ROOT / "schema").glob("*.json")):
        dialect, schema = path.stem, json.loads(path.read_text())
        Draft202012Validator.check_schema(schema)
        lines = list(examples(ROOT / "docs" / "protocol" / f"{dialect}.md"))
        validator = Draft202012Validator(schema)
        problems += [f"{where}: {explain(validator, line)}" for where, line in lines if not validator.is_valid(line)]
        told = f"{dialect}: {len(lines)} examples"
        if kit:
            records = list(recordings(kit / "golden" / dialect))
            validators = {}
            for where, record in records:
                name = definition_of(schema, record)
                validators.setdefault(name, Draft202012Validator(relaxed(schema, name, dialect)))
                if not validators[name].is_valid(record):
                    problems.append(f"{where} ({name}): {explain(validators[name], record)}")
            told += f", {len(records)} recorded records"
        print(told)
    for problem in problems:
        print("FAIL", problem)
    sys.exit(bool(problems))


def examples(page):
    """Every line of JSON in a page's examples."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```json"
        elif inside:
            yield f"{page.name}:{number}", json.loads(line)


def recordings(folder):
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().rstrip("\n").split("\n"), 1):
            record = json.loads(line).get("out")
            if record is not None:
                yield f"{folder.name}/{path.name}:{number}", record


def definition_of(schema, record):
    """The definition that a record says it is."""
    for name, definition in schema["$defs"].items():
        tags = {key: value["const"] for key, value in definition.get("properties", {}).items() if "const" in value}
        if "type" in tags and name.endswith(("Record", "Response")) and all(record.get(key) == tag for key, tag in tags.items()):
            return name
    return "Record"


def relaxed(schema, name, dialect):
    """A definition that takes what recordings blur and does not miss what they have not."""
    missing = NOT_RECORDED.get(dialect, set()) | LEFT_OUT.get(dialect, set()) | ANNOUNCED

    def walk(part):
        if not isinstance(part, dict):
            return part
        result = {}
        for key, value in part.items():
            if key == "properties":
                result[key] = {name: {"anyOf": [BLURRED, walk(schema)]} for name, schema in value.items()}
            elif key in ("oneOf", "anyOf"):
                result["anyOf"] = [walk(schema) for schema in value]
            elif key == "items":
                result[key] = {"anyOf": [BLURRED, walk(value)]}
            elif key == "required":
                result[key] = [name for name in value if name not in missing]
            else:
                result[key] = value
        return result

    definitions = {key: walk(value) for key, value in schema["$defs"].items()}
    return {"$defs": definitions, "$ref": f"#/$defs/{name}"}


def explain(validator, line):
    error = best_match(validator.iter_errors(line))
    while error.context:
        error = max(error.context, key=lambda inner: len(inner.absolute_path))
    return f"{'/'.join(map(str, error.absolute_path))}: {re.sub(chr(10), ' ', error.message)[:300]}"


main()
