"""Writes the types and the commands of the TypeScript client.

Required fields of a command become the parameters of its method, in the order of the schema; optional ones are in an
object at the end, with the options of the call. The types of the dialect omp, for `bowline-agent/omp`, have no methods.
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import schema
from model import Choice, Command, Constant, Definition, Enum, Field, ListOf, MapOf, Model, Named, Nullable, Object
from model import Record, Simple, Type, TypeDefinition, Union_

PACKAGE = "clients/typescript/src"
SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
WIDTH = 120
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null", "any": "unknown"}
# Names that would hide what every program has.
RENAMED = {"Promise": "SandboxPromise"}
# Fields of the options of a call, which no command may have.
CALL_OPTIONS = ("timeoutMs", "signal")
HEAD = "/**\n * {doc}\n *\n * Generated from schema/{dialect}.json: python3 clients/generator typescript\n */\n"


def emit(model: Model) -> dict[str, str]:
    # omp's schema says of some texts that they are not empty; types cannot.
    schema.KNOWN_KEYWORDS.add("minLength")
    omp = schema.read(SCHEMAS / "omp.json")
    return {
        f"{PACKAGE}/protocol.ts": protocol(model, "pi"),
        f"{PACKAGE}/commands.ts": commands(model),
        f"{PACKAGE}/omp_protocol.ts": protocol(omp, "omp"),
    }


# Types


def protocol(model: Model, dialect: str) -> str:
    doc = f"The records of the dialect {dialect} and what they consist of, as they are on the wire."
    parts = [HEAD.format(doc=doc, dialect=dialect)]
    parts += [definition_text(definition) for definition in model.types.values()]
    parts.append(table("CommandMap", "Each command as it is sent.", ((each.name, each.definition) for each in model.commands)))
    data = ((each.name, type_text(each.data) if each.data else "void") for each in model.commands)
    parts.append(table("CommandData", "What the success response to each command has as `data`.", data))
    parts.append(table("EventMap", "Each record that is not a response.", by_name(model.events)))
    parts.append("export type CommandName = keyof CommandMap;\nexport type EventName = keyof EventMap;\n")
    names = "".join(f'  "{command.name}",\n' for command in model.commands)
    parts.append(f"/** The names of all commands. */\nexport const COMMANDS: readonly CommandName[] = [\n{names}];\n")
    return "\n".join(parts)


def by_name(records: tuple[Record, ...]) -> list[tuple[str, str]]:
    return [(record.name, name_of(record.definition)) for record in records]


def table(name: str, doc: str, rows) -> str:
    lines = "".join(f"  {key}: {value};\n" for key, value in rows)
    return f"/** {doc} */\nexport interface {name} {{\n{lines}}}\n"


def definition_text(definition: TypeDefinition) -> str:
    name = name_of(definition.name)
    if isinstance(definition, Object):
        return comment(definition.doc, "") + f"export interface {name} {{\n{object_body(definition)}}}\n"
    if isinstance(definition, Enum):
        docs = [f"`{value.value}`: {value.doc}" for value in definition.values if value.doc]
        doc = "\n\n".join(filter(None, [definition.doc, *docs]))
        values = [json.dumps(value.value) for value in definition.values]
        if is_open(definition):
            # Later versions may add values. This keeps the known ones in what an editor offers.
            values.append("(string & {})")
        return comment(doc, "") + f"export type {name} = {alternatives(values)};\n"
    if isinstance(definition, Union_):
        members = alternatives([name_of(member.name) for member in definition.members])
        return comment(definition.doc, "") + f"export type {name} = {members};\n"
    return comment(definition.doc, "") + f"export type {name} = {type_text(definition.type)};\n"


def is_open(definition: Definition) -> bool:
    return definition.received and not definition.sent


def object_body(definition: Object) -> str:
    lines = [comment(each.doc, "  ") + f"  {field_text(each, definition.sent)};\n" for each in definition.fields]
    if definition.open is True:
        lines.append("  [field: string]: unknown;\n")
    return "".join(lines)


def field_text(field: Field, is_sent: bool) -> str:
    text = type_text(field.type)
    if field.required:
        return f"{field.name}: {text}"
    # A received field that is optional is absent; in a command it can also be null, and a caller may have no value.
    return f"{field.name}?: {text} | undefined" if is_sent else f"{field.name}?: {text}"


def name_of(name: str) -> str:
    return RENAMED.get(name, name)


def type_text(type_: Type) -> str:
    if isinstance(type_, Simple):
        return SIMPLE[type_.name]
    if isinstance(type_, Constant):
        return " | ".join(json.dumps(value) for value in type_.values)
    if isinstance(type_, Named):
        return name_of(type_.name)
    if isinstance(type_, ListOf):
        item = type_text(type_.item)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if isinstance(type_, MapOf):
        return f"Record<string, {type_text(type_.value)}>"
    if isinstance(type_, Nullable):
        return f"{type_text(type_.inner)} | null"
    assert isinstance(type_, Choice)
    return " | ".join(type_text(option) for option in type_.options)


def alternatives(values: list[str]) -> str:
    line = " | ".join(values)
    return line if len(line) < WIDTH - 40 else "".join(f"\n  | {value}" for value in values)


def comment(text: str, indent: str) -> str:
    if not text:
        return ""
    text = text.replace("*/", "*\\/")
    lines = []
    for paragraph in text.split("\n\n"):
        lines += [*textwrap.wrap(paragraph, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False), ""]
    lines.pop()
    if len(lines) == 1 and len(lines[0]) < WIDTH - len(indent) - 7:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines) + f"{indent} */\n"


# Commands


def commands(model: Model) -> str:
    methods = "\n".join(method(command) for command in model.commands)
    names = sorted(set(re.findall(r"\b[A-Z]\w*", re.sub(r"/\*.*?\*/", "", methods, flags=re.S))) - {"CallOptions", "Pick", "Promise"})
    imports = "".join(f"  {name},\n" for name in sorted({*names, "CommandData", "CommandMap", "CommandName"}))
    head = HEAD.format(doc="A method for each command.", dialect="pi")
    return f'''{head}import type {{ CallOptions }} from "./calls.js";
import type {{
{imports}}} from "./protocol.js";

/** The fields of a command that are not its type or its id. */
export type FieldsOf<Name extends CommandName> = Omit<CommandMap[Name], "id" | "type">;

/** The commands. `options` has their optional fields, and how long to wait. */
export abstract class Commands {{
  /** Sends a command and returns the data of its response. */
  abstract command<Name extends CommandName>(
    name: Name,
    fields: FieldsOf<Name>,
    options?: CallOptions,
  ): Promise<CommandData[Name]>;

  /** Sends a command whose optional fields are among the options of the call. */
  #call<Name extends CommandName>(name: Name, fields: object, options: CallOptions): Promise<CommandData[Name]> {{
    const {{ timeoutMs, signal, ...optional }} = options;
    return this.command(name, {{ ...optional, ...fields }} as unknown as FieldsOf<Name>, {{ timeoutMs, signal }});
  }}

{methods}}}
'''


def method(command: Command) -> str:
    required = [each for each in command.fields if each.required]
    optional = [each for each in command.fields if not each.required]
    for each in command.fields:
        if each.name in CALL_OPTIONS:
            raise ValueError(f"{command.name}: the field {each.name} has the name of an option of every call")
    options = "CallOptions"
    if optional:
        picked = " | ".join(json.dumps(each.name) for each in optional)
        options = f"Pick<{command.definition}, {picked}> & CallOptions"
    parameters = [f"{each.name}: {type_text(each.type)}" for each in required] + [f"options: {options} = {{}}"]
    data = type_text(command.data) if command.data else "void"
    fields = "{ " + ", ".join(each.name for each in required) + " }" if required else "{}"
    start = f"  {camel(command.name)}({', '.join(parameters)}): Promise<{data}> {{\n"
    if len(start) > WIDTH:
        lines = "".join(f"    {each},\n" for each in parameters)
        start = f"  {camel(command.name)}(\n{lines}  ): Promise<{data}> {{\n"
    return method_comment(command) + start + f'    return this.#call("{command.name}", {fields}, options);\n  }}\n'


def method_comment(command: Command) -> str:
    described = [(each.name if each.required else f"options.{each.name}", each.doc) for each in command.fields if each.doc]
    if not described:
        return comment(command.doc, "  ")
    lines = textwrap.wrap(command.doc, WIDTH - 5, break_on_hyphens=False) + [""]
    for name, doc in described:
        lines += textwrap.wrap(f"@param {name} {doc}", WIDTH - 5, subsequent_indent="  ", break_on_hyphens=False)
    return "  /**\n" + "".join(f"   * {line}".rstrip() + "\n" for line in lines).replace("*/", "*\\/") + "   */\n"


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found.group(1).upper(), name)
