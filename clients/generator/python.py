"""Writes the types and the commands of the Python client.

Objects become `TypedDict`s, whose required fields are in a base class of their own: `NotRequired` came with
Python 3.11, and the client has no dependencies. Success responses are left out: a command returns their `data`.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace

from model import Alias, Choice, Command, Constant, Enum, Field, ListOf, MapOf, Model, Named, Nullable, Object, Simple
from model import Type, TypeDefinition, Union_

PACKAGE = "clients/python/bowline_agent"
WIDTH = 110
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "any": "Any"}
# The command that starts a run. Its methods return the run and its result instead of the data of the response.
RUN = "prompt"
HEAD = '''"""{doc}

Generated from schema/pi.json: python3 clients/generator
"""
'''


def emit(model: Model) -> dict[str, str]:
    return {f"{PACKAGE}/protocol.py": protocol(model), f"{PACKAGE}/commands.py": commands(model)}


# Types


def protocol(model: Model) -> str:
    left_out = {command.response for command in model.commands} | {"Response", "Output"}
    types = [definition for name, definition in model.types.items() if name not in left_out]
    parts = [
        HEAD.format(doc="The records of the protocol and what they consist of, as they are on the wire.").rstrip("\n"),
        "from typing import Any, Dict, List, Literal, Optional, TypedDict, Union\n",
    ]
    # Aliases are evaluated, and so they come after what they consist of; classes refer to names as texts.
    parts += [definition_text(each) for each in types if isinstance(each, Enum)]
    parts += [object_text(each) for each in types if isinstance(each, Object)]
    parts += [definition_text(each) for each in in_order([each for each in types if isinstance(each, (Union_, Alias))])]
    parts.append(names_text("COMMANDS", "The commands.", (command.name for command in model.commands)))
    parts.append(names_text("EVENTS", "The events.", (event.name for event in model.events)))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def in_order(definitions: list[TypeDefinition]) -> Iterator[TypeDefinition]:
    """Yields each definition after those of the list that it refers to."""
    left = {definition.name: definition for definition in definitions}
    while left:
        for name, definition in left.items():
            if not any(other in left and other != name for other in parts_of(definition)):
                break
        else:
            raise ValueError(f"these types refer to one another: {', '.join(left)}")
        yield left.pop(name)


def parts_of(definition: TypeDefinition) -> Iterator[str]:
    if isinstance(definition, Union_):
        yield from (member.name for member in definition.members)
    elif isinstance(definition, Alias):
        yield from re.findall(r"\w+", type_text(definition.type))


def definition_text(definition: TypeDefinition) -> str:
    if isinstance(definition, Enum):
        body = listed("Literal[", [literal(value.value) for value in definition.values], "]")
        docs = [f"`{value.value}`: {value.doc}" for value in definition.values if value.doc]
    elif isinstance(definition, Union_):
        members = [member.name for member in definition.members]
        body, docs = members[0] if len(members) == 1 else listed("Union[", members, "]"), []
    else:
        assert isinstance(definition, Alias)
        body, docs = type_text(definition.type), []
    text = "\n\n".join(([definition.doc] if definition.doc else []) + docs)
    return f"{definition.name} = {body}\n" + docstring(text, "")


def listed(start: str, items: list[str], end: str) -> str:
    line = start + ", ".join(items) + end
    if len(line) < WIDTH - 40:
        return line
    return start + "\n" + "".join(f"    {item},\n" for item in items) + end


def object_text(definition: Object) -> str:
    required = [each for each in definition.fields if each.required]
    optional = [each for each in definition.fields if not each.required]
    if required and optional:
        base = f"_{definition.name}"
        start = class_text(base, "TypedDict", "", required) + "\n\n"
        return start + class_text(definition.name, f"{base}, total=False", definition.doc, optional)
    bases = "TypedDict, total=False" if optional else "TypedDict"
    return class_text(definition.name, bases, definition.doc, definition.fields)


def class_text(name: str, bases: str, doc: str, fields: Iterable[Field]) -> str:
    body = docstring(doc, "    ")
    for each in fields:
        if not each.name.isidentifier() or keyword.iskeyword(each.name):
            raise ValueError(f"{name}.{each.name} is no name in Python")
        body += f"    {each.name}: {quoted(each.type)}\n" + docstring(each.doc, "    ")
    return f"class {name}({bases}):\n" + (body or "    pass\n")


def type_text(type_: Type) -> str:
    if isinstance(type_, Simple):
        return SIMPLE[type_.name]
    if isinstance(type_, Constant):
        return f"Literal[{', '.join(literal(value) for value in type_.values)}]"
    if isinstance(type_, Named):
        return type_.name
    if isinstance(type_, ListOf):
        return f"List[{type_text(type_.item)}]"
    if isinstance(type_, MapOf):
        return f"Dict[str, {type_text(type_.value)}]"
    if isinstance(type_, Nullable):
        return f"Optional[{type_text(type_.inner)}]"
    assert isinstance(type_, Choice)
    return f"Union[{', '.join(type_text(option) for option in type_.options)}]"


def quoted(type_: Type) -> str:
    """Returns the type for a class: as a text if it has a name, which may be defined only later."""
    text = type_text(type_)
    names = set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", text)))
    known = {"Any", "Dict", "List", "Literal", "Optional", "Union", "None", "True", "False", *SIMPLE.values()}
    return text if names <= known else f'"{text}"'


def literal(value: str | bool) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def names_text(name: str, doc: str, values: Iterable[str]) -> str:
    return f"{name} = (\n" + "".join(f'    "{value}",\n' for value in values) + ")\n" + docstring(doc, "")


def docstring(text: str, indent: str) -> str:
    if not text:
        return ""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    lines = []
    for paragraph in text.split("\n\n"):
        lines += [*textwrap.wrap(paragraph, WIDTH - len(indent) - 6, break_long_words=False, break_on_hyphens=False), ""]
    lines.pop()
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""\n'
    body = "\n".join(f"{indent}{line}".rstrip() for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{body}\n{indent}"""\n'


# Commands


def commands(model: Model) -> str:
    words = words_used(model)
    names = sorted(words & set(model.types))
    typing = {"Any", "Dict", "Optional", "TYPE_CHECKING"} | words & {"List", "Literal", "Optional", "Union"}
    return "\n\n".join([
        HEAD.format(doc="A method for each command.").rstrip("\n"),
        f"from __future__ import annotations\n\nfrom typing import {', '.join(sorted(typing))}, cast\n\n"
        "from .protocol import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
        "from .timeouts import DEFAULT, Timeout\n\n"
        "if TYPE_CHECKING:\n    from .runs import Run, RunResult\n    from .sync import SyncRun\n",
        mixin("AsyncCommands", "The commands, as coroutines.", model.commands, asynchronous=True),
        mixin("SyncCommands", "The commands, as functions that wait for the response.", model.commands,
              asynchronous=False),
    ])


def words_used(model: Model) -> set[str]:
    texts = [type_text(command.data) for command in model.commands if command.data]
    for command in model.commands:
        texts += [type_text(each.type) if each.required else optional_text(each.type) for each in command.fields]
    return set(re.findall(r"\w+", " ".join(texts)))


def mixin(name: str, doc: str, all_commands: tuple[Command, ...], *, asynchronous: bool) -> str:
    start = "async def" if asynchronous else "def"
    run = "Run" if asynchronous else "SyncRun"
    parts = [
        f'class {name}:\n    """{doc}"""\n',
        f"    {start} _command(self, name: str, fields: Dict[str, Any], timeout: Timeout) -> Any:\n"
        "        raise NotImplementedError\n",
        f"    def _start_run(self, fields: Dict[str, Any], timeout: Timeout) -> {run}:\n"
        "        raise NotImplementedError\n",
        f"    {start} _run_to_end(self, fields: Dict[str, Any], timeout: Optional[float]) -> RunResult:\n"
        "        raise NotImplementedError\n",
    ]
    for command in all_commands:
        parts += run_methods(command, asynchronous) if command.name == RUN else [command_method(command, asynchronous)]
    return "\n".join(parts)


def run_methods(command: Command, asynchronous: bool) -> list[str]:
    """Returns the methods that start a run and that wait for its end."""
    first = replace(command, doc=f"{command.doc}\n\nThe message is sent at once. Iterate over the run for its events.")
    second = replace(
        command,
        doc="Sends a message, waits for the end of its run and returns the result.\n\nAfter `timeout` seconds, and if the "
        "caller is cancelled, the run is aborted.",
    )
    run = "Run" if asynchronous else "SyncRun"
    wait = "await " if asynchronous else ""
    return [
        method(first, command.name, "def", run, "timeout: Timeout = DEFAULT", "self._start_run({fields}, timeout)"),
        method(second, f"{command.name}_and_wait", f"{'async ' if asynchronous else ''}def", "RunResult",
               "timeout: Optional[float] = None", wait + "self._run_to_end({fields}, timeout)"),
    ]


def command_method(command: Command, asynchronous: bool) -> str:
    call = f'{"await " if asynchronous else ""}self._command("{command.name}", {{fields}}, timeout)'
    returned = type_text(command.data) if command.data else "None"
    if command.data:
        call = f"cast({returned}, {call})"
    start = "async def" if asynchronous else "def"
    return method(command, command.name, start, returned, "timeout: Timeout = DEFAULT", call)


def method(command: Command, name: str, start: str, returned: str, timeout: str, call: str) -> str:
    """Returns a method with the fields of a command; `{fields}` in its call stands for their values."""
    required = [each for each in command.fields if each.required]
    optional = [each for each in command.fields if not each.required]
    parameters = ["self", *(f"{snake(each.name)}: {type_text(each.type)}" for each in required), "*"]
    parameters += [f"{snake(each.name)}: {optional_text(each.type)} = None" for each in optional]
    parameters.append(timeout)
    line = f"    {start} {name}({', '.join(parameters)}) -> {returned}:\n"
    if len(line) > WIDTH:
        listed_parameters = "".join(f"        {each},\n" for each in parameters)
        line = f"    {start} {name}(\n{listed_parameters}    ) -> {returned}:\n"
    return line + method_doc(command) + method_body(command, call, "" if returned == "None" else "return ")


def method_doc(command: Command) -> str:
    described = [each for each in command.fields if each.doc]
    if not described:
        return docstring(command.doc, " " * 8)
    # A second paragraph, so that the first one does not end the docstring on its line.
    text = docstring(command.doc + "\n\n.", " " * 8).rsplit("\n", 3)[0] + "\n        Args:\n"
    for each in described:
        wrapped = textwrap.wrap(f"{snake(each.name)}: {each.doc}", WIDTH - 16, break_on_hyphens=False)
        text += "".join(f"{' ' * (16 if index else 12)}{line}\n" for index, line in enumerate(wrapped)).replace("\\", "\\\\")
    return text + '        """\n'


def method_body(command: Command, call: str, returning: str) -> str:
    fields = "{" + ", ".join(f'"{each.name}": {snake(each.name)}' for each in command.fields) + "}"
    line = f"        {returning}{call.format(fields=fields)}\n"
    if len(line) <= WIDTH:
        return line
    lines = "".join(f'            "{each.name}": {snake(each.name)},\n' for each in command.fields)
    return f"        fields = {{\n{lines}        }}\n        {returning}{call.format(fields='fields')}\n"


def optional_text(type_: Type) -> str:
    return type_text(type_ if isinstance(type_, Nullable) else Nullable(type_))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
