"""Random valid commands of a dialect, made from its schema."""
import json
import subprocess

# One black pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="

SHELL_COMMANDS = ["echo hi", "sleep 0.05", "exit 3", "seq 3000", "sleep 0.4", "echo wrong >&2", "true"]

# Commands that end the process or have nothing to do with a session.
LEFT_OUT = {"quit"}

# How often a command is chosen, where it is not once.
WEIGHTS = {"prompt": 12, "steer": 4, "follow_up": 4, "abort": 3, "bash": 3, "new_session": 0.5, "switch_session": 0.5, "delete_session": 0.3}

WORDS = "alpha bravo cable delta ember flint grove haven inlet joust".split()


class Impossible(Exception):
    """A command needs something that is not known yet, such as an entry of the session."""


class Commands:
    def __init__(self, program, dialect, work, random):
        text = subprocess.run([program, "schema", "--dialect", dialect], check=True, stdout=subprocess.PIPE).stdout
        definitions = json.loads(text)["$defs"]
        names = [variant["$ref"].rsplit("/", 1)[1] for variant in definitions["Command"]["oneOf"]]
        self.schemas = {definitions[name]["properties"]["type"]["const"]: definitions[name] for name in names}
        self.names = [name for name in self.schemas if name not in LEFT_OUT]
        self.dialect = dialect
        self.work = work
        self.random = random
        # What responses have shown to exist.
        self.entries = []
        self.sessions = []
        self.count = 0

    def next(self):
        """Returns a command with an id of its own."""
        while True:
            name = self.random.choices(self.names, [WEIGHTS.get(name, 1) for name in self.names])[0]
            try:
                command = self.object(self.schemas[name])
            except Impossible:
                continue
            # Dialects that know a field under two names need one of them.
            if name in ("prompt", "steer", "follow_up") and not {"message", "text"} & command.keys():
                command["message"] = self.message()
            if name == "switch_session" and not {"sessionPath", "session_path", "session_file"} & command.keys():
                continue
            return self.with_id(command)

    def with_id(self, command):
        self.count += 1
        return {**command, "id": f"c{self.count}"}

    def object(self, schema):
        required = schema.get("required", [])
        result = {}
        for key, property in schema.get("properties", {}).items():
            if key != "id" and (key in required or self.random.random() < 0.3):
                result[key] = self.value(key, property)
        return result

    def value(self, key, schema):
        known = self.known_value(key)
        if known is not None:
            return known
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "anyOf" in schema:
            return self.value(key, self.random.choice(schema["anyOf"]))
        kinds = schema.get("type", "null")
        kind = self.random.choice(kinds if isinstance(kinds, list) else [kinds])
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "integer":
            low = schema.get("minimum", 0)
            return self.random.randint(low, min(low + 50, schema.get("maximum", low + 50)))
        if kind == "array":
            return [self.value(key, schema["items"]) for _ in range(self.random.randint(0, 2))]
        if kind == "object":
            return self.object(schema)
        if kind == "string":
            return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 4)))
        return None

    def known_value(self, key):
        """Returns a value for a field whose meaning the schema does not tell."""
        if key in ("message", "text"):
            return self.message()
        if key in ("entryId", "entry_id", "since"):
            return self.one_of(self.entries)
        if key in ("sessionPath", "session_path", "session_file", "parentSession"):
            return self.one_of(self.sessions)
        return {
            "provider": lambda: self.random.choice(["mock", "mock", "unruly"]),
            "modelId": lambda: self.random.choice(["m1", "m2"]),
            "model_id": lambda: self.random.choice(["m1", "m2"]),
            "model": lambda: "mock:" + self.random.choice(["m1", "m2"]),
            "command": lambda: self.random.choice(SHELL_COMMANDS),
            "outputPath": lambda: str(self.work / f"page-{self.random.randint(0, 3)}.html"),
            "data": lambda: PNG,
            "content": lambda: PNG,
            "mimeType": lambda: "image/png",
        }.get(key, lambda: None)()

    def one_of(self, values):
        if not values:
            raise Impossible
        return self.random.choice(values)

    def message(self):
        """Returns a prompt that tells the model server what to answer."""
        if self.random.random() < 0.05:
            return "/unruly now"
        steps = [self.step() for _ in range(self.random.randint(1, 3))]
        return f"PLAN {json.dumps(steps + [{'text': 'done'}])}"

    def step(self):
        word = self.random.choice(WORDS)
        return self.random.choice([
            lambda: {"text": word},
            lambda: {"n": self.random.randint(1, 400), "size": self.random.randint(1, 40)},
            lambda: {"n": 20, "size": 5, "delay": 0.01},
            lambda: {"think": "hm", "text": word},
            lambda: {"tools": [self.tool() for _ in range(self.random.randint(1, 3))]},
            lambda: {"text": word, "tools": [self.tool()]},
            lambda: {"status": self.random.choice([400, 429, 529]), "times": self.random.randint(1, 2), "body": word},
            lambda: {"cut": self.random.randint(0, 3)},
            lambda: {"hang": self.random.randint(0, 2)},
        ])()

    def tool(self):
        name = f"{self.random.choice(WORDS)}.txt"
        return self.random.choice([
            {"name": "bash", "args": {"command": self.random.choice(SHELL_COMMANDS[:5])}},
            {"name": "write", "args": {"path": name, "content": "one\ntwo\n"}},
            {"name": "read", "args": {"path": name}},
            {"name": "edit", "args": {"path": name, "edits": [{"oldText": "one", "newText": "three"}]}},
            {"name": "ls", "args": {}},
            {"name": "unheard-of", "args": {"x": 1}},
            {"name": "unruly", "args": {}},
        ])

    def learn(self, data):
        """Remembers ids of entries and paths of sessions in what a response returns."""
        if isinstance(data, list):
            for part in data:
                self.learn(part)
        elif isinstance(data, dict):
            for key, value in data.items():
                if key in ("entryId", "entry_id", "leafId", "leaf_id") or key == "id" and "parentId" in data:
                    self.remember(self.entries, value)
                elif key in ("sessionFile", "session_file", "path") and str(value).endswith(".jsonl"):
                    self.remember(self.sessions, value)
                else:
                    self.learn(value)

    @staticmethod
    def remember(values, value):
        if isinstance(value, str) and value not in values:
            values.append(value)
            # The old ones belong to sessions that were left.
            del values[:-50]
