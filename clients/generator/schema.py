"""Reads a JSON Schema of `bowline schema` into a `Model`.

Types come in the order of the schema. Objects and enumerations that the schema has in place get a name, and those
that are equal share it, so that every language has the same names. What the reader does not understand is an error:
a client must not lose a part of the protocol in silence.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Iterator, get_args

from model import Alias, Choice, Command, Constant, Enum, EnumValue, Field, ListOf, MapOf, Model
from model import Named, Nullable, Object, Record, Scalar, Simple, Tagged, Type, TypeDefinition, Union_

# Names for what has none in the schema. What is not listed is named after the place where it occurs first.
CHOSEN_NAMES = {
    "PromptCommand.images": "ImageInput",
    "PromptCommand.attachments": "AttachmentInput",
    "PromptCommand.streamingBehavior": "StreamingBehavior",
    "SetSteeringModeCommand.mode": "QueueMode",
    "GetTreeCommand.format": "TreeFormat",
    "ListSessionsCommand.scope": "SessionScope",
    "SetLimitsCommand.run": "LimitSettings",
    "UndoCommand.to": "UndoTarget",
    "SetSubagentSubscriptionCommand.level": "SubagentSubscriptionLevel",
    "SetClientCapabilitiesCommand.approvals": "ApprovalStyle",
    "SetHostToolsCommand.tools": "HostTool",
    "SetHostUriSchemesCommand.schemes": "HostUriScheme",
    "HostToolResultAnswer.result": "HostToolOutput",
    "HostToolResultAnswer.result.content": "HostToolContent",
    "FailureResponse.code": "ErrorCode",
    "CompactionStartRecord.reason": "CompactionReason",
    "SummarizationRetryAttemptStartRecord.source": "SummarySource",
    "ApprovalRequestRecord.kind": "ApprovalKind",
    "ApprovalRequestRecord.options": "ApprovalDecision",
    "ApprovalResolvedRecord.by": "ApprovalDecider",
    "Accepted.disposition": "Disposition",
    "ProtectedPathChangedRecord.change": "ProtectedPathChange",
    "HostUriRequestRecord.operation": "HostUriOperation",
    "SlashCommand.source": "SlashCommandSource",
    "NotifyExtensionUiRequestRecord.notifyType": "NotifyType",
    "SetWidgetExtensionUiRequestRecord.widgetPlacement": "WidgetPlacement",
}
# Fields that tell the members of a union apart. Their values stay in place.
TAGS = ("type", "role", "method", "command", "success")
KNOWN_KEYWORDS = {
    "description", "type", "properties", "required", "const", "enum", "$ref", "items", "oneOf", "anyOf", "allOf",
    "additionalProperties", "minimum", "maximum", "pattern",
}


class SchemaError(Exception):
    """The schema has something that this program does not know."""


def read(path: Path) -> Model:
    """Returns the model of the schema in the file."""
    return Reader(json.loads(path.read_text(encoding="utf-8"))).model()


@dataclass
class Reader:
    schema: dict[str, Any]
    types: dict[str, TypeDefinition] = field(default_factory=dict)
    # The shape of something that got a name -> the name.
    lifted: dict[str, str] = field(default_factory=dict)

    def model(self) -> Model:
        definitions: dict[str, Any] = self.schema["$defs"]
        for name, body in definitions.items():
            if set(body) <= {"description", "type", "enum"} and "enum" in body:
                self.lifted[shape(body["enum"])] = name
            elif is_enumeration(body):
                self.lifted[shape([value.value for value in enumeration(body)])] = name
        for name, body in definitions.items():
            self.define(name, body)
        self.tag_unions()
        self.mark_directions()
        return Model(
            title=self.schema["title"],
            types=self.types,
            commands=tuple(self.command(name) for name in self.members("Command")),
            answers=tuple(self.record(name) for name in self.members("ClientAnswer")),
            events=tuple(self.record(name) for name in self.members("Event")),
        )

    # Types

    def define(self, name: str, body: dict[str, Any]) -> None:
        check_keywords(name, body)
        doc = body.get("description", "")
        if is_enumeration(body):
            self.types[name] = Enum(name, doc, tuple(enumeration(body)))
        elif "properties" in body:
            # The place of an object in the order is before the types that it brings along.
            self.types[name] = Object(name, doc, ())
            self.types[name] = Object(name, doc, self.fields(name, body), body.get("additionalProperties"))
        elif is_union(body):
            references = body.get("oneOf") or body["anyOf"]
            self.types[name] = Union_(name, doc, tuple(Tagged(target(option), ()) for option in references))
        else:
            self.types[name] = Alias(name, doc, self.type(name, body))

    def fields(self, owner: str, body: dict[str, Any]) -> tuple[Field, ...]:
        required = set(body.get("required", ()))
        fields = []
        for name, content in body["properties"].items():
            content = {} if content is True else content
            path = f"{owner}.{name}"
            fixed = self.tag(name, content)
            fields.append(Field(name, fixed or self.type(path, content), name in required,
                                content.get("description", "")))
        return tuple(fields)

    @staticmethod
    def tag(name: str, content: dict[str, Any]) -> Constant | None:
        if "const" in content:
            return Constant((content["const"],))
        if name in TAGS and "enum" in content:
            return Constant(tuple(content["enum"]))
        return None

    def type(self, path: str, body: dict[str, Any]) -> Type:
        check_keywords(path, body)
        if "$ref" in body:
            return Named(target(body))
        if "allOf" in body:
            # A reference with a description of its own.
            (only,) = body["allOf"]
            return self.type(path, only)
        # Beside `properties`, `anyOf` says which of them are needed; a client leaves that to the agent.
        if "oneOf" in body or ("anyOf" in body and "properties" not in body):
            options = [self.type(path, option) for option in body.get("oneOf") or body["anyOf"]]
            return combined(options)
        if "enum" in body:
            return self.inline_enumeration(path, body)
        kinds = body.get("type", "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return combined([self.of_kind(path, kind, body) for kind in kinds])

    def of_kind(self, path: str, kind: str, body: dict[str, Any]) -> Type:
        if kind == "array":
            return ListOf(self.type(path, body["items"]))
        if kind == "object" and "properties" in body:
            return self.inline_object(path, body)
        if kind == "object":
            values = body.get("additionalProperties", True)
            return MapOf(Simple("any") if values is True else self.type(path, values))
        for name in get_args(Scalar):
            if kind == name:
                return Simple(name, unsigned=name in ("integer", "number") and body.get("minimum", -1) >= 0)
        raise SchemaError(f"{path}: unknown type {kind}")

    def inline_enumeration(self, path: str, body: dict[str, Any]) -> Type:
        values = [value for value in body["enum"] if value is not None]
        name = self.lift(path, shape(values))
        if name not in self.types and name not in self.schema["$defs"]:
            self.types[name] = Enum(name, "", tuple(EnumValue(value, "") for value in values))
        return Nullable(Named(name)) if None in body["enum"] else Named(name)

    def inline_object(self, path: str, body: dict[str, Any]) -> Type:
        name = self.lift(path, shape({**body, "description": None, "type": "object"}))
        if name not in self.types:
            self.types[name] = Object(name, "", ())
            self.types[name] = Object(name, "", self.fields(path, body), body.get("additionalProperties"))
        return Named(name)

    def lift(self, path: str, content: str) -> str:
        """Returns the name of something that the schema has in place: that of its equal, the chosen or the derived one."""
        if content in self.lifted:
            return self.lifted[content]
        name = CHOSEN_NAMES.get(path) or derived_name(path)
        if name in self.types or name in self.schema["$defs"]:
            raise SchemaError(f"{path}: the name {name} is taken; choose another one in CHOSEN_NAMES")
        self.lifted[content] = name
        return name

    # Unions

    def tag_unions(self) -> None:
        for name, definition in self.types.items():
            if isinstance(definition, Union_):
                self.types[name] = self.tagged(definition)

    def tagged(self, union: Union_) -> Union_:
        names = [member.name for member in union.members]
        for candidate in TAGS:
            tags = [self.tags_of(name, candidate) for name in names]
            flat = [tag for group in tags for tag in group]
            if all(tags) and len(flat) == len(set(flat)):
                return replace(union, members=tuple(map(Tagged, names, tags)), discriminator=candidate)
        return union

    def tags_of(self, name: str, candidate: str) -> tuple[str, ...]:
        """Returns what the field can be in this type; nothing if it can be anything or is not there."""
        definition = self.types[name]
        if isinstance(definition, Union_):
            groups = [self.tags_of(member.name, candidate) for member in definition.members]
            return tuple(dict.fromkeys(tag for group in groups for tag in group)) if all(groups) else ()
        if isinstance(definition, Object):
            for each in definition.fields:
                if each.name == candidate and isinstance(each.type, Constant) and each.required:
                    return tuple(value for value in each.type.values if isinstance(value, str))
        return ()

    # Directions

    def mark_directions(self) -> None:
        for name in self.reachable("Command", "ClientAnswer"):
            self.types[name] = replace(self.types[name], sent=True)
        for name in self.reachable("Output"):
            self.types[name] = replace(self.types[name], received=True)

    def reachable(self, *roots: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(references(self.types[name]))
        return seen

    # Lines

    def members(self, name: str) -> list[str]:
        union = self.types[name]
        assert isinstance(union, Union_), name
        return [member.name for member in union.members]

    def record(self, definition: str) -> Record:
        (name,) = self.tags_of(definition, "type")
        return Record(name, definition)

    def command(self, definition: str) -> Command:
        body = self.types[definition]
        assert isinstance(body, Object), definition
        (name,) = self.tags_of(definition, "type")
        response = self.response_of(name)
        data = next((each.type for each in response.fields if each.name == "data"), None)
        fields = tuple(each for each in body.fields if each.name not in ("id", "type"))
        return Command(name, body.doc, definition, fields, response.name, data)

    def response_of(self, command: str) -> Object:
        for name in self.members("Response"):
            response = self.types[name]
            if isinstance(response, Object) and self.tags_of(name, "command") == (command,):
                return response
        raise SchemaError(f"the command {command} has no response")


def references(definition: TypeDefinition) -> Iterator[str]:
    """Yields the names that a definition refers to."""
    if isinstance(definition, Object):
        for each in definition.fields:
            yield from names_in(each.type)
    elif isinstance(definition, Union_):
        yield from (member.name for member in definition.members)
    elif isinstance(definition, Alias):
        yield from names_in(definition.type)


def names_in(type_: Type) -> Iterator[str]:
    """Yields the names in a type."""
    if isinstance(type_, Named):
        yield type_.name
    elif isinstance(type_, ListOf):
        yield from names_in(type_.item)
    elif isinstance(type_, MapOf):
        yield from names_in(type_.value)
    elif isinstance(type_, Nullable):
        yield from names_in(type_.inner)
    elif isinstance(type_, Choice):
        for option in type_.options:
            yield from names_in(option)


def combined(options: list[Type]) -> Type:
    """Returns the type of a value that has one of these types."""
    null = Simple("null")
    rest = tuple(option for option in options if option != null)
    if not rest:
        return null
    inner = rest[0] if len(rest) == 1 else Choice(rest)
    return Nullable(inner) if len(rest) < len(options) else inner


def is_enumeration(body: dict[str, Any]) -> bool:
    options = body.get("oneOf", ())
    return "enum" in body or bool(options) and all("const" in option or "enum" in option for option in options)


def is_union(body: dict[str, Any]) -> bool:
    options = body.get("oneOf") or body.get("anyOf") or ()
    return bool(options) and all("$ref" in option for option in options)


def enumeration(body: dict[str, Any]) -> Iterator[EnumValue]:
    for option in body.get("oneOf", [body]):
        doc = option.get("description", "") if option is not body else ""
        for value in option["enum"] if "enum" in option else [option["const"]]:
            yield EnumValue(value, doc)




def derived_name(path: str) -> str:
    owner, *places = path.split(".")
    owner = re.sub("(Command|Record|Answer|Response)$", "", owner)
    return owner + "".join(place[:1].upper() + place[1:] for place in places)


def target(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).removeprefix("#/$defs/")


def shape(content: Any) -> str:
    return json.dumps(content, sort_keys=True)


def check_keywords(path: str, body: dict[str, Any]) -> None:
    unknown = set(body) - KNOWN_KEYWORDS
    if unknown:
        raise SchemaError(f"{path}: unknown keywords: {', '.join(sorted(unknown))}")
