"""What a client must know of a dialect, independent of the language it is written in. `schema.py` builds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

Scalar = Literal["string", "integer", "number", "boolean", "null", "any"]


@dataclass(frozen=True)
class Simple:
    """A type of JSON. `any` is every value, `null` included. A number that is unsigned is never below 0."""

    name: Scalar
    unsigned: bool = False


@dataclass(frozen=True)
class Constant:
    """One of a few fixed values, without a name: tags such as `type`, and `success`."""

    values: tuple[str | bool, ...]


@dataclass(frozen=True)
class Named:
    """An entry of `Model.types`."""

    name: str


@dataclass(frozen=True)
class ListOf:
    item: Type


@dataclass(frozen=True)
class MapOf:
    """An object with any keys."""

    value: Type


@dataclass(frozen=True)
class Choice:
    """One of several types without a name. `null` is never among them: see `Nullable`."""

    options: tuple[Type, ...]


@dataclass(frozen=True)
class Nullable:
    inner: Type


Type = Union[Simple, Constant, Named, ListOf, MapOf, Choice, Nullable]


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    required: bool
    doc: str


@dataclass(frozen=True)
class Definition:
    """What every named type has. `sent` and `received` say on which lines it occurs; it may be both."""

    name: str
    doc: str
    sent: bool = field(default=False, kw_only=True)
    received: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Object(Definition):
    fields: tuple[Field, ...]
    # True: other fields carry data and are kept. False: other fields are refused. None: later versions may add some.
    open: bool | None = None


@dataclass(frozen=True)
class Tagged:
    """A member of a union, and the values of the discriminator that stand for it."""

    name: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Union_(Definition):
    members: tuple[Tagged, ...]
    # The field that tells the members apart, or None if no single one does; the tags are empty then.
    discriminator: str | None = None


@dataclass(frozen=True)
class EnumValue:
    value: str
    doc: str


@dataclass(frozen=True)
class Enum(Definition):
    """Texts. One that is received is open: later versions may add values."""

    values: tuple[EnumValue, ...]


@dataclass(frozen=True)
class Alias(Definition):
    type: Type


TypeDefinition = Union[Object, Union_, Enum, Alias]


@dataclass(frozen=True)
class Command:
    """A command: its `type`, its fields without `type` and `id`, and what its success response has as `data`."""

    name: str
    doc: str
    definition: str
    fields: tuple[Field, ...]
    response: str
    data: Type | None


@dataclass(frozen=True)
class Record:
    """A line other than a command or a response: an event, or the answer to one."""

    name: str
    definition: str


@dataclass(frozen=True)
class Model:
    title: str
    types: dict[str, TypeDefinition]
    commands: tuple[Command, ...]
    # Lines of the client that are no commands: they answer a record and get no response.
    answers: tuple[Record, ...]
    events: tuple[Record, ...]
