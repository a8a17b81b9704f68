"""Holds messages against the official schema, with a validator that knows all of JSON Schema."""
import json

import jsonschema


class Schema:
    """The official schema: which definition describes the messages of a method."""

    def __init__(self, path):
        self.whole = json.load(open(path))
        self.names = {}
        for name, definition in self.whole["$defs"].items():
            if "x-method" in definition:
                kind = "result" if name.endswith("Response") else "params"
                self.names[definition["x-method"], kind] = name
        self.validators = {}

    def problem(self, kind, method, value):
        """Returns what is wrong with the parameters or the result of a method, if anything."""
        if method.startswith("_") or (method, kind) not in self.names:
            # Methods of bowline's own, and those of the protocol that are not stable: another schema describes them.
            return None
        name = self.names[method, kind]
        if name not in self.validators:
            part = {"$ref": f"#/$defs/{name}", "$defs": self.whole["$defs"]}
            self.validators[name] = jsonschema.Draft202012Validator(part)
        error = jsonschema.exceptions.best_match(self.validators[name].iter_errors(value))
        return error and f"{name}: {error.json_path}: {error.message[:300]}"

    def problem_of_error(self, error):
        part = {"$ref": "#/$defs/Error", "$defs": self.whole["$defs"]}
        fault = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(part).iter_errors(error))
        return fault and f"Error: {fault.message[:300]}"
