"""A scenario for one extension: what a client sends, how it answers dialogs, and what is looked at afterwards.

The steps have the format of tests/conformance/scenario.py. The model is scripted by the prompts: `prompt("text", …)`
takes the model's answers, each a string or a `call`.
"""
import hashlib
import json

# Comes before all records that tell how the run went on.
SETTLED = {"type": "agent_settled"}
INNER = "INNER PLAN"


def call(name, /, **arguments):
    """A tool call, as an answer of the model."""
    return {"name": name, "args": arguments}


def plan_of(answers):
    return json.dumps([answer(content) for content in answers], ensure_ascii=False)


def inner(text, *answers):
    """A text for the arguments of a call that scripts the model of an agent that the tool starts."""
    return f"{text} {INNER} {plan_of(answers)}"


def answer(content):
    """The model server's form of an answer: a text, a tool call, a list of tool calls, or already that form."""
    if isinstance(content, str):
        return {"text": content}
    if isinstance(content, list):
        return {"tools": content}
    return {"tools": [content]} if "name" in content else content


class Script:
    """Collects the steps of a scenario. Every method returns the script itself."""

    def __init__(
            self, arguments=(), files=None, programs=None, setup="", environment=None, companions=(), differs=""):
        """`differs` says why the agents behave differently throughout."""
        self.arguments = list(arguments)
        self.files = dict(files or {})
        self.setup = setup
        self.environment = dict(environment or {})
        self.companions = list(companions)
        self.differs = differs
        self.steps, self.sent, self.offered, self.shells = [], [], [], []
        self.loose = {}
        self.count = 0
        for name, text in (programs or {}).items():
            self.files[f"bin/{name}"] = text
        if programs:
            self.setup = "chmod +x {HOME}/bin/* && " + (setup or "true")
        # The extensions have started when this is answered.
        self.ask("get_commands")

    def digest(self):
        """Names what is played, so that a run of it can be found again."""
        return hashlib.sha256(json.dumps(vars(self), sort_keys=True).encode()).hexdigest()[:16]

    def send(self, type, **fields):
        """Sends a command without waiting."""
        self.count += 1
        self.steps.append({"send": {"id": f"c{self.count}", "type": type, **fields}})
        return self

    def responded(self, number=None):
        """Waits for the response to a command, by default the newest."""
        return self.until(type="response", id=f"c{number or self.count}")

    def ask(self, type, **fields):
        """Sends a command and waits for its response."""
        return self.send(type, **fields).responded()

    def until(self, **subset):
        self.steps.append({"until": subset})
        return self

    def keep(self, name, path, **subset):
        """Waits for a record and stores a field of it; later steps refer to it as ${name}."""
        self.steps.append({"until": subset, "keep": {name: path}})
        return self

    def settled(self):
        return self.until(**SETTLED)

    def begin(self, text, *answers, **fields):
        """Sends a prompt with the model's answers, without waiting."""
        # Of several plans in a prompt the model takes the last, which has to be this one: another one inside is spelled
        # in such a way that it only appears when the model's answer is decoded.
        plan = plan_of(answers).replace(INNER, "\\u0050LAN")
        return self.send("prompt", message=f"{text} PLAN {plan}" if answers else text, **fields)

    def ask_for(self, name, path, type, **fields):
        """Sends a command and stores a field of its response; later steps refer to it as ${name}."""
        self.send(type, **fields)
        return self.keep(name, path, type="response", id=f"c{self.count}")

    def prompt(self, text, *answers):
        """Sends a prompt and waits until the run has ended."""
        return self.begin(text, *answers).settled()

    def command(self, text):
        """Sends a prompt that an extension handles, and waits for its response."""
        return self.ask("prompt", message=text)

    def dialog(self, method, **response):
        """Waits for a dialog and answers it."""
        self.keep("DIALOG", "id", type="extension_ui_request", method=method)
        self.steps.append({"send": {"type": "extension_ui_response", "id": "${DIALOG}", **response}})
        return self

    def notified(self, **fields):
        return self.until(type="extension_ui_request", method="notify", **fields)

    def sleep(self, seconds):
        self.steps.append({"sleep": seconds})
        return self

    def loosely(self, method, pattern=""):
        """Compares requests of a dialog or display method whose texts match the pattern only as a set: when they come,
        and how often, depends on timing."""
        self.loose[method] = pattern
        return self

    def sees(self, *texts):
        """Checks that these texts reach the model."""
        self.sent += texts
        return self

    def offers(self, *names):
        """Checks that these tools are offered to the model."""
        self.offered += names
        return self

    def shell(self, command):
        """Compares the output of a shell command that runs in the working folder after the agent has ended."""
        self.shells.append(command)
        return self
