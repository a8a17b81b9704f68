"""Write bowline extensions in Python: one file, no dependencies, Python 3.9 or later.

A whole extension::

    from bowline_extension import Context, Extension, ToolCallEvent, ToolCallResult

    ext = Extension("gate")

    @ext.on("tool_call", tool=["bash"])
    def ask_first(event: ToolCallEvent, ctx: Context) -> "ToolCallResult | None":
        if "rm -rf" in event["input"]["command"] and not ctx.ui.confirm("Run it?", event["input"]["command"]):
            return {"block": True, "reason": "The user refused this command"}
        return None

    if __name__ == "__main__":
        ext.run()

Handlers are ordinary functions, which run in threads of their own and may block, or ``async`` functions, which run on
one event loop. An ordinary function gets a :class:`Context`, whose methods wait; an ``async`` one gets an
:class:`AsyncContext`, whose methods are awaited. Both have the same names.

An exception in a handler is the handler's answer: it is reported and ends nothing else. Standard output belongs to the
protocol, so ``print`` goes to standard error, where bowline keeps it as the extension's log.

Events and results have the names and fields of pi's extension API. ``bowline extension check`` tries an extension out.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import contextvars
import inspect
import itertools
import json
import os
import sys
import threading
import traceback
import types
import typing
from pathlib import Path
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Dict,
    Generic,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
    TypedDict,
    Union,
    cast,
    overload,
)

__version__ = "1.0.0"

PROTOCOL = 1
"""The version of the protocol that this file speaks."""

MAX_LINE = 64 * 1024 * 1024
"""The most bytes that a record may have."""

EXIT_GRACE = 2.0
"""How many seconds handlers may take to end once bowline has closed the connection."""

Json = Dict[str, Any]
Message = Dict[str, Any]
"""A message of the conversation in pi's form: ``role``, ``content`` and fields of the role."""
Model = Dict[str, Any]
"""A model: ``provider``, ``id``, ``name``, ``contextWindow`` and more."""

T = TypeVar("T")
E = TypeVar("E")
R = TypeVar("R")
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


# --- Content -------------------------------------------------------------------------------------------------------


class TextContent(TypedDict):
    """A piece of text."""

    type: Literal["text"]
    text: str


class ImageContent(TypedDict):
    """An image, its bytes in base64."""

    type: Literal["image"]
    data: str
    mimeType: str


Content = Union[TextContent, ImageContent]


def text(value: str) -> TextContent:
    """Returns a piece of text for a message or a tool's result."""
    return {"type": "text", "text": value}


def text_of(message: Message) -> str:
    """Returns the text of a message, without thinking, tool calls and images."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


_IMAGE_KINDS: Sequence[Tuple[bytes, str]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def image(source: Union[bytes, str, "os.PathLike[str]"], mime_type: Optional[str] = None) -> ImageContent:
    """Returns an image for a message or a tool's result, from its bytes or from a file.

    The kind is found in the bytes; ``mime_type`` names it where that fails.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    kind = mime_type or _image_kind(data)
    if kind is None:
        raise ValueError("the image is not PNG, JPEG, GIF or WebP: name its mime_type")
    return {"type": "image", "data": base64.b64encode(data).decode("ascii"), "mimeType": kind}


def _image_kind(data: bytes) -> Optional[str]:
    for start, kind in _IMAGE_KINDS:
        if data.startswith(start):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _content(value: Union[str, Content, Sequence[Union[str, Content]]]) -> List[Content]:
    if isinstance(value, str):
        return [text(value)]
    if isinstance(value, Mapping):
        return [value]
    return [text(part) if isinstance(part, str) else part for part in value]


# --- Events and results --------------------------------------------------------------------------------------------
# One class per event, with the fields of pi's API. `…Optional` classes hold the fields that may be absent.


class Event(TypedDict):
    """What every event has."""

    type: str


class ProjectTrustEvent(Event):
    """A project has resources that need trust."""

    cwd: str


class _ProjectTrustOptional(TypedDict, total=False):
    remember: bool


class ProjectTrustResult(_ProjectTrustOptional):
    """The first answer other than "undecided" counts."""

    trusted: Literal["yes", "no", "undecided"]


class ResourcesDiscoverEvent(Event):
    """A session was started or reloaded: further resources can be named."""

    cwd: str
    reason: Literal["startup", "reload"]


class ResourcesDiscoverResult(TypedDict, total=False):
    """Further folders or files of skills and prompt templates."""

    skillPaths: List[str]
    promptPaths: List[str]


class _SessionStartOptional(TypedDict, total=False):
    previousSessionFile: str


class SessionStartEvent(Event, _SessionStartOptional):
    """A session has begun."""

    reason: Literal["startup", "reload", "new", "resume", "fork"]


class SessionInfoChangedEvent(Event, total=False):
    """The session has another name."""

    name: str


class _TargetOptional(TypedDict, total=False):
    targetSessionFile: str


class SessionBeforeSwitchEvent(Event, _TargetOptional):
    """The client is about to start or open another session."""

    reason: Literal["new", "resume"]


class SessionBeforeForkEvent(Event):
    """The client is about to fork or clone the session."""

    entryId: str
    position: Literal["before", "at"]


class CancelResult(TypedDict, total=False):
    """``{"cancel": True}`` prevents the action."""

    cancel: bool


class _SessionBeforeCompactOptional(TypedDict, total=False):
    customInstructions: str


class SessionBeforeCompactEvent(Event, _SessionBeforeCompactOptional):
    """The conversation is about to be summarized."""

    preparation: Json
    reason: Literal["manual", "threshold", "overflow"]
    willRetry: bool


class SessionBeforeCompactResult(CancelResult, total=False):
    """``compaction`` replaces the summary of a model: ``summary``, and ``firstKeptEntryId``, ``details`` if wanted."""

    compaction: Json


class SessionCompactEvent(Event):
    """The conversation was summarized."""

    compactionEntry: Json
    fromExtension: bool
    reason: Literal["manual", "threshold", "overflow"]
    willRetry: bool


class _SessionCompactFailedOptional(TypedDict, total=False):
    errorMessage: str


class SessionCompactFailedEvent(Event, _SessionCompactFailedOptional):
    """The conversation could not be summarized."""

    reason: Literal["manual", "threshold", "overflow"]
    aborted: bool
    willRetry: bool
    fromExtension: bool


class SessionBeforeTreeEvent(Event):
    """The session is about to move to another entry of its tree."""

    preparation: Json


class SessionBeforeTreeResult(CancelResult, total=False):
    """``summary`` (``{"summary": …}``) replaces the summary of a model."""

    summary: Json
    customInstructions: str
    label: str


class _SessionTreeOptional(TypedDict, total=False):
    summaryEntry: Json


class SessionTreeEvent(Event, _SessionTreeOptional):
    """The session has moved to another entry of its tree."""

    newLeafId: Optional[str]
    oldLeafId: Optional[str]
    fromExtension: bool


class SessionShutdownEvent(Event, _TargetOptional):
    """The session ends."""

    reason: Literal["quit", "reload", "new", "resume", "fork"]


class _InputOptional(TypedDict, total=False):
    images: List[ImageContent]
    streamingBehavior: Literal["steer", "followUp"]


class InputEvent(Event, _InputOptional):
    """A message of the user has arrived, before templates and skills are expanded."""

    text: str
    source: Literal["rpc", "extension"]


class _InputResultOptional(TypedDict, total=False):
    text: str
    images: List[ImageContent]


class InputResult(_InputResultOptional):
    """``transform`` replaces the text, ``handled`` ends the matter, ``continue`` changes nothing."""

    action: Literal["continue", "transform", "handled"]


class _BeforeAgentStartOptional(TypedDict, total=False):
    images: List[ImageContent]
    message: Json


class BeforeAgentStartEvent(Event, _BeforeAgentStartOptional):
    """A prompt, or the ``message`` of an extension, is about to start a run."""

    prompt: str
    systemPrompt: str
    systemPromptOptions: Json


class BeforeAgentStartResult(TypedDict, total=False):
    """``message`` follows the user's message; the others change the system prompt of this run."""

    message: "CustomMessage"
    systemPrompt: str
    systemPromptOptions: Json


class _CustomMessageOptional(TypedDict, total=False):
    display: bool
    details: Any


class CustomMessage(_CustomMessageOptional):
    """A message of the extension, which the model reads as one of the user."""

    customType: str
    content: Union[str, List[Content]]


class AgentStartEvent(Event):
    """A run begins."""


class AgentEndEvent(Event):
    """The model has finished; retries and queued messages may follow."""

    messages: List[Message]


class TurnStartEvent(Event):
    """The model is about to be called."""

    turnIndex: int
    timestamp: int


_Boundary = TypedDict("_Boundary", {"entries": List[Json], "continue": bool, "context": Json})


class _TurnEndOptional(TypedDict, total=False):
    messageEntryId: str


class TurnEndEvent(Event, _Boundary, _TurnEndOptional):
    """An answer and the results of its tool calls are complete."""

    turnIndex: int
    message: Message
    toolResults: List[Message]
    toolResultEntryIds: List[str]
    outcome: Literal["completed", "aborted", "error"]


class AgentBeforeSettleEvent(Event, _Boundary):
    """A run is about to end, unless it was aborted."""

    outcome: Literal["completed", "aborted", "error"]


BoundaryResult = TypedDict("BoundaryResult", {"entries": List[Json], "continue": bool}, total=False)
"""Entries to add to the session; ``continue`` calls the model once more."""


class AgentSettledEvent(Event):
    """A run has ended."""

    aborted: bool


class MessageEvent(Event):
    """A message begins or ends."""

    message: Message


class MessageUpdateEvent(Event):
    """More of an answer has arrived."""

    assistantMessageEvent: Json
    usage: Json


class MessageResult(TypedDict, total=False):
    """A message of the same role that replaces the one at its end."""

    message: Message


class ContextEvent(Event):
    """The conversation as it is sent to the model."""

    messages: List[Message]


class ContextWithSystemEvent(ContextEvent):
    """The same after all handlers of ``context``, with the system prompt."""

    systemPrompt: str


class ContextResult(TypedDict, total=False):
    """The conversation to send instead, this time only, or changes to it.

    A change is ``{"op": "remove", "index": 0}``, or ``insert`` or ``replace`` with a ``message``.
    """

    messages: List[Message]
    patch: List[Json]


class HeadersEvent(Event):
    """The headers of a request to a provider."""

    headers: Dict[str, str]


class HeadersResult(TypedDict, total=False):
    """Headers to set; ``None`` removes one."""

    headers: Dict[str, Optional[str]]


class ProviderRequestEvent(Event):
    """The JSON body of a request to a provider. What the handler returns is sent instead."""

    payload: Any


class ProviderResponseEvent(Event):
    """A provider has answered."""

    status: int
    headers: Dict[str, str]


class ProviderStreamEvent(Event):
    """A provider has sent an event of its answer, in the form of its API."""

    provider: str
    api: str
    model: str
    data: Any


class ToolExecutionStartEvent(Event):
    """A tool call begins."""

    toolCallId: str
    toolName: str
    args: Json


class ToolExecutionUpdateEvent(ToolExecutionStartEvent):
    """A tool call has made progress."""

    partialResult: Json


class ToolExecutionEndEvent(Event):
    """A tool call has ended."""

    durationMs: int
    toolCallId: str
    toolName: str
    result: Json
    isError: bool


class ToolCallEvent(Event):
    """A tool is about to run. An exception in the handler blocks the call."""

    toolName: str
    toolCallId: str
    input: Json


class ToolCallResult(TypedDict, total=False):
    """``block`` prevents the call and tells the model the reason; ``input`` replaces the arguments."""

    block: bool
    reason: str
    terminate: bool
    input: Json


class _ToolResultOptional(TypedDict, total=False):
    details: Any
    structuredContent: Any
    usage: Json


class ToolResultEvent(Event, _ToolResultOptional):
    """A tool has run; its result is not recorded yet."""

    toolName: str
    toolCallId: str
    input: Json
    content: List[Content]
    isError: bool


class ToolResultResult(TypedDict, total=False):
    """What the result becomes; what is absent stays."""

    content: List[Content]
    details: Any
    structuredContent: Any
    isError: bool
    usage: Json


class UserBashEvent(Event):
    """The user runs a shell command."""

    command: str
    excludeFromContext: bool
    cwd: str


class UserBashResult(TypedDict, total=False):
    """The result of the command, which is then not run: ``output``, ``exitCode``, ``cancelled``, ``truncated``."""

    result: Json


class _ModelSelectOptional(TypedDict, total=False):
    previousModel: Model


class ModelSelectEvent(Event, _ModelSelectOptional):
    """Another model was chosen."""

    model: Model
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelSelectEvent(Event):
    """Another thinking level was chosen."""

    level: str
    previousLevel: str


class UiPromptEvent(Event):
    """A dialog was opened or closed."""

    title: str
    reason: Literal["ui_prompt"]
    kind: Literal["select", "confirm", "input", "editor"]


class _UiNotifyOptional(TypedDict, total=False):
    level: Literal["info", "warning", "error"]


class UiNotifyEvent(Event, _UiNotifyOptional):
    """An extension shows a message to the user. Not in pi."""

    message: str


# What each hook can do: "decides" hooks take results, "observes" hooks only hold up what follows, and "streams" hooks
# are never waited for. A test compares this table with the engine's.
HOOKS: Dict[str, str] = {
    "project_trust": "decides",
    "resources_discover": "decides",
    "session_start": "observes",
    "session_info_changed": "observes",
    "session_before_switch": "decides",
    "session_before_fork": "decides",
    "session_before_compact": "decides",
    "session_compact": "observes",
    "session_compact_failed": "observes",
    "session_before_tree": "decides",
    "session_tree": "observes",
    "session_shutdown": "observes",
    "input": "decides",
    "before_agent_start": "decides",
    "agent_start": "observes",
    "agent_end": "observes",
    "turn_start": "observes",
    "turn_end": "decides",
    "agent_before_settle": "decides",
    "agent_settled": "observes",
    "message_start": "observes",
    "message_update": "streams",
    "message_end": "decides",
    "context": "decides",
    "context_with_system": "decides",
    "before_provider_headers": "decides",
    "before_provider_request": "decides",
    "after_provider_response": "observes",
    "provider_stream_event": "streams",
    "tool_execution_start": "observes",
    "tool_execution_update": "streams",
    "tool_execution_end": "observes",
    "tool_call": "decides",
    "tool_result": "decides",
    "user_bash": "decides",
    "model_select": "observes",
    "thinking_level_select": "observes",
    "ui_prompt_start": "streams",
    "ui_prompt_end": "streams",
    "ui_notify": "streams",
}


# --- Errors --------------------------------------------------------------------------------------------------------


class BowlineError(Exception):
    """Base of the errors that this module raises."""


class RequestError(BowlineError):
    """bowline refused a request; the message says why."""


class ProviderError(BowlineError):
    """Raised by a provider whose answer fails. ``kind`` decides whether bowline asks again."""

    def __init__(
        self,
        message: str,
        *,
        kind: Optional[
            Literal["auth", "not_found", "rate_limit", "overloaded", "quota", "network", "timeout", "context", "refused"]
        ] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


class Cancelled(BowlineError):
    """What the handler works for was cancelled: aborted, out of time, or its session has ended."""


# --- Parameters of tools from type hints ---------------------------------------------------------------------------

_NAMES_OF_TYPES: Dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_UNIONS = (Union, getattr(types, "UnionType", Union))


def _schema(hint: Any, where: str) -> Json:
    """Returns the JSON Schema of a type hint."""
    if hint is Any:
        return {}
    if hint in _NAMES_OF_TYPES:
        return {"type": _NAMES_OF_TYPES[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__metadata__"):
        schema = _schema(arguments[0], where)
        for about in hint.__metadata__:
            schema.update({"description": about} if isinstance(about, str) else cast(Json, about))
        return schema
    if origin is Literal:
        return {"enum": list(arguments), **_common_type(arguments)}
    if origin in _UNIONS:
        return {"anyOf": [_schema(argument, where) for argument in arguments]}
    if typing.is_typeddict(hint) if hasattr(typing, "is_typeddict") else hasattr(hint, "__required_keys__"):
        return _object_schema(typing.get_type_hints(hint, include_extras=True), hint.__required_keys__, where)
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return {"type": "object", **({"additionalProperties": _schema(arguments[1], where)} if arguments else {})}
    if isinstance(kind, type) and issubclass(kind, Sequence) and kind is not bytes:
        return {"type": "array", **({"items": _schema(arguments[0], where)} if arguments else {})}
    raise TypeError(
        f"{where}: {hint!r} has no JSON Schema here. Use str, int, float, bool, list, dict, Literal, Optional, Union, "
        "TypedDict or Annotated of these, or pass parameters= to the tool."
    )


def _common_type(values: Tuple[Any, ...]) -> Json:
    kinds = {type(value) for value in values}
    return {"type": _NAMES_OF_TYPES[kinds.pop()]} if len(kinds) == 1 else {}


def _object_schema(hints: Mapping[str, Any], required: Iterable[str], where: str) -> Json:
    properties = {name: _schema(hint, f"{where}.{name}") for name, hint in hints.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name in set(required)],
        "additionalProperties": False,
    }


def _parameters_of(function: Callable[..., Any], name: str) -> Tuple[Json, Optional[str]]:
    """Returns the schema of a function's parameters, and the name of the one that takes the context."""
    hints = typing.get_type_hints(function, include_extras=True)
    taken: Dict[str, Any] = {}
    required: List[str] = []
    defaults: Dict[str, Any] = {}
    context: Optional[str] = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if hint in (Context, AsyncContext) or (hint is Any and parameter.name == "ctx"):
            context = parameter.name
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"tool {name}: parameter {parameter.name} cannot be passed by name")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            defaults[parameter.name] = parameter.default
            hint = _without_none(hint) if parameter.default is None else hint
        taken[parameter.name] = hint
    schema = _object_schema(taken, required, f"tool {name}")
    for argument, value in defaults.items():
        if value is not None:
            schema["properties"][argument].setdefault("default", value)
    return schema, context


def _without_none(hint: Any) -> Any:
    if hasattr(hint, "__metadata__"):
        inner = _without_none(typing.get_args(hint)[0])
        return typing.Annotated[(inner, *hint.__metadata__)]  # type: ignore[return-value, unused-ignore]
    if typing.get_origin(hint) not in _UNIONS:
        return hint
    rest = tuple(argument for argument in typing.get_args(hint) if argument is not type(None))
    return Union[rest] if rest else Any


def _first_line(documentation: Optional[str]) -> str:
    return inspect.cleandoc(documentation or "").partition("\n")[0].strip()


# --- What an extension registers -----------------------------------------------------------------------------------


class ToolResult:
    """What a tool returns when text alone is not enough.

    ``details`` is data for clients, which the model does not see. ``terminate`` ends the run if every tool call of the
    answer asks for it. ``usage`` is what the tool spent on models, as ``ctx.model.complete`` returns it; it counts in the
    statistics of the session.
    """

    def __init__(
        self,
        content: Union[str, Content, Sequence[Union[str, Content]]] = "",
        *,
        details: Any = None,
        is_error: bool = False,
        terminate: bool = False,
        usage: Optional[Json] = None,
    ) -> None:
        self.content = _content(content)
        self.details = details
        self.is_error = is_error
        self.terminate = terminate
        self.usage = usage

    def to_json(self) -> Json:
        """Returns the result as it is sent."""
        record: Json = {"content": self.content}
        if self.details is not None:
            record["details"] = self.details
        if self.is_error:
            record["isError"] = True
        if self.terminate:
            record["terminate"] = True
        if self.usage is not None:
            record["usage"] = self.usage
        return record


def _tool_result(value: Any) -> Json:
    """Returns the wire form of whatever a tool returned."""
    if isinstance(value, ToolResult):
        return value.to_json()
    if value is None:
        return {"content": []}
    if isinstance(value, str):
        return {"content": _content(value)}
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return dict(value)
    if isinstance(value, Mapping) and value.get("type") in ("text", "image"):
        return {"content": [value]}
    if isinstance(value, (list, tuple)) and value and all(_is_content(part) for part in value):
        return {"content": _content(cast(Sequence[Union[str, Content]], value))}
    return {"content": _content(json.dumps(value, ensure_ascii=False, indent=2))}


def _is_content(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in ("text", "image"))


class Flag(Generic[T]):
    """A flag of bowline's command line. Its value is that of the command line from ``session_start`` on."""

    def __init__(self, name: str, kind: str, description: str, default: T) -> None:
        self.name = name
        self.kind = kind
        self.description = description
        self.default = default
        self.value: T = default

    def to_json(self) -> Json:
        """Returns the flag as it is registered."""
        record: Json = {"name": self.name, "type": self.kind, "description": self.description}
        if self.default is not None:
            record["default"] = self.default
        return record


class _Handler:
    def __init__(self, event: str, function: Callable[..., Any], tools: Optional[List[str]], waits: bool) -> None:
        self.event = event
        self.function = function
        self.tools = tools
        self.waits = waits

    def takes(self, event: Mapping[str, Any]) -> bool:
        return self.tools is None or event.get("toolName") in self.tools


class _Tool:
    def __init__(self, definition: Json, function: Callable[..., Any], context: Optional[str], by_name: bool) -> None:
        self.definition = definition
        self.function = function
        self.context = context
        self.by_name = by_name

    def arguments(self, given: Json, ctx: Any) -> Tuple[Tuple[Any, ...], Json]:
        if not self.by_name:
            return (given, ctx), {}
        properties = self.definition["parameters"]["properties"]
        unknown = [name for name in given if name not in properties]
        missing = [name for name in self.definition["parameters"]["required"] if name not in given]
        if unknown or missing:
            problems = [f"unknown argument {name}" for name in unknown]
            problems += [f"missing argument {name}" for name in missing]
            raise BowlineError(f"tool {self.definition['name']}: {', '.join(problems)}")
        named = dict(given)
        if self.context is not None:
            named[self.context] = ctx
        return (), named


class _Command:
    def __init__(self, definition: Json, function: Callable[..., Any], complete: Optional[Callable[..., Any]]) -> None:
        self.definition = definition
        self.function = function
        self.complete = complete


class _Provider:
    def __init__(
        self, definition: Json, function: Optional[Callable[..., Any]], refresh: Optional[Callable[..., Any]]
    ) -> None:
        self.definition = definition
        self.function = function
        self.refresh = refresh


# --- Answers of providers ------------------------------------------------------------------------------------------


class ProviderRequest(TypedDict):
    """What a provider is to answer."""

    model: Model
    systemPrompt: str
    messages: List[Message]
    tools: List[Json]
    thinkingLevel: str
    sessionId: str


class Thinking:
    """A piece of thinking in a provider's answer. ``signature`` ends the block that it belongs to."""

    def __init__(self, thinking: str, signature: Optional[str] = None) -> None:
        self.thinking = thinking
        self.signature = signature


class ToolUse:
    """A tool call in a provider's answer."""

    def __init__(self, call_id: str, name: str, arguments: Json) -> None:
        self.call_id = call_id
        self.name = name
        self.arguments = arguments


class Usage:
    """The tokens of a provider's answer so far. Replaces what was said before."""

    def __init__(self, *, input: int = 0, output: int = 0, cache_read: int = 0, cache_write: int = 0) -> None:
        self.input = input
        self.output = output
        self.cache_read = cache_read
        self.cache_write = cache_write


class Stop:
    """Why a provider's answer ended. Without it: "toolUse" if it calls tools, otherwise "stop"."""

    def __init__(self, reason: Literal["stop", "length", "toolUse"]) -> None:
        self.reason = reason


Piece = Union[str, Thinking, ToolUse, Usage, Stop]
"""A piece of a provider's answer; a ``str`` is text."""


class _Answer:
    """Numbers the blocks of a provider's answer and marks where they begin and end."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self._send = send
        self._open: Optional[str] = None
        self._index = -1
        self._stop: Optional[str] = None
        send({"type": "start"})

    def add(self, piece: Piece) -> None:
        if isinstance(piece, str):
            self._block("text")
            self._send({"type": "text_delta", "contentIndex": self._index, "delta": piece})
        elif isinstance(piece, Thinking):
            self._block("thinking")
            self._send({"type": "thinking_delta", "contentIndex": self._index, "delta": piece.thinking})
            if piece.signature is not None:
                self._close(piece.signature)
        elif isinstance(piece, ToolUse):
            self._close()
            self._stop = self._stop or "toolUse"
            self._block("toolcall", id=piece.call_id, toolName=piece.name)
            arguments = json.dumps(piece.arguments, ensure_ascii=False)
            self._send({"type": "toolcall_delta", "contentIndex": self._index, "delta": arguments})
            self._close()
        elif isinstance(piece, Usage):
            tokens = {"input": piece.input, "output": piece.output}
            tokens.update({"cacheRead": piece.cache_read, "cacheWrite": piece.cache_write})
            # bowline computes the cost from the prices of the model.
            cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
            usage = {**tokens, "totalTokens": sum(tokens.values()), "cost": cost}
            self._send({"type": "usage", "usage": usage})
        elif isinstance(piece, Stop):
            self._stop = piece.reason
        else:
            kinds = "str, Thinking, ToolUse, Usage and Stop"
            raise TypeError(f"a provider yields {kinds}, not {type(piece).__name__}")

    def end(self) -> Json:
        self._close()
        return {"stopReason": self._stop or "stop"}

    def _block(self, kind: str, **fields: Any) -> None:
        if self._open == kind:
            return
        self._close()
        self._open = kind
        self._index += 1
        self._send({"type": f"{kind}_start", "contentIndex": self._index, **fields})

    def _close(self, signature: Optional[str] = None) -> None:
        if self._open is not None:
            self._send({"type": f"{self._open}_end", "contentIndex": self._index, **_given(signature=signature)})
            self._open = None


# --- The connection ------------------------------------------------------------------------------------------------


def _encode(record: Json) -> bytes:
    # Half of a surrogate pair cannot be written as UTF-8; bowline could not read it either.
    line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
    if len(line) > MAX_LINE:
        raise BowlineError(f"a record of {len(line)} bytes is larger than {MAX_LINE}")
    return line + b"\n"


class _Wire:
    """Reads and writes records. Writing works from any thread and blocks while bowline does not read."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._lock = threading.Lock()

    def write(self, record: Json) -> None:
        line = memoryview(_encode(record))
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._target, line) :]
            except OSError:
                # bowline has gone. The end of its records, which follows, ends this process.
                pass

    def lines(self) -> Iterator[bytes]:
        parts: List[bytes] = []
        while True:
            try:
                data = os.read(self._source, 1 << 16)
            except OSError:
                return
            if not data:
                return
            *complete, rest = data.split(b"\n")
            for piece in complete:
                parts.append(piece)
                yield b"".join(parts)
                parts.clear()
            parts.append(rest)


class _Call:
    """Something that bowline waits for: a hook, a tool, a command, a completion, a provider's answer."""

    def __init__(self, identity: Optional[str]) -> None:
        self.identity = identity
        self.is_cancelled = threading.Event()
        self.reason: Optional[str] = None
        self.task: Optional["asyncio.Task[None]"] = None
        # The open requests of a handler in a thread, with what they become when the call is cancelled.
        self.requests: Dict["asyncio.Future[Any]", Any] = {}
        self.in_thread = 0
        self.callbacks: List[Callable[[], None]] = []

    def cancel(self, reason: str) -> None:
        """Must be called on the event loop."""
        if self.is_cancelled.is_set():
            return
        self.reason = reason
        self.is_cancelled.set()
        for callback in self.callbacks:
            callback()
        if self.in_thread == 0:
            if self.task is not None:
                self.task.cancel()
            return
        for future, default in list(self.requests.items()):
            if future.done():
                continue
            if default is _NO_DEFAULT:
                future.set_exception(Cancelled(f"cancelled ({reason})"))
            else:
                future.set_result(default)


_NO_DEFAULT: Any = object()
_END: Any = object()


class _Runtime:
    """The running extension: its connection, what it is doing, and what it knows of the session."""

    def __init__(self, extension: "Extension", wire: _Wire, loop: asyncio.AbstractEventLoop) -> None:
        self.extension = extension
        self.wire = wire
        self.loop = loop
        self.thread = threading.get_ident()
        self.state: Json = {}
        self.init: Json = {}
        self.entries: List[Json] = []
        self.calls: Dict[str, _Call] = {}
        self.tasks: Set["asyncio.Task[None]"] = set()
        self.requests: Dict[str, "asyncio.Future[Any]"] = {}
        self.streams: Dict[str, "asyncio.Queue[Any]"] = {}
        self.numbers = itertools.count(1)
        self.ended = asyncio.Event()
        self.grace = EXIT_GRACE

    # What is sent.

    def send(self, kind: str, record: Json) -> None:
        self.wire.write({"type": kind, **record})

    def notify(self, method: str, params: Json) -> None:
        self.send("notify", {"method": method, "params": params})

    async def request(
        self,
        call: _Call,
        method: str,
        params: Json,
        default: Any = _NO_DEFAULT,
        chunks: Optional["asyncio.Queue[Any]"] = None,
    ) -> Any:
        if call.is_cancelled.is_set() and call.in_thread:
            if default is _NO_DEFAULT:
                raise Cancelled(f"cancelled ({call.reason})")
            return default
        identity = f"x{next(self.numbers)}"
        future: "asyncio.Future[Any]" = self.loop.create_future()
        self.requests[identity] = future
        if chunks is not None:
            self.streams[identity] = chunks
        if call.in_thread:
            call.requests[future] = default
        try:
            self.send("request", {"id": identity, "method": method, "params": params})
            return await future
        finally:
            if self.requests.pop(identity, None) is not None:
                # Nobody waits for the response any longer.
                self.send("cancel", {"id": identity})
            self.streams.pop(identity, None)
            call.requests.pop(future, None)

    # What arrives.

    def read(self) -> None:
        """Runs in a thread of its own until the connection ends."""
        for line in self.wire.lines():
            if line.strip():
                self._call_soon(self.handle_line, line)
        self._call_soon(self.ended.set)

    def _call_soon(self, function: Callable[..., Any], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # The loop has been closed.
            self.loop.call_soon_threadsafe(function, *arguments)

    def handle_line(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            kind = record["type"]
        except (ValueError, TypeError, KeyError) as error:
            self.report("protocol", BowlineError(f"bowline sent a line that is no record: {error}"))
            return
        handler = getattr(self, f"_on_{kind}", None)
        if handler is not None:
            handler(record)

    def _on_init(self, record: Json) -> None:
        self.init = record
        session = record.get("session") or {}
        names = {"id": "sessionId", "file": "sessionFile", "cwd": "cwd"}
        self.state.update({names[key]: value for key, value in session.items() if key in names})
        self.state.update(record.get("state") or {})
        self.extension._take_flags(record.get("flags") or {})
        self.send("registered", self.extension._registration())

    def _on_state(self, record: Json) -> None:
        self.state.update(record.get("patch") or {})
        if isinstance(self.state.get("flags"), dict):
            self.extension._take_flags(self.state["flags"])
        self.entries.extend(record.get("entries") or [])

    def _on_response(self, record: Json) -> None:
        future = self.requests.pop(record.get("id", ""), None)
        if future is None or future.done():
            return
        error = record.get("error")
        if error is not None:
            message = error.get("message") if isinstance(error, dict) else error
            future.set_exception(RequestError(str(message)))
        else:
            future.set_result(record.get("result"))

    def _on_chunk(self, record: Json) -> None:
        chunks = self.streams.get(record.get("id", ""))
        if chunks is not None:
            chunks.put_nowait(record.get("event"))

    def _on_cancel(self, record: Json) -> None:
        call = self.calls.get(record.get("id", ""))
        if call is not None:
            call.cancel(str(record.get("reason", "abort")))

    def _on_shutdown(self, record: Json) -> None:
        self.grace = record.get("deadlineMs", EXIT_GRACE * 1000) / 1000
        self.ended.set()

    def _on_hook(self, record: Json) -> None:
        self._start(record, lambda call: self._run_hooks(call, record["event"]))

    def _on_event(self, record: Json) -> None:
        self._start({}, lambda call: self._run_hooks(call, record["event"]))

    def _on_tool(self, record: Json) -> None:
        self._start(record, lambda call: self._run_tool(call, record))

    def _on_command(self, record: Json) -> None:
        self._start(record, lambda call: self._run_command(call, record))

    def _on_complete(self, record: Json) -> None:
        self._start(record, lambda call: self._run_completion(call, record))

    def _on_provider(self, record: Json) -> None:
        self._start(record, lambda call: self._run_provider(call, record))

    def _start(self, record: Json, work: Callable[[_Call], Awaitable[Any]]) -> None:
        call = _Call(record.get("id"))
        if call.identity is not None:
            self.calls[call.identity] = call
        task = self.loop.create_task(self._carry_out(call, work))
        call.task = task
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _carry_out(self, call: _Call, work: Callable[[_Call], Awaitable[Any]]) -> None:
        answer: Json = {"id": call.identity}
        try:
            result = await work(call)
            if result is not None:
                answer["result"] = result
        except (asyncio.CancelledError, Cancelled):
            answer["error"] = {"message": f"cancelled ({call.reason or 'by the handler'})"}
        except BaseException as error:
            if call.identity is None:
                self.report("event", error)
            answer["error"] = self.describe(error)
        if call.identity is None:
            return
        self.calls.pop(call.identity, None)
        try:
            self.send("result", answer)
        except (TypeError, ValueError, BowlineError, RecursionError) as error:
            message = f"the result cannot be sent as JSON: {error}"
            self.send("result", {"id": call.identity, "error": {"message": message}})
        call.identity = None

    def describe(self, error: BaseException) -> Json:
        print("".join(traceback.format_exception(type(error), error, error.__traceback__)), file=sys.stderr, end="")
        about: Json = {"message": str(error) or type(error).__name__}
        if isinstance(error, ProviderError):
            wait = None if error.retry_after is None else round(error.retry_after * 1000)
            about.update(_given(kind=error.kind, retryAfterMs=wait))
        return about

    def report(self, where: str, error: BaseException) -> None:
        """Reports an error that answers nothing."""
        self.send("error", {"where": where, **self.describe(error)})

    # How handlers run.

    async def invoke(
        self, call: _Call, function: Callable[..., Any], arguments: Callable[[Any], Tuple[Any, Json]]
    ) -> Any:
        """Calls a function on the loop if it is async, otherwise in a thread."""
        if inspect.iscoroutinefunction(function):
            positional, named = arguments(AsyncContext(self, call))
            return await function(*positional, **named)
        positional, named = arguments(Context(self, call))
        return await self.in_thread(call, lambda: function(*positional, **named))

    async def in_thread(self, call: _Call, function: Callable[[], T]) -> T:
        if call.is_cancelled.is_set():
            raise Cancelled(f"cancelled ({call.reason})")
        future: "asyncio.Future[T]" = self.loop.create_future()
        context = contextvars.copy_context()

        def finish(set_outcome: Callable[[Any], None], outcome: Any) -> None:
            if not future.done():
                set_outcome(outcome)

        def work() -> None:
            try:
                result = context.run(function)
            except BaseException as error:
                # A future takes no StopIteration.
                outcome = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
                self._call_soon(finish, future.set_exception, outcome)
            else:
                self._call_soon(finish, future.set_result, result)

        call.in_thread += 1
        try:
            threading.Thread(target=work, daemon=True).start()
            return await future
        finally:
            call.in_thread -= 1

    async def _run_hooks(self, call: _Call, event: Json) -> Any:
        if event.get("type") == "bus":
            for function in self.extension._channels.get(event.get("channel", ""), []):
                await self.invoke(call, function, lambda ctx: ((event.get("data"), ctx), {}))
            return None
        chain = _Chain(event)
        for handler in self.extension._handlers_of(event):
            before = chain.before()
            result = await self.invoke(call, handler.function, lambda ctx: ((event, ctx), {}))
            if chain.add(result, before):
                break
        return chain.result

    async def _run_tool(self, call: _Call, record: Json) -> Json:
        tool = self.extension._tools.get(record["name"])
        if tool is None:
            raise BowlineError(f"there is no tool named {record['name']}")
        given = record.get("args") or {}
        return _tool_result(await self.invoke(call, tool.function, lambda ctx: tool.arguments(given, ctx)))

    async def _run_command(self, call: _Call, record: Json) -> Any:
        command = self.extension._commands.get(record["name"])
        if command is None:
            raise BowlineError(f"there is no command named {record['name']}")
        return await self.invoke(call, command.function, lambda ctx: ((record.get("args") or "", ctx), {}))

    async def _run_completion(self, call: _Call, record: Json) -> Any:
        command = self.extension._commands.get(record["command"])
        if command is None or command.complete is None:
            return []
        return list(await self.invoke(call, command.complete, lambda ctx: ((record.get("prefix") or "", ctx), {})))

    async def _run_provider(self, call: _Call, record: Json) -> Any:
        provider = self.extension._providers.get(record["provider"])
        if provider is None:
            raise BowlineError(f"there is no provider named {record['provider']}")
        if record["op"] == "refresh":
            if provider.refresh is None:
                return provider.definition["models"]
            return await self.invoke(call, provider.refresh, lambda ctx: ((ctx,), {}))
        if record["op"] != "stream" or provider.function is None:
            raise BowlineError(f"provider {record['provider']} has no {record['op']}")
        answer = _Answer(lambda chunk: self.send("chunk", {"id": call.identity, "event": chunk}))
        function, request = provider.function, record.get("request")
        if inspect.isasyncgenfunction(function):
            async for piece in function(request, AsyncContext(self, call)):
                answer.add(piece)
        else:
            context = Context(self, call)

            def work() -> None:
                for piece in function(request, context):
                    answer.add(piece)
                    context.raise_if_cancelled()

            await self.in_thread(call, work)
        return answer.end()


class _Chain:
    """The results of several handlers of one event. Each handler sees what the ones before it changed."""

    _JOINED = ("skillPaths", "promptPaths", "entries")

    def __init__(self, event: Json) -> None:
        self.event = event
        self.kind = event.get("type", "")
        self.result: Any = None
        # pi's handlers edit these fields in place, so that works here too.
        self.edited = {"tool_call": "input", "before_provider_headers": "headers"}.get(self.kind)

    def before(self) -> Optional[str]:
        """Returns what an edit in place is recognized by."""
        return None if self.edited is None else json.dumps(self.event.get(self.edited), sort_keys=True)

    def add(self, result: Any, before: Optional[str]) -> bool:
        """Adds a handler's result. Returns whether the remaining handlers are skipped."""
        if self.edited is not None and self.before() != before:
            result = self._with_edit(result, json.loads(before or "null"))
        if result is None:
            return False
        if self.kind == "before_provider_request":
            self.result = self.event["payload"] = result
            return False
        if not isinstance(result, Mapping):
            raise TypeError(f"a handler of {self.kind} returns a dict or None, not {type(result).__name__}")
        if HOOKS.get(self.kind, "decides") != "decides":
            raise TypeError(f"a handler of {self.kind} returns nothing: its result has no effect")
        return self._merge(result)

    def _with_edit(self, result: Any, before: Any) -> Json:
        edited = self.event[cast(str, self.edited)]
        if self.edited == "headers":
            edited = {**{name: None for name in before if name not in edited}, **edited}
        return {cast(str, self.edited): edited, **(result or {})}

    def _merge(self, result: Mapping[str, Any]) -> bool:
        if self.kind == "input" and result.get("action") == "continue":
            return False
        combined: Json = dict(self.result or {})
        if "message" in combined and "message" in result and self.kind == "before_agent_start":
            raise BowlineError("two handlers of before_agent_start returned a message; return one")
        for key, value in result.items():
            if key in self._JOINED:
                combined[key] = [*combined.get(key, []), *value]
            elif key in ("headers", "systemPromptOptions") and isinstance(value, Mapping):
                combined[key] = {**combined.get(key, {}), **value}
                changed = {**self.event.get(key, {}), **value}
                self.event[key] = {name: item for name, item in changed.items() if key != "headers" or item is not None}
            else:
                combined[key] = value
                if key in self.event and key != "type":
                    self.event[key] = value
        self.result = combined
        return (
            bool(result.get("cancel") or result.get("block"))
            or result.get("action") == "handled"
            or self.kind == "user_bash"
            or (self.kind == "project_trust" and result.get("trusted") in ("yes", "no"))
        )


# --- What handlers use ---------------------------------------------------------------------------------------------

Level = Literal["info", "warning", "error"]
Placement = Literal["aboveEditor", "belowEditor"]
Delivery = Literal["steer", "followUp", "nextTurn"]


def _given(**values: Any) -> Json:
    """Returns the values that are there."""
    return {name: value for name, value in values.items() if value is not None}


def _milliseconds(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else round(seconds * 1000)


class _Part:
    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        self._runtime = runtime
        self._call = call

    async def _request(self, method: str, params: Json, default: Any = _NO_DEFAULT) -> Any:
        return await self._runtime.request(self._call, method, params, default)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.get_ident() == self._runtime.thread:
            work.close()
            raise RuntimeError("this method waits, and must not be called on the event loop: use an async handler")
        return asyncio.run_coroutine_threadsafe(work, self._runtime.loop).result()


Choice = Union[str, Tuple[str, Optional[str]]]
"""An option of a dialog: its text, or a pair of its text and what is said about it."""


class _UiDisplays(_Part):
    """What is shown to the user and not answered."""

    def notify(self, message: str, level: Level = "info") -> None:
        """Shows a message."""
        self._runtime.notify("ui.notify", {"message": message, "type": level})

    def set_status(self, key: str, value: Optional[str]) -> None:
        """Shows a short text under a key; ``None`` removes it."""
        self._runtime.notify("ui.setStatus", {"key": key, **_given(text=value)})

    def set_widget(self, key: str, lines: Optional[Sequence[str]], placement: Optional[Placement] = None) -> None:
        """Shows lines of text under a key; ``None`` removes them."""
        shown = None if lines is None else list(lines)
        self._runtime.notify("ui.setWidget", {"key": key, **_given(lines=shown, placement=placement)})

    def set_title(self, title: str) -> None:
        """Sets the title of the client's window."""
        self._runtime.notify("ui.setTitle", {"title": title})

    def set_editor_text(self, value: str) -> None:
        """Replaces what the user is typing."""
        self._runtime.notify("ui.setEditorText", {"text": value})

    def open_url(self, url: str, *, instructions: Optional[str] = None, launch_url: Optional[str] = None) -> None:
        """Asks the user to open a web page. ``launch_url`` is opened instead, if ``url`` is only to be shown."""
        self._runtime.notify("ui.openUrl", {"url": url, **_given(launchUrl=launch_url, instructions=instructions)})


class AsyncUi(_UiDisplays):
    """Dialogs and displays. Where a client cannot ask, or the user does not answer, dialogs return their default."""

    async def select(self, title: str, options: Sequence[Choice], *, timeout: Optional[float] = None) -> Optional[str]:
        """Asks for one of several options; ``None`` if there is no answer."""
        pairs = [(option, None) if isinstance(option, str) else option for option in options]
        details = [_given(description=description) for _, description in pairs]
        params = {
            "title": title,
            "options": [name for name, _ in pairs],
            **_given(optionDetails=details if any(details) else None, timeout=_milliseconds(timeout)),
        }
        return cast(Optional[str], await self._request("ui.select", params, None))

    async def confirm(self, title: str, message: str = "", *, timeout: Optional[float] = None) -> bool:
        """Asks yes or no; ``False`` if there is no answer."""
        params = {"title": title, "message": message, **_given(timeout=_milliseconds(timeout))}
        return bool(await self._request("ui.confirm", params, False))

    async def input(
        self, title: str, placeholder: Optional[str] = None, *, timeout: Optional[float] = None
    ) -> Optional[str]:
        """Asks for a line of text; ``None`` if there is no answer."""
        params = {"title": title, **_given(placeholder=placeholder, timeout=_milliseconds(timeout))}
        return cast(Optional[str], await self._request("ui.input", params, None))

    async def editor(
        self,
        title: str,
        prefill: Optional[str] = None,
        *,
        prompt_style: bool = False,
        timeout: Optional[float] = None,
    ) -> Optional[str]:
        """Asks for text of any length; ``None`` if there is no answer. With ``prompt_style`` the client shows the editor
        as the place where prompts are written."""
        style = prompt_style or None
        params = {"title": title, **_given(prefill=prefill, promptStyle=style, timeout=_milliseconds(timeout))}
        return cast(Optional[str], await self._request("ui.editor", params, None))


class Ui(_UiDisplays):
    """Dialogs and displays. Where a client cannot ask, or the user does not answer, dialogs return their default."""

    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        super().__init__(runtime, call)
        self._later = AsyncUi(runtime, call)

    def select(self, title: str, options: Sequence[Choice], *, timeout: Optional[float] = None) -> Optional[str]:
        """Asks for one of several options; ``None`` if there is no answer."""
        return self._wait(self._later.select(title, options, timeout=timeout))

    def confirm(self, title: str, message: str = "", *, timeout: Optional[float] = None) -> bool:
        """Asks yes or no; ``False`` if there is no answer."""
        return self._wait(self._later.confirm(title, message, timeout=timeout))

    def input(self, title: str, placeholder: Optional[str] = None, *, timeout: Optional[float] = None) -> Optional[str]:
        """Asks for a line of text; ``None`` if there is no answer."""
        return self._wait(self._later.input(title, placeholder, timeout=timeout))

    def editor(
        self,
        title: str,
        prefill: Optional[str] = None,
        *,
        prompt_style: bool = False,
        timeout: Optional[float] = None,
    ) -> Optional[str]:
        """Asks for text of any length; ``None`` if there is no answer. With ``prompt_style`` the client shows the editor
        as the place where prompts are written."""
        return self._wait(self._later.editor(title, prefill, prompt_style=prompt_style, timeout=timeout))


class _SessionBase(_Part):
    @property
    def id(self) -> str:
        """The session's id."""
        return cast(str, self._runtime.state.get("sessionId", ""))

    @property
    def file(self) -> Optional[str]:
        """The session's file, if it has one."""
        return cast(Optional[str], self._runtime.state.get("sessionFile"))

    @property
    def name(self) -> Optional[str]:
        """The session's name, if it has one."""
        return cast(Optional[str], self._runtime.state.get("sessionName"))

    @property
    def leaf_id(self) -> Optional[str]:
        """The entry that the conversation ends with."""
        return cast(Optional[str], self._runtime.state.get("leafId"))

    def send_message(
        self,
        custom_type: str,
        content: Union[str, Content, Sequence[Union[str, Content]]],
        *,
        display: bool = True,
        details: Any = None,
        deliver_as: Optional[Delivery] = None,
        trigger_turn: Optional[bool] = None,
    ) -> None:
        """Adds a message of the extension to the conversation, which the model reads as one of the user.

        ``trigger_turn=True`` calls the model if nothing is in progress.
        """
        message = {"customType": custom_type, "content": _content(content), "display": display}
        message.update(_given(details=details))
        options = _given(deliverAs=deliver_as, triggerTurn=trigger_turn)
        self._runtime.notify("session.sendMessage", {"message": message, **options})

    def send_user_message(
        self,
        content: Union[str, Content, Sequence[Union[str, Content]]],
        *,
        deliver_as: Optional[Literal["steer", "followUp"]] = None,
        expand_templates: bool = False,
    ) -> None:
        """Sends a message as the user would. During a run ``deliver_as`` says how it is queued."""
        options = _given(deliverAs=deliver_as, expandPromptTemplates=expand_templates or None)
        self._runtime.notify("session.sendUserMessage", {"content": _content(content), **options})

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Adds data to the session's file that the model does not see."""
        self._runtime.notify("session.appendEntry", {"customType": custom_type, **_given(data=data)})

    @property
    def known_entries(self) -> List[Json]:
        """The entries that were added since the extension was started, if it wants them."""
        return list(self._runtime.entries)

    def set_name(self, name: str) -> None:
        """Names the session."""
        self._runtime.state["sessionName"] = name
        self._runtime.notify("session.setName", {"name": name})

    def set_label(self, entry_id: str, label: Optional[str]) -> None:
        """Labels an entry; ``None`` removes the label."""
        self._runtime.notify("session.setLabel", {"entryId": entry_id, **_given(label=label)})


class AsyncSession(_SessionBase):
    """The session that the extension takes part in."""

    async def entries(self, since: Optional[str] = None) -> List[Json]:
        """Returns the entries of the session, or those that follow an entry."""
        return cast(List[Json], (await self._request("session.entries", _given(since=since)))["entries"])

    async def context(self) -> Json:
        """Returns the system prompt and the messages as the model sees them."""
        return cast(Json, await self._request("session.context", {}))

    async def wait_idle(self) -> None:
        """Waits until nothing is in progress."""
        await self._request("session.waitIdle", {})

    async def new(self, parent_session: Optional[str] = None) -> bool:
        """Starts another session. Returns whether that happened. For commands, as all of the following."""
        return self._happened(await self._request("session.new", _given(parentSession=parent_session)))

    async def fork(self, entry_id: str) -> bool:
        """Starts another session with what came before a message of the user."""
        return self._happened(await self._request("session.fork", {"entryId": entry_id}))

    async def switch(self, path: Union[str, "os.PathLike[str]"]) -> bool:
        """Opens another session."""
        return self._happened(await self._request("session.switch", {"sessionPath": os.fspath(path)}))

    async def navigate(
        self, entry_id: str, *, summarize: bool = False, custom_instructions: Optional[str] = None
    ) -> bool:
        """Continues from another entry of the session; ``summarize`` summarizes the branch that is left."""
        params = {"targetId": entry_id, "summarize": summarize, **_given(customInstructions=custom_instructions)}
        return self._happened(await self._request("session.navigate", params))

    async def reload(self) -> None:
        """Starts all extensions anew and reads settings and resources again, as soon as nothing is in progress.

        This process is ended by it, so nothing should follow."""
        await self._request("session.reload", {})

    @staticmethod
    def _happened(result: Json) -> bool:
        return not result["cancelled"]


class Session(_SessionBase):
    """The session that the extension takes part in."""

    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        super().__init__(runtime, call)
        self._later = AsyncSession(runtime, call)

    def entries(self, since: Optional[str] = None) -> List[Json]:
        """Returns the entries of the session, or those that follow an entry."""
        return self._wait(self._later.entries(since))

    def context(self) -> Json:
        """Returns the system prompt and the messages as the model sees them."""
        return self._wait(self._later.context())

    def wait_idle(self) -> None:
        """Waits until nothing is in progress."""
        self._wait(self._later.wait_idle())

    def new(self, parent_session: Optional[str] = None) -> bool:
        """Starts another session. Returns whether that happened. For commands, as all of the following."""
        return self._wait(self._later.new(parent_session))

    def fork(self, entry_id: str) -> bool:
        """Starts another session with what came before a message of the user."""
        return self._wait(self._later.fork(entry_id))

    def switch(self, path: Union[str, "os.PathLike[str]"]) -> bool:
        """Opens another session."""
        return self._wait(self._later.switch(path))

    def navigate(self, entry_id: str, *, summarize: bool = False, custom_instructions: Optional[str] = None) -> bool:
        """Continues from another entry of the session; ``summarize`` summarizes the branch that is left."""
        return self._wait(
            self._later.navigate(entry_id, summarize=summarize, custom_instructions=custom_instructions)
        )

    def reload(self) -> None:
        """Starts all extensions anew and reads settings and resources again, as soon as nothing is in progress.

        This process is ended by it, so nothing should follow."""
        self._wait(self._later.reload())


class _ModelsBase(_Part):
    @property
    def current(self) -> Optional[Model]:
        """The session's model, if it has one."""
        return cast(Optional[Model], self._runtime.state.get("model"))

    @property
    def thinking_level(self) -> str:
        """The session's thinking level."""
        return cast(str, self._runtime.state.get("thinkingLevel", "off"))

    def set(self, provider: str, model_id: str) -> None:
        """Chooses the model of the session."""
        self._runtime.notify("model.set", {"provider": provider, "modelId": model_id})

    def set_thinking_level(self, level: str) -> None:
        """Chooses the thinking level of the session."""
        self._runtime.state["thinkingLevel"] = level
        self._runtime.notify("thinking.set", {"level": level})


def _model_params(
    prompt: Union[str, Sequence[Message]],
    model: Optional[str],
    system_prompt: Optional[str],
    max_tokens: Optional[int],
    thinking_level: Optional[str],
    tools: Sequence[Json],
) -> Json:
    asked: Json = {"prompt": prompt} if isinstance(prompt, str) else {"messages": list(prompt)}
    options = _given(model=model, systemPrompt=system_prompt, maxTokens=max_tokens, thinkingLevel=thinking_level)
    return {**asked, **options, **({"tools": list(tools)} if tools else {})}


class AsyncModels(_ModelsBase):
    """Models: the session's, the others, and calls of them."""

    async def list(self, *, refresh: bool = False) -> List[Model]:
        """Returns the models that can be used. ``refresh`` has providers of extensions list theirs anew."""
        return cast(List[Model], await self._request("model.list", {"refresh": True} if refresh else {}))

    async def api_key(self, provider: str) -> Optional[str]:
        """Returns the key of a provider, if there is one. Extensions of a project get none."""
        return cast(Optional[str], (await self._request("model.auth", {"provider": provider})).get("apiKey"))

    async def complete(
        self,
        prompt: Union[str, Sequence[Message]],
        *,
        model: Optional[str] = None,
        system_prompt: Optional[str] = None,
        max_tokens: Optional[int] = None,
        thinking_level: Optional[str] = None,
        tools: Sequence[Json] = (),
    ) -> Message:
        """Calls a model, the session's or ``"provider/id"``, and returns its answer; :func:`text_of` has its text."""
        params = _model_params(prompt, model, system_prompt, max_tokens, thinking_level, tools)
        return cast(Message, await self._request("model.complete", params))

    async def stream(
        self,
        prompt: Union[str, Sequence[Message]],
        *,
        model: Optional[str] = None,
        system_prompt: Optional[str] = None,
        max_tokens: Optional[int] = None,
        thinking_level: Optional[str] = None,
        tools: Sequence[Json] = (),
    ) -> AsyncIterator[Json]:
        """Calls a model and yields the events of its answer as they arrive."""
        params = _model_params(prompt, model, system_prompt, max_tokens, thinking_level, tools)
        chunks: "asyncio.Queue[Any]" = asyncio.Queue()
        answer = asyncio.ensure_future(self._runtime.request(self._call, "model.stream", params, chunks=chunks))
        answer.add_done_callback(lambda _: chunks.put_nowait(_END))
        try:
            while True:
                event = await chunks.get()
                if event is _END:
                    answer.result()
                    return
                yield event
        finally:
            answer.cancel()


class Models(_ModelsBase):
    """Models: the session's, the others, and calls of them."""

    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        super().__init__(runtime, call)
        self._later = AsyncModels(runtime, call)

    def list(self, *, refresh: bool = False) -> List[Model]:
        """Returns the models that can be used. ``refresh`` has providers of extensions list theirs anew."""
        return self._wait(self._later.list(refresh=refresh))

    def api_key(self, provider: str) -> Optional[str]:
        """Returns the key of a provider, if there is one. Extensions of a project get none."""
        return self._wait(self._later.api_key(provider))

    def complete(
        self,
        prompt: Union[str, Sequence[Message]],
        *,
        model: Optional[str] = None,
        system_prompt: Optional[str] = None,
        max_tokens: Optional[int] = None,
        thinking_level: Optional[str] = None,
        tools: Sequence[Json] = (),
    ) -> Message:
        """Calls a model, the session's or ``"provider/id"``, and returns its answer; :func:`text_of` has its text."""
        params = _model_params(prompt, model, system_prompt, max_tokens, thinking_level, tools)
        return cast(Message, self._wait(self._request("model.complete", params)))

    def stream(
        self,
        prompt: Union[str, Sequence[Message]],
        *,
        model: Optional[str] = None,
        system_prompt: Optional[str] = None,
        max_tokens: Optional[int] = None,
        thinking_level: Optional[str] = None,
        tools: Sequence[Json] = (),
    ) -> Iterator[Json]:
        """Calls a model and yields the events of its answer as they arrive."""
        events = self._later.stream(
            prompt,
            model=model,
            system_prompt=system_prompt,
            max_tokens=max_tokens,
            thinking_level=thinking_level,
            tools=tools,
        )

        async def following() -> Any:
            async for event in events:
                return event
            return _END

        try:
            while True:
                event = self._wait(following())
                if event is _END:
                    return
                yield event
        finally:
            self._wait(cast(Any, events).aclose())


class _ToolsBase(_Part):
    @property
    def active(self) -> List[str]:
        """The names of the tools that the model can call."""
        return list(self._runtime.state.get("activeTools", []))

    @property
    def all(self) -> List[Json]:
        """Every tool that the session knows."""
        return list(self._runtime.state.get("allTools", []))

    def set_active(self, names: Iterable[str]) -> None:
        """Enables these tools and no others."""
        chosen = [*names]
        self._runtime.state["activeTools"] = chosen
        self._runtime.notify("tools.setActive", {"names": chosen})


class AsyncTools(_ToolsBase):
    """The tools of the session."""

    async def execute(self, name: str, arguments: Optional[Json] = None) -> Json:
        """Runs a tool of the session and returns its result."""
        return cast(Json, await self._request("tool.execute", {"name": name, "args": arguments or {}}))


class Tools(_ToolsBase):
    """The tools of the session."""

    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        super().__init__(runtime, call)
        self._later = AsyncTools(runtime, call)

    def execute(self, name: str, arguments: Optional[Json] = None) -> Json:
        """Runs a tool of the session and returns its result."""
        return self._wait(self._later.execute(name, arguments))


class ExecResult:
    """What a program did. ``killed`` if it took too long or was cancelled, ``truncated`` if it wrote too much."""

    def __init__(self, stdout: str, stderr: str, code: int, killed: bool, truncated: bool) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.code = code
        self.killed = killed
        self.truncated = truncated

    def __repr__(self) -> str:
        return f"ExecResult(code={self.code}, killed={self.killed}, stdout={self.stdout!r}, stderr={self.stderr!r})"


class _ContextBase(_Part):
    @property
    def cwd(self) -> str:
        """The folder of the session."""
        return cast(str, self._runtime.state.get("cwd") or os.getcwd())

    @property
    def mode(self) -> str:
        """How bowline runs: "rpc", "print" or "json"."""
        return cast(str, self._runtime.init.get("mode", "rpc"))

    @property
    def has_ui(self) -> bool:
        """Whether dialogs can be answered."""
        return bool(self._runtime.init.get("hasUI", False))

    @property
    def trusted(self) -> bool:
        """Whether the project is trusted."""
        return bool(self._runtime.state.get("trusted", self._runtime.init.get("trusted", False)))

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in progress."""
        return bool(self._runtime.state.get("isIdle", True))

    @property
    def context_usage(self) -> Optional[Json]:
        """How full the model's context is: ``tokens``, ``contextWindow``, ``percent``."""
        return cast(Optional[Json], self._runtime.state.get("contextUsage"))

    @property
    def state(self) -> Mapping[str, Any]:
        """What bowline last said of the session, without asking again."""
        return types.MappingProxyType(self._runtime.state)

    @property
    def cancelled(self) -> bool:
        """Whether what the handler works for was cancelled."""
        return self._call.is_cancelled.is_set()

    def raise_if_cancelled(self) -> None:
        """Raises :class:`Cancelled` if what the handler works for was cancelled."""
        if self.cancelled:
            raise Cancelled(f"cancelled ({self._call.reason})")

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Calls a function, on the event loop, when what the handler works for is cancelled."""
        self._call.callbacks.append(callback)

    def update(self, content: Union[str, Content, Sequence[Union[str, Content]]], details: Any = None) -> None:
        """Shows the progress of a tool. Each update replaces the one before."""
        if self._call.identity is None:
            raise BowlineError("only a tool that is running can show its progress")
        partial = {"content": _content(content), **_given(details=details)}
        self._runtime.send("update", {"id": self._call.identity, "partial": partial})

    def abort(self) -> None:
        """Aborts the run in progress."""
        self._runtime.notify("agent.abort", {})

    def shutdown(self) -> None:
        """Ends bowline once what is in progress is over."""
        self._runtime.notify("agent.shutdown", {})

    def emit(self, channel: str, data: Any = None) -> None:
        """Sends data to the other extensions."""
        self._runtime.notify("bus.emit", {"channel": channel, **_given(data=data)})

    def log(self, message: str, level: Literal["debug", "info", "warning", "error"] = "info") -> None:
        """Writes a line to bowline's log."""
        self._runtime.send("log", {"level": level, "message": message})


class AsyncContext(_ContextBase):
    """What ``async`` handlers use. Its methods that wait are awaited."""

    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        super().__init__(runtime, call)
        self.ui = AsyncUi(runtime, call)
        self.session = AsyncSession(runtime, call)
        self.model = AsyncModels(runtime, call)
        self.tools = AsyncTools(runtime, call)

    async def compact(self, custom_instructions: Optional[str] = None) -> Json:
        """Summarizes the conversation."""
        return cast(Json, await self._request("agent.compact", _given(customInstructions=custom_instructions)))

    async def setting(self, key: Optional[str] = None) -> Any:
        """Returns a setting of the user, with dots between the levels of its name, or all of them."""
        return await self._request("settings.get", _given(key=key))

    async def sleep(self, seconds: float) -> None:
        """Waits. Cancelling ends it."""
        await asyncio.sleep(seconds)

    async def exec(
        self,
        program: str,
        arguments: Sequence[str] = (),
        *,
        cwd: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ExecResult:
        """Runs a program without a shell, in the session's folder. It is killed if the handler is cancelled."""
        params = {"command": program, "args": list(arguments), **_given(cwd=cwd, timeout=_milliseconds(timeout))}
        result = await self._request("exec", params)
        return ExecResult(**{name: result[name] for name in ("stdout", "stderr", "code", "killed", "truncated")})


class Context(_ContextBase):
    """What ordinary handlers use. Its methods wait, which is no problem: each handler has a thread of its own."""

    def __init__(self, runtime: _Runtime, call: _Call) -> None:
        super().__init__(runtime, call)
        self.ui = Ui(runtime, call)
        self.session = Session(runtime, call)
        self.model = Models(runtime, call)
        self.tools = Tools(runtime, call)
        self._later = AsyncContext(runtime, call)

    def compact(self, custom_instructions: Optional[str] = None) -> Json:
        """Summarizes the conversation."""
        return self._wait(self._later.compact(custom_instructions))

    def setting(self, key: Optional[str] = None) -> Any:
        """Returns a setting of the user, with dots between the levels of its name, or all of them."""
        return self._wait(self._later.setting(key))

    def sleep(self, seconds: float) -> None:
        """Waits. Raises :class:`Cancelled` as soon as what the handler works for is cancelled."""
        self._call.is_cancelled.wait(seconds)
        self.raise_if_cancelled()

    def exec(
        self,
        program: str,
        arguments: Sequence[str] = (),
        *,
        cwd: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ExecResult:
        """Runs a program without a shell, in the session's folder. It is killed if the handler is cancelled."""
        return self._wait(self._later.exec(program, arguments, cwd=cwd, timeout=timeout))


# --- The extension -------------------------------------------------------------------------------------------------


class Subscribe(Generic[E, R]):
    """Makes a function the handler of an event; what :meth:`Extension.on` returns."""

    def __init__(self, extension: "Extension", event: str, tools: Optional[List[str]], waits: bool) -> None:
        self._extension = extension
        self._event = event
        self._tools = tools
        self._waits = waits

    @overload
    def __call__(
        self, function: Callable[[E, AsyncContext], Awaitable[R]]
    ) -> Callable[[E, AsyncContext], Awaitable[R]]: ...

    @overload
    def __call__(self, function: Callable[[E, Context], R]) -> Callable[[E, Context], R]: ...

    def __call__(self, function: Callable[[E, Any], Any]) -> Callable[[E, Any], Any]:
        self._extension._add_handler(_Handler(self._event, function, self._tools, self._waits))
        return function


ToolNames = Union[str, Sequence[str]]


class Extension:
    """An extension: what it registers, and its connection to bowline.

    ``wants=["entries"]`` asks for every entry that is added to the session; ``ctx.session.known_entries`` has them.
    """

    def __init__(self, name: str, version: Optional[str] = None, *, wants: Iterable[Literal["entries"]] = ()) -> None:
        self.name = name
        self.version = version
        self._wants = list(wants)
        self._handlers: List[_Handler] = []
        self._tools: Dict[str, _Tool] = {}
        self._commands: Dict[str, _Command] = {}
        self._flags: Dict[str, Flag[Any]] = {}
        self._providers: Dict[str, _Provider] = {}
        self._channels: Dict[str, List[Callable[..., Any]]] = {}
        self._runtime: Optional[_Runtime] = None

    # Registering. All of it works before `run` and later.

    @overload
    def on(
        self, event: Literal["project_trust"], *, wait: bool = True
    ) -> Subscribe[ProjectTrustEvent, Optional[ProjectTrustResult]]: ...

    @overload
    def on(
        self, event: Literal["resources_discover"], *, wait: bool = True
    ) -> Subscribe[ResourcesDiscoverEvent, Optional[ResourcesDiscoverResult]]: ...

    @overload
    def on(self, event: Literal["session_start"], *, wait: bool = True) -> Subscribe[SessionStartEvent, None]: ...

    @overload
    def on(
        self, event: Literal["session_info_changed"], *, wait: bool = True
    ) -> Subscribe[SessionInfoChangedEvent, None]: ...

    @overload
    def on(
        self, event: Literal["session_before_switch"], *, wait: bool = True
    ) -> Subscribe[SessionBeforeSwitchEvent, Optional[CancelResult]]: ...

    @overload
    def on(
        self, event: Literal["session_before_fork"], *, wait: bool = True
    ) -> Subscribe[SessionBeforeForkEvent, Optional[CancelResult]]: ...

    @overload
    def on(
        self, event: Literal["session_before_compact"], *, wait: bool = True
    ) -> Subscribe[SessionBeforeCompactEvent, Optional[SessionBeforeCompactResult]]: ...

    @overload
    def on(self, event: Literal["session_compact"], *, wait: bool = True) -> Subscribe[SessionCompactEvent, None]: ...

    @overload
    def on(
        self, event: Literal["session_compact_failed"], *, wait: bool = True
    ) -> Subscribe[SessionCompactFailedEvent, None]: ...

    @overload
    def on(
        self, event: Literal["session_before_tree"], *, wait: bool = True
    ) -> Subscribe[SessionBeforeTreeEvent, Optional[SessionBeforeTreeResult]]: ...

    @overload
    def on(self, event: Literal["session_tree"], *, wait: bool = True) -> Subscribe[SessionTreeEvent, None]: ...

    @overload
    def on(self, event: Literal["session_shutdown"], *, wait: bool = True) -> Subscribe[SessionShutdownEvent, None]: ...

    @overload
    def on(self, event: Literal["input"], *, wait: bool = True) -> Subscribe[InputEvent, Optional[InputResult]]: ...

    @overload
    def on(
        self, event: Literal["before_agent_start"], *, wait: bool = True
    ) -> Subscribe[BeforeAgentStartEvent, Optional[BeforeAgentStartResult]]: ...

    @overload
    def on(self, event: Literal["agent_start"], *, wait: bool = True) -> Subscribe[AgentStartEvent, None]: ...

    @overload
    def on(self, event: Literal["agent_end"], *, wait: bool = True) -> Subscribe[AgentEndEvent, None]: ...

    @overload
    def on(self, event: Literal["turn_start"], *, wait: bool = True) -> Subscribe[TurnStartEvent, None]: ...

    @overload
    def on(
        self, event: Literal["turn_end"], *, wait: bool = True
    ) -> Subscribe[TurnEndEvent, Optional[BoundaryResult]]: ...

    @overload
    def on(
        self, event: Literal["agent_before_settle"], *, wait: bool = True
    ) -> Subscribe[AgentBeforeSettleEvent, Optional[BoundaryResult]]: ...

    @overload
    def on(self, event: Literal["agent_settled"], *, wait: bool = True) -> Subscribe[AgentSettledEvent, None]: ...

    @overload
    def on(self, event: Literal["message_start"], *, wait: bool = True) -> Subscribe[MessageEvent, None]: ...

    @overload
    def on(self, event: Literal["message_update"]) -> Subscribe[MessageUpdateEvent, None]: ...

    @overload
    def on(
        self, event: Literal["message_end"], *, wait: bool = True
    ) -> Subscribe[MessageEvent, Optional[MessageResult]]: ...

    @overload
    def on(
        self, event: Literal["context"], *, wait: bool = True
    ) -> Subscribe[ContextEvent, Optional[ContextResult]]: ...

    @overload
    def on(
        self, event: Literal["context_with_system"], *, wait: bool = True
    ) -> Subscribe[ContextWithSystemEvent, Optional[ContextResult]]: ...

    @overload
    def on(
        self, event: Literal["before_provider_headers"], *, wait: bool = True
    ) -> Subscribe[HeadersEvent, Optional[HeadersResult]]: ...

    @overload
    def on(
        self, event: Literal["before_provider_request"], *, wait: bool = True
    ) -> Subscribe[ProviderRequestEvent, Any]: ...

    @overload
    def on(
        self, event: Literal["after_provider_response"], *, wait: bool = True
    ) -> Subscribe[ProviderResponseEvent, None]: ...

    @overload
    def on(self, event: Literal["provider_stream_event"]) -> Subscribe[ProviderStreamEvent, None]: ...

    @overload
    def on(
        self, event: Literal["tool_execution_start"], *, tool: Optional[ToolNames] = None, wait: bool = True
    ) -> Subscribe[ToolExecutionStartEvent, None]: ...

    @overload
    def on(
        self, event: Literal["tool_execution_update"], *, tool: Optional[ToolNames] = None
    ) -> Subscribe[ToolExecutionUpdateEvent, None]: ...

    @overload
    def on(
        self, event: Literal["tool_execution_end"], *, tool: Optional[ToolNames] = None, wait: bool = True
    ) -> Subscribe[ToolExecutionEndEvent, None]: ...

    @overload
    def on(
        self, event: Literal["tool_call"], *, tool: Optional[ToolNames] = None, wait: bool = True
    ) -> Subscribe[ToolCallEvent, Optional[ToolCallResult]]: ...

    @overload
    def on(
        self, event: Literal["tool_result"], *, tool: Optional[ToolNames] = None, wait: bool = True
    ) -> Subscribe[ToolResultEvent, Optional[ToolResultResult]]: ...

    @overload
    def on(
        self, event: Literal["user_bash"], *, wait: bool = True
    ) -> Subscribe[UserBashEvent, Optional[UserBashResult]]: ...

    @overload
    def on(self, event: Literal["model_select"], *, wait: bool = True) -> Subscribe[ModelSelectEvent, None]: ...

    @overload
    def on(
        self, event: Literal["thinking_level_select"], *, wait: bool = True
    ) -> Subscribe[ThinkingLevelSelectEvent, None]: ...

    @overload
    def on(self, event: Literal["ui_prompt_start"]) -> Subscribe[UiPromptEvent, None]: ...

    @overload
    def on(self, event: Literal["ui_prompt_end"]) -> Subscribe[UiPromptEvent, None]: ...

    @overload
    def on(self, event: Literal["ui_notify"]) -> Subscribe[UiNotifyEvent, None]: ...

    def on(self, event: str, *, tool: Optional[ToolNames] = None, wait: bool = True) -> Subscribe[Any, Any]:
        """Makes a function the handler of an event.

        ``tool`` restricts events about tools to those with these names. ``wait=False`` is for handlers that bowline
        need not wait for; their results have no effect.
        """
        if event not in HOOKS:
            raise ValueError(f"there is no event named {event!r}; the events are {', '.join(HOOKS)}")
        if tool is not None and not event.startswith("tool_"):
            raise ValueError(f"{event} is not about tools")
        tools = None if tool is None else [tool] if isinstance(tool, str) else list(tool)
        return Subscribe(self, event, tools, wait and HOOKS[event] != "streams")

    def off(self, function: Callable[..., Any]) -> None:
        """Removes a handler of events."""
        events = {handler.event for handler in self._handlers if handler.function is function}
        self._handlers = [handler for handler in self._handlers if handler.function is not function]
        for event in events:
            remaining = [hook for hook in self._hooks() if hook["event"] == event]
            self._announce("register" if remaining else "unregister", hooks=remaining or [event])

    def tool(
        self,
        name: Optional[str] = None,
        description: Optional[str] = None,
        *,
        parameters: Optional[Mapping[str, Any]] = None,
        label: Optional[str] = None,
        prompt_snippet: Optional[str] = None,
        prompt_guidelines: Sequence[str] = (),
        execution_mode: Optional[Literal["sequential", "parallel"]] = None,
    ) -> Callable[[AnyFunction], AnyFunction]:
        """Makes a function a tool that the model can call.

        Without ``parameters`` the function's parameters are the tool's: their type hints become its JSON Schema,
        ``Annotated[str, "…"]`` describes one, and a parameter annotated :class:`Context` gets the context. With
        ``parameters``, a JSON Schema, the function is called with the arguments as a dict and with the context.

        The function returns a text, :func:`image` and :func:`text` parts, a :class:`ToolResult`, or any JSON value. An
        exception is a failed call, and the model reads its message. The name and the first line of the function's
        documentation are the defaults of ``name`` and ``description``.
        """

        def register(function: AnyFunction) -> AnyFunction:
            known_as = name or function.__name__
            context: Optional[str] = None
            if parameters is None:
                schema, context = _parameters_of(function, known_as)
            else:
                schema = dict(parameters)
            definition: Json = {
                "name": known_as,
                "label": label or known_as,
                "description": description or inspect.cleandoc(function.__doc__ or "") or known_as,
                "parameters": schema,
                **_given(promptSnippet=prompt_snippet, executionMode=execution_mode),
            }
            if prompt_guidelines:
                definition["promptGuidelines"] = list(prompt_guidelines)
            self._tools[known_as] = _Tool(definition, function, context, parameters is None)
            self._announce("register", tools=[definition])
            return function

        return register

    def on_message(self, channel: str) -> Callable[[AnyFunction], AnyFunction]:
        """Makes a function the receiver of what other extensions emit on a channel: ``function(data, ctx)``."""

        def register(function: AnyFunction) -> AnyFunction:
            if not self._channels:
                self._announce("register", hooks=[{"event": "bus", "await": False}])
            self._channels.setdefault(channel, []).append(function)
            return function

        return register

    def remove_tool(self, name: str) -> None:
        """Removes a tool."""
        if self._tools.pop(name, None) is not None:
            self._announce("unregister", tools=[name])

    def command(
        self,
        name: Optional[str] = None,
        description: Optional[str] = None,
        *,
        complete: Optional[Callable[[str, Any], Any]] = None,
    ) -> Callable[[AnyFunction], AnyFunction]:
        """Makes a function the slash command ``/name``. It is called with the text after the name, and the context.

        ``complete`` is called with what the user has typed after the name so far, and the context. It returns texts that
        may take its place, or mappings with ``value``, ``label`` and ``description``. It has a second.
        """

        def register(function: AnyFunction) -> AnyFunction:
            known_as = (name or function.__name__).lstrip("/")
            about = description or _first_line(function.__doc__)
            definition: Json = {"name": known_as, "description": about}
            if complete is not None:
                definition["hasCompletion"] = True
            self._commands[known_as] = _Command(definition, function, complete)
            self._announce("register", commands=[definition])
            return function

        return register

    def remove_command(self, name: str) -> None:
        """Removes a slash command."""
        if self._commands.pop(name, None) is not None:
            self._announce("unregister", commands=[name])

    @overload
    def flag(self, name: str, description: str = "", *, default: bool = False) -> Flag[bool]: ...

    @overload
    def flag(self, name: str, description: str = "", *, default: str) -> Flag[str]: ...

    @overload
    def flag(self, name: str, description: str = "", *, default: None) -> Flag[Optional[str]]: ...

    def flag(self, name: str, description: str = "", *, default: Any = False) -> Flag[Any]:
        """Adds ``--name`` to bowline's command line; a flag whose default is not a bool takes a text."""
        flag: Flag[Any] = Flag(name, "boolean" if isinstance(default, bool) else "string", description, default)
        self._flags[name] = flag
        self._announce("register", flags=[flag.to_json()])
        return flag

    def provider(
        self,
        name: str,
        models: Sequence[Mapping[str, Any]],
        *,
        refresh: Optional[Callable[..., Any]] = None,
    ) -> Callable[[AnyFunction], AnyFunction]:
        """Makes a generator a provider of models: ``function(request, ctx)`` yields the pieces of an answer.

        A model is ``{"id": …}`` with ``name``, ``contextWindow``, ``maxTokens``, ``reasoning``, ``input``, ``cost``
        as in ``models.json``. ``refresh(ctx)`` returns the list anew. See :data:`Piece` for what is yielded.
        """

        def register(function: AnyFunction) -> AnyFunction:
            self._add_provider(name, models, function, refresh, {})
            return function

        return register

    def remote_provider(
        self,
        name: str,
        models: Sequence[Mapping[str, Any]],
        *,
        base_url: str,
        api: str,
        api_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        auth_header: bool = False,
        refresh: Optional[Callable[..., Any]] = None,
    ) -> None:
        """Adds a provider that bowline talks to itself, at an address and in an API as in ``models.json``."""
        about = _given(baseUrl=base_url, api=api, apiKey=api_key, headers=headers, authHeader=auth_header or None)
        self._add_provider(name, models, None, refresh, about)

    def _add_provider(
        self,
        name: str,
        models: Sequence[Mapping[str, Any]],
        function: Optional[Callable[..., Any]],
        refresh: Optional[Callable[..., Any]],
        about: Json,
    ) -> None:
        definition: Json = {
            "name": name,
            "stream": function is not None,
            "refresh": refresh is not None,
            "models": [dict(model) for model in models],
            **about,
        }
        self._providers[name] = _Provider(definition, function, refresh)
        self._announce("register", providers=[definition])

    def remove_provider(self, name: str) -> None:
        """Removes a provider."""
        if self._providers.pop(name, None) is not None:
            self._announce("unregister", providers=[name])

    def run(self) -> None:
        """Serves bowline until it closes the connection. Ends the program if it was not started by bowline."""
        if sys.stdin is not None and sys.stdin.isatty():
            print(
                f"{self.name} is an extension of bowline and is started by it. To try it out: "
                f"bowline extension check {sys.argv[0]}",
                file=sys.stderr,
            )
            raise SystemExit(2)
        wire = _taken or _take_standard_streams()
        try:
            asyncio.run(self._serve(wire))
        except KeyboardInterrupt:
            pass

    # Used by the parts above.

    async def _serve(self, wire: _Wire) -> None:
        loop = asyncio.get_running_loop()
        runtime = _Runtime(self, wire, loop)
        self._runtime = runtime
        loop.set_exception_handler(lambda _, about: _report_task(runtime, about))
        threading.excepthook = lambda about: _report_thread(runtime, about)
        threading.Thread(target=runtime.read, daemon=True).start()
        await runtime.ended.wait()
        # Whatever handlers do, the process ends.
        timer = threading.Timer(runtime.grace, os._exit, (0,))
        timer.daemon = True
        timer.start()
        for call in list(runtime.calls.values()):
            call.cancel("shutdown")
        if runtime.tasks:
            await asyncio.wait(runtime.tasks, timeout=runtime.grace / 2)

    def _add_handler(self, handler: _Handler) -> None:
        self._handlers.append(handler)
        self._announce("register", hooks=[hook for hook in self._hooks() if hook["event"] == handler.event])

    def _handlers_of(self, event: Mapping[str, Any]) -> List[_Handler]:
        return [handler for handler in self._handlers if handler.event == event.get("type") and handler.takes(event)]

    def _hooks(self) -> List[Json]:
        """Returns one subscription per event, which covers all of its handlers."""
        hooks: Dict[str, Json] = {}
        for handler in self._handlers:
            hook = hooks.get(handler.event)
            if hook is None:
                hook = hooks[handler.event] = {"event": handler.event, "await": False, "filter": {"toolName": []}}
            hook["await"] = hook["await"] or handler.waits
            if handler.tools is None:
                hook.pop("filter", None)
            elif "filter" in hook:
                named = hook["filter"]["toolName"]
                named.extend(name for name in handler.tools if name not in named)
        if self._channels:
            hooks["bus"] = {"event": "bus", "await": False}
        return list(hooks.values())

    def _registration(self) -> Json:
        parts: Json = {
            "tools": [tool.definition for tool in self._tools.values()],
            "commands": [command.definition for command in self._commands.values()],
            "flags": [flag.to_json() for flag in self._flags.values()],
            "hooks": self._hooks(),
            "providers": [provider.definition for provider in self._providers.values()],
            "wants": self._wants,
        }
        about = {"protocol": PROTOCOL, "name": self.name, **_given(version=self.version)}
        return {**about, "extensions": [{name: part for name, part in parts.items() if part}]}

    def _announce(self, kind: str, **parts: Any) -> None:
        """Tells bowline of a change, if it has been told of the rest."""
        runtime = self._runtime
        if runtime is not None and runtime.init:
            runtime.send(kind, parts)

    def _take_flags(self, values: Mapping[str, Any]) -> None:
        for name, flag in self._flags.items():
            if name in values:
                flag.value = values[name]


def _take_standard_streams() -> _Wire:
    """Keeps standard input and output for the protocol, also from the programs that handlers start."""
    source, target = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    if sys.stdout is not None:
        # What was printed before and is still in the buffer goes to standard error now.
        sys.stdout.flush()
    sys.stdout = sys.stderr
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return _Wire(source, target)


def _report_task(runtime: _Runtime, about: Mapping[str, Any]) -> None:
    error = about.get("exception")
    runtime.report("task", error if isinstance(error, BaseException) else BowlineError(str(about.get("message"))))


def _report_thread(runtime: _Runtime, about: "threading.ExceptHookArgs") -> None:
    if about.exc_value is not None and not isinstance(about.exc_value, SystemExit):
        runtime.report("thread", about.exc_value)


# bowline names the extension in this variable when it starts one. Then standard output is the protocol's from here on,
# before any other module writes to it.
_taken: Optional[_Wire] = None
if os.environ.pop("BOWLINE_EXTENSION", None) is not None:
    _taken = _take_standard_streams()
