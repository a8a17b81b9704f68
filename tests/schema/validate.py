#!/usr/bin/env python3
"""Checks the schemas in schema/ with an independent validator (jsonschema, from PyPI): each is valid JSON Schema, every
example in docs/protocol/ satisfies it, and so does every recording of the agent whose dialect it describes.
"""
import json
import re
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

ROOT = Path(__file__).resolve().parents[2]

RECORDINGS = ROOT / "tests" / "conformance" / "golden"

# Required fields that only bowline sends, or that the recordings omit because they are private to an agent.
NOT_RECORDED = {
    "pi": {"durationMs", "code", "entryId", "aborted", "byModel", "autoRetryEnabled", "tools", "cwd", "details"},
    "pi-classic": {"durationMs"},
    "omp": {
        "durationMs", "isTerminal", "code", "protocolVersion", "supportedProtocolVersions", "todoPhases",
    },
    "opi": {"reason", "details"},
}
# Fields that the recorded agents omit where bowline sends null.
OMITTED_WHEN_NULL = {"pi": {"text", "data"}, "omp": {"thinkingLevel"}}
# The recordings omit the stop reason in the record that starts an answer.
NORMALISED = {"stopReason"}
# The recordings replace varying values by "<name>". The pattern for call ids also matches the types of tool call updates.
PLACEHOLDER = {"type": "string", "pattern": "<[a-z_A-Z]+>"}
# The fields that tell records apart.
TAGS = ("type", "command", "success")
# Dialects whose agent was never recorded; the recordings of acp are checked beside the official schema, in tests/acp.
UNRECORDED = {"operator", "operator-flat", "extension", "acp"}


def main():
    problems = []
    for path in sorted((ROOT / "schema").glob("*.json")):
        dialect, schema = path.stem, json.loads(path.read_text())
        Draft202012Validator.check_schema(schema)
        lines = list(examples(ROOT / "docs" / "protocol" / f"{dialect}.md"))
        validator = Draft202012Validator(schema)
        problems += [f"{where}: {explain(validator, line)}" for where, line in lines if not validator.is_valid(line)]
        records = list(recordings(RECORDINGS / dialect))
        if not records and dialect not in UNRECORDED:
            problems.append(f"{dialect}: no recordings in {RECORDINGS}")
        validators = {}
        for where, record in records:
            name = definition_of(schema, record)
            validators.setdefault(name, Draft202012Validator(relaxed(schema, name, dialect)))
            if not validators[name].is_valid(record):
                problems.append(f"{where} ({name}): {explain(validators[name], record)}")
        print(f"{dialect}: {len(lines)} examples, {len(records)} recorded records")
    for problem in problems:
        print("FAIL", problem)
    sys.exit(bool(problems))


def examples(page):
    """Yields every line of JSON in a page's examples."""
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
    """Returns the name of the definition whose tags a record has."""
    for name, definition in schema["$defs"].items():
        properties = definition.get("properties", {})
        tags = {key: properties[key]["const"] for key in TAGS if "const" in properties.get(key, {})}
        if "type" in tags and name.endswith(("Record", "Response")) and all(record.get(key) == tag for key, tag in tags.items()):
            return name
    return "Record"


def relaxed(schema, name, dialect):
    """Returns a definition that accepts placeholders and does not require fields that recordings omit."""
    missing = NOT_RECORDED.get(dialect, set()) | OMITTED_WHEN_NULL.get(dialect, set()) | NORMALISED

    def walk(part):
        if not isinstance(part, dict):
            return part
        result = {}
        for key, value in part.items():
            if key == "properties":
                result[key] = {name: {"anyOf": [PLACEHOLDER, walk(schema)]} for name, schema in value.items()}
            elif key in ("oneOf", "anyOf"):
                result["anyOf"] = [walk(schema) for schema in value]
            elif key == "items":
                result[key] = {"anyOf": [PLACEHOLDER, walk(value)]}
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
