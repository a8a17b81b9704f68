"""What extensions of the agent ask the user and show."""

from __future__ import annotations

from typing import Any, Awaitable, Dict, Optional, TypeVar, Union, cast

from .functions import call
from .protocol import (
    ConfirmExtensionUiRequestRecord,
    EditorExtensionUiRequestRecord,
    InputExtensionUiRequestRecord,
    NotifyExtensionUiRequestRecord,
    SelectExtensionUiRequestRecord,
    SetEditorTextExtensionUiRequestRecord,
    SetStatusExtensionUiRequestRecord,
    SetTitleExtensionUiRequestRecord,
    SetWidgetExtensionUiRequestRecord,
)

T = TypeVar("T")
Answer = Union[T, Awaitable[T]]
"""A method may be a coroutine or not. One that is not runs in a thread, so it may block."""

DIALOGS = {"select": "value", "input": "value", "editor": "value", "confirm": "confirmed"}
"""The dialogs, and the field of their answer. Whatever else is asked for is only shown."""

METHODS = {
    "select": "select",
    "input": "input",
    "editor": "editor",
    "confirm": "confirm",
    "notify": "notify",
    "setStatus": "set_status",
    "setWidget": "set_widget",
    "setTitle": "set_title",
    "set_editor_text": "set_editor_text",
}


class Ui:
    """Override the methods that your user interface has. `None` means that the user gave no answer."""

    def select(self, request: SelectExtensionUiRequestRecord) -> Answer[Optional[str]]:
        """Lets the user choose one of `request["options"]`."""
        return None

    def confirm(self, request: ConfirmExtensionUiRequestRecord) -> Answer[Optional[bool]]:
        """Asks the user for consent."""
        return None

    def input(self, request: InputExtensionUiRequestRecord) -> Answer[Optional[str]]:
        """Asks the user for a line of text."""
        return None

    def editor(self, request: EditorExtensionUiRequestRecord) -> Answer[Optional[str]]:
        """Asks the user for a text of any length."""
        return None

    def notify(self, request: NotifyExtensionUiRequestRecord) -> Answer[None]:
        """Shows a message."""

    def set_status(self, request: SetStatusExtensionUiRequestRecord) -> Answer[None]:
        """Shows a short text under a key."""

    def set_widget(self, request: SetWidgetExtensionUiRequestRecord) -> Answer[None]:
        """Shows lines of text under a key."""

    def set_title(self, request: SetTitleExtensionUiRequestRecord) -> Answer[None]:
        """Sets the title of the window."""

    def set_editor_text(self, request: SetEditorTextExtensionUiRequestRecord) -> Answer[None]:
        """Replaces what the user is typing."""


async def ask(ui: Ui, request: Dict[str, Any]) -> Dict[str, Any]:
    """Shows a request and returns the answer's fields; of one that is not answered, they are not sent."""
    method = str(request.get("method"))
    name = METHODS.get(method)
    if name is None:
        return {"cancelled": True}
    value = await call(getattr(ui, name), cast(Any, request))
    if value is None or method not in DIALOGS:
        return {"cancelled": True}
    expected = bool if method == "confirm" else str
    if not isinstance(value, expected):
        raise TypeError(f"{type(ui).__name__}.{name} returned {value!r} instead of a {expected.__name__}")
    return {DIALOGS[method]: value}
