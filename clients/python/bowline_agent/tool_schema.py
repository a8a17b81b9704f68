"""From the signature of a function to the JSON Schema of its parameters, and from JSON back to its arguments."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import pathlib
import re
import sys
import typing
from typing import Any, Callable, Dict, List, Literal, Mapping, NamedTuple, Optional, Tuple, Union

from .errors import ToolDefinitionError

if sys.version_info >= (3, 10):
    from types import UnionType

    UNIONS: Tuple[Any, ...] = (Union, UnionType)
else:
    UNIONS = (Union,)

SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
LISTS = (list, set, frozenset, tuple, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
# The start of a section in a docstring, and that of one about parameters.
SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):?\s*$")
PARAMETER = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)$")
SPHINX = re.compile(r"^:param\s+(?:[\w\[\], .]+\s+)?(\w+):\s*(.*)$")


class Signature(NamedTuple):
    """What the model is told about a function, and how to call it."""

    description: str
    parameters: Dict[str, Any]
    hints: Dict[str, Any]
    # The parameter that gets the context of the call, if there is one.
    context: Optional[str]


def signature_of(function: Callable[..., Any], context_type: type) -> Signature:
    """Reads type hints and docstring of a function."""
    name = getattr(function, "__name__", repr(function))
    description, documented = docstring_parts(inspect.getdoc(function) or "")
    hints = hints_of(function, name)
    properties: Dict[str, Any] = {}
    required: List[str] = []
    context = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if hint is context_type:
            context = parameter.name
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolDefinitionError(f"{name}: the model cannot fill in {parameter}; give each parameter a name")
        schema = schema_of(hint, f"{name}: the parameter {parameter.name}")
        if parameter.name in documented:
            schema.setdefault("description", documented[parameter.name])
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif is_json(parameter.default):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Signature(description, parameters, hints, context)


def given_signature(function: Callable[..., Any], parameters: Mapping[str, Any], context_type: type) -> Signature:
    """Returns the signature of a function whose schema somebody has written."""
    try:
        hints = hints_of(function, "the function")
    except ToolDefinitionError:
        hints = {}
    context = next((name for name, hint in hints.items() if hint is context_type), None)
    return Signature("", dict(parameters), {}, context)


def hints_of(function: Any, name: str) -> Dict[str, Any]:
    target: Any = function
    if not inspect.isroutine(function):
        target = getattr(function, "__call__", function)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolDefinitionError(f"{name}: its type hints cannot be read by this Python: {error}") from error


def docstring_parts(text: str) -> Tuple[str, Dict[str, str]]:
    """Returns the description, and what is said about each parameter, in Google's style or with `:param`."""
    description: List[str] = []
    documented: Dict[str, str] = {}
    section: Optional[str] = ""
    current: Optional[str] = None
    indent = 0
    for line in text.splitlines():
        stripped = line.strip()
        start = SECTION.match(stripped) if line == stripped else None
        sphinx = SPHINX.match(stripped)
        if start is not None:
            section, current = start.group(1), None
        elif sphinx is not None:
            section, current = "Parameters", sphinx.group(1)
            documented[current], indent = sphinx.group(2), len(line) - len(line.lstrip())
        elif stripped.startswith(":"):
            section, current = None, None
        elif section == "":
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters") and stripped:
            depth = len(line) - len(line.lstrip())
            named = PARAMETER.match(stripped)
            if named is not None and (current is None or depth <= indent):
                current, indent = named.group(1), depth
                documented[current] = named.group(2)
            elif current is not None:
                documented[current] = f"{documented[current]} {stripped}".strip()
    return "\n".join(description).strip(), documented


def schema_of(hint: Any, where: str) -> Dict[str, Any]:
    """Returns the JSON Schema of a type hint."""
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (list, dict, tuple, set):
        origin = hint
    if origin is typing.Annotated:
        schema = schema_of(arguments[0], where)
        texts = [extra for extra in arguments[1:] if isinstance(extra, str)]
        return {**schema, "description": texts[0]} if texts else schema
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in UNIONS:
        return union_schema(arguments, where)
    if origin in LISTS:
        items = [argument for argument in arguments if argument is not Ellipsis]
        return {"type": "array", "items": schema_of(items[0], where)} if items else {"type": "array"}
    if origin in MAPPINGS:
        values = schema_of(arguments[1], where) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values or True}
    if isinstance(hint, type):
        return class_schema(hint, where)
    raise ToolDefinitionError(f"{where} has the type {hint!r}, which has no JSON Schema")


def union_schema(arguments: Tuple[Any, ...], where: str) -> Dict[str, Any]:
    schemas = [schema_of(argument, where) for argument in arguments]
    if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def class_schema(hint: type, where: str) -> Dict[str, Any]:
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if issubclass(hint, pathlib.PurePath):
        return {"type": "string"}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        required = [
            each.name for each in dataclasses.fields(hint)
            if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        ]
        return object_schema(hints, required, where)
    if is_typed_dict(hint):
        hints = typing.get_type_hints(hint)
        return object_schema(hints, sorted(getattr(hint, "__required_keys__", hints)), where)
    raise ToolDefinitionError(
        f"{where} has the type {hint.__name__}; use JSON's types, Literal, an Enum, a dataclass or a TypedDict"
    )


def object_schema(hints: Mapping[str, Any], required: List[str], where: str) -> Dict[str, Any]:
    properties = {name: schema_of(hint, f"{where}, field {name}") for name, hint in hints.items()}
    return {"type": "object", "properties": properties, "required": required}


def arguments_of(signature: Signature, given: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the arguments for the function. What does not fit is an error that the model can act on."""
    properties = signature.parameters["properties"]
    unknown = sorted(set(given) - set(properties))
    if unknown:
        raise ValueError(f"unknown argument {unknown[0]!r}; there are: {', '.join(properties) or 'none'}")
    missing = [name for name in signature.parameters["required"] if name not in given]
    if missing:
        raise ValueError(f"the argument {missing[0]!r} is missing")
    return {name: converted(value, signature.hints.get(name, Any), name) for name, value in given.items()}


def converted(value: Any, hint: Any, name: str) -> Any:
    """Returns a JSON value as the type of the hint."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is inspect.Parameter.empty:
        return value
    if origin is typing.Annotated:
        return converted(value, arguments[0], name)
    if origin is Literal:
        return checked(value, value in arguments, f"one of {', '.join(map(repr, arguments))}", name)
    if origin in UNIONS:
        return of_union(value, arguments, name)
    if hint in SCALARS:
        return scalar(value, hint, name)
    if (origin or hint) in LISTS:
        checked(value, isinstance(value, list), "a list", name)
        item = arguments[0] if arguments else Any
        items = [converted(each, item, f"{name}[{index}]") for index, each in enumerate(value)]
        kind = origin or hint
        return kind(items) if kind in (set, frozenset, tuple) else items
    if (origin or hint) in MAPPINGS:
        checked(value, isinstance(value, dict), "an object", name)
        inner = arguments[1] if len(arguments) == 2 else Any
        return {key: converted(each, inner, f"{name}.{key}") for key, each in value.items()}
    return of_class(value, hint, name)


def scalar(value: Any, hint: type, name: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, float) and value.is_integer():
        return int(value)
    fits = isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool)
    return checked(value, fits, f"of the type {SCALARS[hint]}", name)


def of_union(value: Any, arguments: Tuple[Any, ...], name: str) -> Any:
    problems = []
    for argument in arguments:
        try:
            return converted(value, argument, name)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError("; or ".join(problems))


def of_class(value: Any, hint: type, name: str) -> Any:
    if issubclass(hint, enum.Enum):
        return hint(value)
    if issubclass(hint, pathlib.PurePath):
        return hint(scalar(value, str, name))
    checked(value, isinstance(value, dict), "an object", name)
    hints = typing.get_type_hints(hint, include_extras=True)
    known = {key: converted(each, hints[key], f"{name}.{key}") for key, each in value.items() if key in hints}
    try:
        return hint(**known)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error


def checked(value: Any, fits: bool, expected: str, name: str) -> Any:
    if not fits:
        raise ValueError(f"{name} must be {expected}, not {value!r:.200}")
    return value


def is_typed_dict(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")


def is_json(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))
