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


class OwnSchema:
    """bowline's own schema, which also describes what it has beyond the protocol."""

    def __init__(self, path):
        self.whole = json.load(open(path))
        self.messages, self.answers, self.validators = {}, {}, {}
        for name, definition in self.whole["$defs"].items():
            method = ((definition.get("properties") or {}).get("method") or {}).get("const")
            if method:
                side = "client" if name.endswith("Command") else "agent"
                self.messages[side, method] = name
                self.answers[method] = name.removesuffix("Command") + "Response"

    def problem(self, name, message):
        if name is None:
            return f"no definition describes {json.dumps(message)[:200]}"
        if name not in self.validators:
            part = {"$ref": f"#/$defs/{name}", "$defs": self.whole["$defs"]}
            self.validators[name] = jsonschema.Draft202012Validator(part)
        error = jsonschema.exceptions.best_match(self.validators[name].iter_errors(message))
        return error and f"own {name}: {error.json_path}: {error.message[:300]}"

    def problems(self, messages):
        """Returns what is wrong with messages of the agent, and with requests that it carried out."""
        found, requests = [], {}
        for side, message in messages:
            if side == "client" and "method" in message:
                requests[json.dumps(message.get("id"))] = message
            if side != "agent":
                continue
            if "method" in message:
                found.append(self.problem(self.messages.get(("agent", message["method"])), message))
            elif "error" in message:
                found.append(self.problem("FailureResponse", message))
            else:
                request = requests.get(json.dumps(message["id"]))
                if request:
                    found.append(self.problem(self.messages.get(("client", request["method"])), request))
                    found.append(self.problem(self.answers.get(request["method"]), message))
        return [problem for problem in found if problem]
