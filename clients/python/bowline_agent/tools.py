"""Tools that the client gives the model: plain functions."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .errors import ToolDefinitionError
from .functions import call
from .protocol import HostTool, HostToolContent, HostToolOutput
from .tool_schema import Signature, arguments_of, given_signature, signature_of

Send = Callable[[Dict[str, Any]], None]


@dataclass(frozen=True)
class Image:
    """An image in the output of a tool."""

    data: bytes
    mime_type: str = "image/png"


@dataclass(frozen=True)
class ToolOutput:
    """The output of a tool that is more than a text: several blocks, details that the model does not see, a failure."""

    content: Union[str, Image, Sequence[Union[str, Image]]]
    details: Any = None
    is_error: bool = False


class ToolContext:
    """A call of a tool. A parameter of this type gets it."""

    def __init__(self, record: Mapping[str, Any], send: Send) -> None:
        self.id: str = record["id"]
        self.tool_call_id: str = record.get("toolCallId", "")
        self.name: str = record["toolName"]
        self.arguments: Dict[str, Any] = record.get("arguments", {})
        self._send = send
        self._cancelled = threading.Event()

    def update(self, output: Any) -> None:
        """Shows the output so far. It replaces that of earlier updates. May be called from any thread."""
        if not self._cancelled.is_set():
            self._send({"type": "host_tool_update", "id": self.id, "partialResult": output_record(output)})

    @property
    def cancelled(self) -> bool:
        """Whether the call was aborted. A coroutine is cancelled; a function in a thread has to look here."""
        return self._cancelled.is_set()

    def wait_cancelled(self, timeout: Optional[float] = None) -> bool:
        """Blocks a thread until the call is aborted or the time is over, and returns whether it was aborted."""
        return self._cancelled.wait(timeout)

    def cancel(self) -> None:
        """Called by the client when the agent does not wait for the result any more."""
        self._cancelled.set()


@dataclass(frozen=True)
class Tool:
    """A tool with a name, description or schema other than those of its function.

    Without `parameters`, the schema is derived, and the arguments are converted to the types of the hints. With them,
    the function gets the arguments as they are, by name.
    """

    function: Callable[..., Any]
    name: str = ""
    description: str = ""
    parameters: Optional[Mapping[str, Any]] = None
    hidden: bool = False
    _signature: Signature = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = self.name or getattr(self.function, "__name__", "")
        if self.parameters is None:
            signature = signature_of(self.function, ToolContext)
        else:
            signature = given_signature(self.function, self.parameters, ToolContext)
        description = self.description or signature.description
        if not name or name == "<lambda>":
            raise ToolDefinitionError("a tool needs a name: Tool(function, name=…)")
        if not description:
            raise ToolDefinitionError(f"{name}: the model needs a description: a docstring, or Tool(…, description=…)")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "description", description)
        object.__setattr__(self, "_signature", signature)

    def declaration(self) -> HostTool:
        """Returns what `set_host_tools` takes."""
        tool: HostTool = {
            "name": self.name,
            "description": self.description,
            "parameters": self._signature.parameters,
        }
        if self.hidden:
            tool["hidden"] = True
        return tool

    async def run(self, context: ToolContext) -> Dict[str, Any]:
        """Calls the function and returns the fields of `host_tool_result`. A failure is for the model to read."""
        try:
            named = arguments_of(self._signature, context.arguments) if self.parameters is None else dict(context.arguments)
            if self._signature.context is not None:
                named[self._signature.context] = context
            output = await call(self.function, **named)
            failed = isinstance(output, ToolOutput) and output.is_error
            return {"result": output_record(output), **({"isError": True} if failed else {})}
        except Exception as error:
            text = str(error) or type(error).__name__
            return {"result": output_record(text), "isError": True}


def as_tool(tool: Union[Tool, Callable[..., Any]]) -> Tool:
    return tool if isinstance(tool, Tool) else Tool(tool)


def output_record(output: Any) -> HostToolOutput:
    """Returns what a function returned as the output of a tool: texts as they are, other values as JSON."""
    if isinstance(output, ToolOutput):
        blocks = [output.content] if isinstance(output.content, (str, Image)) else list(output.content)
        record: HostToolOutput = {"content": [block_of(block) for block in blocks]}
        if output.details is not None:
            record["details"] = output.details
        return record
    if output is None:
        return {"content": []}
    if isinstance(output, (list, tuple)) and any(isinstance(each, Image) for each in output):
        return {"content": [block_of(each) for each in output]}
    return {"content": [block_of(output)]}


def block_of(value: Any) -> HostToolContent:
    if isinstance(value, Image):
        return {"type": "image", "data": base64.b64encode(value.data).decode("ascii"), "mimeType": value.mime_type}
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}
